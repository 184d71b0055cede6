"""The occupancy that a launch needs: whether it has it, what would change it, and the curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.exploration.occupancy_curve import OccupancyCurve
from kernelcast.reporting.console import plain_text
from kernelcast.reporting.curve_document import (
    CURVE_SCHEMA,
    CurveDocument,
    CurveResult,
    PointPart,
)
from kernelcast.reporting.figures import digits, grouped, percent, scaled
from kernelcast.reporting.layout import bullets, columns, section, spaced
from kernelcast.reporting.plain_words import MEANING
from kernelcast.reporting.svg import Chart, Line, Mark
from kernelcast.reporting.titles import launch_title

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SAME = 1.005
"""A gain below this is none: it would be told as 1.00 times."""


@dataclass(frozen=True)
class Curve(OccupancyCurve):
    """An occupancy curve whose text is the full report and which turns into a plain dictionary."""

    @classmethod
    def of(cls, curve: OccupancyCurve) -> Curve:
        """The same curve, ready to be printed."""
        return cls(**{f.name: getattr(curve, f.name) for f in fields(OccupancyCurve)})

    def __str__(self) -> str:
        return plain_text(render_curves([self], detail=True))

    def as_dict(self) -> dict[str, Any]:
        """The result as `occupancy-curve --json` gives it."""
        built: dict[str, Any] = msgspec.to_builtins(_result(self))
        return built


def render_curves(curves: Sequence[OccupancyCurve], detail: bool) -> RenderableType:
    """One sentence per launch and GPU; with `detail`, advice and the whole curve of each."""
    answers = Group(*(_answer(c) for c in curves))
    if not detail:
        return answers
    views: list[RenderableType] = []
    for c in curves:
        title = f"{_title(c)}: what would change it" if len(curves) > 1 else "What would change it"
        views.append(section(title, bullets(advice(c))))
        views.append(section("Throughput against occupancy", _table(c)))
    return spaced([answers, *views, section("By the volkov model", bullets(_definitions(curves)))])


def curves_dict(curves: Sequence[OccupancyCurve]) -> dict[str, Any]:
    """The curves in the published form of `occupancy-curve --json`."""
    built: dict[str, Any] = msgspec.to_builtins(
        CurveDocument(CURVE_SCHEMA, [_result(c) for c in curves])
    )
    return built


def curve_chart(c: OccupancyCurve) -> Chart:
    """The curve between its two bounds, with the knee and where the launch stands."""
    per_second = _per_second(c)
    top = c.throughput_bound * per_second
    factor, prefix = next((p for p in _PREFIXES if top >= p[0]), _PREFIXES[-1])
    last = float(c.limit_warps)
    rising = min(last, c.throughput_bound * c.latency_cycles)
    curve = ((p.warps, p.throughput * per_second / factor) for p in c.points)
    latency = (rising, rising / c.latency_cycles * per_second / factor)
    marks = [Mark(f"launch: {digits(c.resident_warps)} warps", c.resident_warps)]
    if c.needed_warps <= last:
        marks.append(Mark(f"needed: {digits(c.needed_warps)} warps", c.needed_warps))
    return Chart(
        title=_title(c),
        x_label="warps per SM",
        y_label=f"{prefix}warps/s, whole chip",
        lines=(
            Line("throughput", ((0.0, 0.0), *curve)),
            Line("latency bound", ((0.0, 0.0), latency), dashed=True),
            Line("throughput bound", ((0.0, top / factor), (last, top / factor)), dashed=True),
        ),
        marks=tuple(marks),
    )


def advice(c: OccupancyCurve) -> list[str]:
    """What would change the answer, one clause each."""
    return _spare(c) if c.is_enough else _missing(c)


def _per_second(c: OccupancyCurve) -> float:
    """Warps per second of the chip in one warp per cycle and SM."""
    number = c.case.machine.number
    return number("clock.sm") * number("sm.count")


def _title(c: OccupancyCurve) -> str:
    return f"{launch_title(c.case)} on {c.case.machine.name}"


def _answer(c: OccupancyCurve) -> Text:
    has = digits(c.resident_warps) if c.resident_warps % 1 else f"{c.resident_warps:.0f}"
    head = Text.assemble((_title(c), "bold"))
    if c.needed_warps > c.limit_warps:
        wants = f"{_whole(c)} warps per SM" if math.isfinite(c.needed_warps) else "more warps"
        head.append(f" needs {wants}, and {c.limit_warps} fit; it has {has}: too few")
    else:
        head.append(f" needs {_whole(c)} of {c.limit_warps} warps per SM; it has {has}: ")
        head.append("enough" if c.is_enough else "too few")
    if not c.is_enough and c.gain >= _SAME:
        # A grid too small to fill the chip cannot be faster with the same work.
        faster = "the throughput" if _is_small(c) else "faster"
        head.append(f", {digits(c.gain)} times {faster} at {c.wanted.warps}")
    return head


def _is_small(c: OccupancyCurve) -> bool:
    """Whether the grid has too few blocks to fill the SMs."""
    return c.resident_warps < c.case.occupancy.warps_per_sm


def _whole(c: OccupancyCurve) -> str:
    return grouped(math.ceil(c.needed_warps * (1 - 1e-9)))


def _spare(c: OccupancyCurve) -> list[str]:
    held = c.case.occupancy
    found = [
        f"more warps gain {'nothing' if c.needed_share == 1 else 'little'}: {MEANING[c.busiest]}"
    ]
    for name, now, most in _resources(c):
        if most is not None and most > now and c.wanted.blocks < held.blocks_per_sm:
            found.append(
                f"{name} may grow from {grouped(now)} to {grouped(most)}: {_blocks(c)} suffice"
            )
    return found


def _missing(c: OccupancyCurve) -> list[str]:
    case, held = c.case, c.case.occupancy
    found: list[str] = []
    if _is_small(c):
        blocks = "1 block fills" if case.launch.blocks == 1 else f"{case.launch.blocks} blocks fill"
        found.append(
            f"a larger grid: {blocks} "
            f"{digits(c.resident_warps)} of the {held.warps_per_sm} warps that fit on each SM"
        )
    if c.wanted.blocks > held.blocks_per_sm:
        shrink = [
            f"{name} from {grouped(now)} to at most {grouped(most)}"
            if most is not None
            else f"{name} cannot be made small enough"
            for name, now, most in _resources(c)
            if most is None or most < now
        ]
        if "barriers" in c.most_for_needed:
            shrink.append("fewer barriers per block")
        if shrink:
            found.append(f"for {_blocks(c)} per SM ({c.wanted.warps} warps): {', '.join(shrink)}")
    if c.needed_warps > c.limit_warps:
        found.append(f"no more than {c.limit_warps} warps fit in blocks of this size")
    found.append(
        f"or more instructions of each warp at once: one warp takes "
        f"{grouped(c.latency_cycles)} cycles; the present warps would suffice at "
        f"{grouped(c.latency_for_present_cycles)}, without load on memory"
    )
    return [*found, f"waiting: {MEANING[c.waits_for]}"]


def _resources(c: OccupancyCurve) -> list[tuple[str, int, int | None]]:
    """Name, present value, and the most with which the wanted blocks fit."""
    held = c.case.occupancy
    now = {
        "registers": ("registers per thread", held.registers_per_thread or 0),
        "shared memory": ("bytes of shared memory per block", held.shared_bytes_per_block),
    }
    return [(*now[r], most) for r, most in c.most_for_needed.items() if r in now]


def _blocks(c: OccupancyCurve) -> str:
    return "1 block" if c.wanted.blocks == 1 else f"{c.wanted.blocks} blocks"


def _table(c: OccupancyCurve) -> RenderableType:
    names = ("blocks", "warps", "throughput", "latency allows", "of the bound", "this launch", "")
    table = columns(*names, left=("",))
    per_second = _per_second(c)
    for p in c.points:
        said = []
        if p.blocks == c.case.occupancy.blocks_per_sm:
            said.append("fits now")
        if p == c.wanted and c.needed_warps <= c.limit_warps:
            said.append("enough")
        table.add_row(
            str(p.blocks),
            str(p.warps),
            scaled(p.throughput * per_second, "warps/s"),
            scaled(p.latency_bound * per_second, "warps/s"),
            percent(p.throughput / c.throughput_bound),
            f"{digits(p.throughput / c.throughput)} x",
            ", ".join(said),
        )
    bounds = Text(
        f"bounds: one warp takes {grouped(c.latency_cycles)} cycles; "
        f"{scaled(c.throughput_bound * per_second, 'warps/s')} by {c.busiest}"
    )
    return Group(table, bounds)


def _definitions(curves: Sequence[OccupancyCurve]) -> list[str]:
    loaded = [c.case.machine.name for c in curves if c.needed_share < 1]
    found = ["needed warps = latency bound x throughput bound"] if len(loaded) < len(curves) else []
    if loaded:
        names = ", ".join(dict.fromkeys(loaded))
        found.append(
            f"on {names} memory latency grows with load: needed is where the curve reaches "
            f"{percent(next(c.needed_share for c in curves if c.needed_share < 1))} of its bound"
        )
    return found


def _result(c: OccupancyCurve) -> CurveResult:
    held = c.case.occupancy
    return CurveResult(
        kernel=c.case.kernel.label or c.case.kernel.name,
        gpu=c.case.machine.name,
        needed_warps=c.needed_warps if math.isfinite(c.needed_warps) else None,
        needed_share=c.needed_share,
        resident_warps=c.resident_warps,
        warps_per_sm=held.warps_per_sm,
        limit_warps=c.limit_warps,
        enough=c.is_enough,
        gain=c.gain,
        wanted_blocks=c.wanted.blocks,
        latency_cycles=c.latency_cycles,
        throughput_bound=c.throughput_bound,
        throughput=c.throughput,
        waits_for=c.waits_for,
        busiest=c.busiest,
        limiter=held.limiter,
        most_for_needed=dict(c.most_for_needed),
        advice=advice(c),
        points=[PointPart(p.blocks, p.warps, p.throughput, p.latency_bound) for p in c.points],
    )
