"""The occupancy that a launch needs: whether it has it, what would change it, and the curve."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.occupancy_curve import CurveDocument, CurveResult
from kernelcast.reporting.figures import digits, grouped, percent, scaled
from kernelcast.reporting.layout import bullets, columns, section, spaced

_SAME = 1.005
"""A gain below this is none: it would be told as 1.00 times."""


def render(document: CurveDocument, *, brief: bool) -> RenderableType:
    """One sentence per launch and GPU; unless `brief`, advice and the whole curve of each."""
    curves = document.results
    answers = Group(*(_answer(c) for c in curves))
    if brief:
        return answers
    views: list[RenderableType] = []
    for c in curves:
        title = f"{_title(c)}: what would change it" if len(curves) > 1 else "What would change it"
        views.append(section(title, bullets(c.advice)))
        views.append(section("Throughput against occupancy", _table(c)))
    return spaced([answers, *views, section("By the volkov model", bullets(_definitions(curves)))])


def _title(c: CurveResult) -> str:
    return f"{c.title} on {c.gpu}"


def _answer(c: CurveResult) -> Text:
    has = digits(c.resident_warps) if c.resident_warps % 1 else f"{c.resident_warps:.0f}"
    needed = math.inf if c.needed_warps is None else c.needed_warps
    head = Text.assemble((_title(c), "bold"))
    if needed > c.limit_warps:
        wants = f"{_whole(needed)} warps per SM" if math.isfinite(needed) else "more warps"
        head.append(f" needs {wants}, and {c.limit_warps} fit; it has {has}: too few")
    else:
        head.append(f" needs {_whole(needed)} of {c.limit_warps} warps per SM; it has {has}: ")
        head.append("enough" if c.enough else "too few")
    if not c.enough and c.gain >= _SAME:
        # A grid too small to fill the chip cannot be faster with the same work.
        faster = "the throughput" if c.is_small else "faster"
        head.append(f", {digits(c.gain)} times {faster} at {c.wanted_warps}")
    return head


def _whole(warps: float) -> str:
    return grouped(math.ceil(warps * (1 - 1e-9)))


def _table(c: CurveResult) -> RenderableType:
    names = ("blocks", "warps", "throughput", "latency allows", "of the bound", "this launch", "")
    table = columns(*names, left=("",))
    for p in c.points:
        said = (("fits now", p.fits), ("enough", p.is_enough))
        table.add_row(
            str(p.blocks),
            str(p.warps),
            scaled(p.warps_per_s, "warps/s"),
            scaled(p.latency_bound_warps_per_s, "warps/s"),
            percent(p.of_bound),
            f"{digits(p.of_launch)} x",
            ", ".join(words for words, holds in said if holds),
        )
    bounds = Text(
        f"bounds: one warp takes {grouped(c.latency_cycles)} cycles; "
        f"{scaled(c.bound_warps_per_s, 'warps/s')} by {c.busiest}"
    )
    return Group(table, bounds)


def _definitions(curves: Sequence[CurveResult]) -> list[str]:
    loaded = [c for c in curves if c.needed_share < 1]
    found = ["needed warps = latency bound x throughput bound"] if len(loaded) < len(curves) else []
    if loaded:
        names = ", ".join(dict.fromkeys(c.gpu for c in loaded))
        found.append(
            f"on {names} memory latency grows with load: needed is where the curve reaches "
            f"{percent(loaded[0].needed_share)} of its bound"
        )
    return found
