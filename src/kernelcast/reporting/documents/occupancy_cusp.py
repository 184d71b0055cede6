"""What `occupancy-curve --cusp` answers: needed warps over arithmetic intensity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from kernelcast.exploration.cusp import ALPHAS, Cusp
from kernelcast.reporting.documents.base import NotNegative, Positive, json_schema

_SCHEMA: Literal["kernelcast/occupancy-cusp/1"] = "kernelcast/occupancy-cusp/1"


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
    """All that `occupancy-curve --cusp --json` prints.

    `alphas` are additions per load, `cusps` counts the GPUs that have one, the first of them from
    `first_alpha` on and the last up to `last_alpha`; null where none has.
    `are_default` says that nobody chose the alphas.
    """

    schema: Literal["kernelcast/occupancy-cusp/1"]
    alphas: list[NotNegative]
    results: list[CuspResult]
    cusps: int
    first_alpha: NotNegative | None
    last_alpha: NotNegative | None
    are_default: bool


def cusp_document(cusps: Sequence[Cusp]) -> CuspDocument:
    """The document of several GPUs at the same alphas."""
    found = [c.most[0] for c in cusps if c.is_cusp]
    return CuspDocument(
        schema=_SCHEMA,
        alphas=list(cusps[0].alphas),
        results=[_result(c) for c in cusps],
        cusps=len(found),
        first_alpha=min(found, default=None),
        last_alpha=max(found, default=None),
        are_default=cusps[0].alphas == ALPHAS,
    )


def cusp_schema() -> dict[str, Any]:
    """The JSON Schema of `occupancy-curve --cusp --json`."""
    return json_schema(CuspDocument, _SCHEMA, "kernelcast occupancy-curve --cusp --json")


def _result(c: Cusp) -> CuspResult:
    return CuspResult(
        gpu=c.machine,
        is_cusp=c.is_cusp,
        most_alpha=c.most[0],
        most_warps=c.most[1],
        loads_alone_warps=c.loads_alone,
        additions_alone_warps=c.additions_alone,
        limit_warps=int(c.limit_warps),
        needed_warps=c.warps.tolist(),
    )
