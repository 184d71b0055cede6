"""The published form of `occupancy-curve --json`, with a file and with --cusp: these types.

Later versions may add fields; removing one or changing its meaning changes `schema`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from kernelcast.models.terms.base import Bottleneck
from kernelcast.reporting.document import Natural, NotNegative, Positive, Share

CURVE_SCHEMA: Literal["kernelcast/occupancy-curve/1"] = "kernelcast/occupancy-curve/1"
CUSP_SCHEMA: Literal["kernelcast/occupancy-cusp/1"] = "kernelcast/occupancy-cusp/1"


class PointPart(Struct, frozen=True):
    """One occupancy: throughput, and what latency without load would allow, in warps/cycle/SM."""

    blocks: Positive
    warps: Positive
    throughput: NotNegative
    latency_bound: NotNegative


class CurveResult(Struct, frozen=True):
    """One launch on one GPU, by the volkov model.

    `needed_warps`, null where no number of warps suffices, reach `needed_share` of the throughput
    bound. `resident_warps` an SM really holds, `warps_per_sm` it could hold of this launch, and
    `limit_warps` of blocks of this size. `gain` is the throughput at `wanted_blocks` over that of
    the launch, `most_for_needed` the most registers per thread and bytes of shared memory per
    block with which those fit. Throughputs are in warps per cycle and SM; `points` run from one
    block per SM to the most.
    """

    kernel: str
    gpu: str
    needed_warps: NotNegative | None
    needed_share: Share
    resident_warps: NotNegative
    warps_per_sm: Positive
    limit_warps: Positive
    enough: bool
    gain: NotNegative
    wanted_blocks: Positive
    latency_cycles: NotNegative
    throughput_bound: NotNegative
    throughput: NotNegative
    waits_for: Bottleneck
    busiest: Bottleneck
    limiter: str
    most_for_needed: dict[str, Natural | None]
    advice: list[str]
    points: list[PointPart]


class CurveDocument(Struct, frozen=True):
    """All that `occupancy-curve FILE --json` prints."""

    schema: Literal["kernelcast/occupancy-curve/1"]
    results: list[CurveResult]


class CuspResult(Struct, frozen=True):
    """Warps per SM that hide latency on one GPU, at every alpha of the document and at both ends.

    `is_cusp` says whether more are needed at some alpha than at either end.
    """

    gpu: str
    is_cusp: bool
    most_alpha: NotNegative
    most_warps: NotNegative
    loads_alone_warps: NotNegative
    additions_alone_warps: NotNegative
    limit_warps: Positive
    needed_warps: list[NotNegative]


class CuspDocument(Struct, frozen=True):
    """All that `occupancy-curve --cusp --json` prints; `alphas` are additions per load."""

    schema: Literal["kernelcast/occupancy-cusp/1"]
    alphas: list[NotNegative]
    results: list[CuspResult]


def curve_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `occupancy-curve FILE --json`."""
    return _schema(CurveDocument, CURVE_SCHEMA, "kernelcast occupancy-curve --json")


def cusp_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `occupancy-curve --cusp --json`."""
    return _schema(CuspDocument, CUSP_SCHEMA, "kernelcast occupancy-curve --cusp --json")


def _schema(document: type[Struct], name: str, title: str) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "title": title,
        **msgspec.json.schema(document),
    }
