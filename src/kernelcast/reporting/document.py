"""The published form of a forecast: `predict --json`. These types are its schema.

Everything is in SI units (seconds, bytes, bytes per second) or SM cycles; what is not known is
null. Later versions may add fields; removing one or changing its meaning changes `schema`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from kernelcast.models.terms.base import Bottleneck

SCHEMA_NAME: Literal["kernelcast/predict/1"] = "kernelcast/predict/1"

Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Extents = Annotated[list[Positive], Meta(min_length=3, max_length=3)]


class LaunchPart(Struct, frozen=True):
    """How the kernel was launched; `smem` is dynamic shared memory in bytes."""

    grid: Extents
    block: Extents
    smem: Natural
    blocks: Positive
    threads: Positive
    repeat: Positive


class BreakdownPart(Struct, frozen=True):
    """One term of the time; the cycles of all terms sum to the result's."""

    name: str
    cycles: float
    fraction: float


class BoundPart(Struct, frozen=True):
    """The cycles that one resource alone would take."""

    name: str
    cycles: NotNegative


class OccupancyPart(Struct, frozen=True):
    """Blocks and warps that an SM holds at once; `waves` is the grid over what all SMs hold."""

    blocks_per_sm: Positive
    warps_per_sm: Positive
    relative: Share
    limiter: str
    waves: NotNegative | None


class TrafficPart(Struct, frozen=True):
    """Bytes that each level serves, as estimated and bounded, and that lanes ask for by space."""

    l1_bytes: NotNegative
    l2_bytes: NotNegative
    l2_low_bytes: NotNegative
    l2_high_bytes: NotNegative
    dram_bytes: NotNegative
    dram_low_bytes: NotNegative
    dram_high_bytes: NotNegative
    global_requested_bytes: NotNegative
    shared_requested_bytes: NotNegative
    local_requested_bytes: NotNegative


class CountPart(Struct, frozen=True):
    """Executed instructions of one class in the whole grid."""

    warp: NotNegative
    thread: NotNegative


class SampledPart(Struct, frozen=True):
    """Blocks executed, of how many, and the relative standard error of the instruction count."""

    blocks: Positive
    of: Positive
    spread: NotNegative | None


class ProvenancePart(Struct, frozen=True):
    """What made the result: machine file, code, executor, and how long execution took."""

    machine_file: str
    machine_version: str
    machine_overrides: list[str]
    source: str
    target: str
    toolchain: str
    resources: str
    trace: str
    seconds: NotNegative


class Result(Struct, frozen=True):
    """What one model says about one launch on one GPU."""

    kernel: str
    launch: LaunchPart
    gpu: str
    model: str
    isa: str
    time_s: NotNegative
    cycles: NotNegative
    low_s: NotNegative | None
    high_s: NotNegative | None
    bottleneck: Bottleneck
    breakdown: list[BreakdownPart]
    bounds: list[BoundPart]
    occupancy: OccupancyPart
    needed_warps: NotNegative | None
    traffic: TrafficPart
    counts: dict[str, CountPart]
    terms: dict[str, float | str | None]
    sampled: SampledPart
    assumptions: list[str]
    not_modelled: list[str]
    warnings: list[str]
    provenance: ProvenancePart


class Total(Struct, frozen=True):
    """The time of all launches of a workload, repeats included, on one GPU by one model."""

    gpu: str
    model: str
    total_time_s: NotNegative


class Document(Struct, frozen=True, omit_defaults=True):
    """All that `predict --json` prints.

    `totals` is there for workloads (several launches, or repeats); `total_time_s` as well where
    they are on one GPU by one model.
    """

    schema: Literal["kernelcast/predict/1"]
    kernelcast: str
    results: list[Result]
    totals: list[Total] = []
    total_time_s: NotNegative | None = None


def predict_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `predict --json`."""
    schema = msgspec.json.schema(Document)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_NAME,
        "title": "kernelcast predict --json",
        **schema,
    }
