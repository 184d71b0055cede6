"""The cusp of needed occupancy over arithmetic intensity, for several GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from kernelcast.exploration.cusp import ALPHAS, Cusp
from kernelcast.reporting.curve_document import CUSP_SCHEMA, CuspDocument, CuspResult
from kernelcast.reporting.figures import digits
from kernelcast.reporting.layout import columns, section, spaced
from kernelcast.reporting.svg import Chart, Line

_X = "additions per load"
_Y = "warps per SM needed"


def render_cusps(cusps: Sequence[Cusp], detail: bool) -> RenderableType:
    """Whether there is a cusp; with `detail`, its place on every GPU and the curves."""
    head = _answer(cusps)
    if not detail:
        return head
    ends = columns("GPU", "loads alone", "most", "at", "additions alone", "fit", left=("GPU",))
    for c in cusps:
        at, most = c.most
        ends.add_row(
            c.machine,
            digits(c.loads_alone),
            digits(most),
            digits(at),
            digits(c.additions_alone),
            f"{c.limit_warps:g}",
        )
    curves = columns(_X, *(c.machine for c in cusps))
    alphas = cusps[0].alphas
    for at, alpha in enumerate(alphas):
        if alpha.is_integer() or alphas != ALPHAS:
            curves.add_row(f"{alpha:g}", *(digits(float(c.warps[at])) for c in cusps))
    return spaced([head, section(f"{_Y}, by {_X}", ends), section("The curves", curves)])


def cusps_dict(cusps: Sequence[Cusp]) -> dict[str, Any]:
    """The curves in the published form of `occupancy-curve --cusp --json`."""
    document = CuspDocument(CUSP_SCHEMA, list(cusps[0].alphas), [_result(c) for c in cusps])
    built: dict[str, Any] = msgspec.to_builtins(document)
    return built


def cusp_chart(cusps: Sequence[Cusp]) -> Chart:
    """One line per GPU over the logarithm of alpha; loads alone, without one, are left out."""
    lines = [
        Line(c.machine, tuple((a, w) for a, w in zip(c.alphas, c.warps.tolist(), strict=True) if a))
        for c in cusps
    ]
    return Chart("Warps that hide latency", _X, _Y, tuple(lines), logarithmic=True)


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


def _answer(cusps: Sequence[Cusp]) -> Text:
    found = [c for c in cusps if c.is_cusp]
    if len(cusps) == 1:
        (c,) = cusps
        at, most = c.most
        return Text(
            f"{c.machine} needs most warps, {digits(most)} per SM where {c.limit_warps:g} fit, "
            f"at {digits(at)} {_X}" + ("" if found else ": no cusp")
        )
    if not found:
        return Text(f"No cusp: none of {len(cusps)} GPUs needs most warps in between")
    low, high = min(c.most[0] for c in found), max(c.most[0] for c in found)
    return Text(
        f"{len(found)} of {len(cusps)} GPUs have a cusp: most warps are needed "
        f"at {digits(low)} to {digits(high)} {_X}, fewer at either end"
    )
