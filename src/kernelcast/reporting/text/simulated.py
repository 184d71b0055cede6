"""What simulated warps did: states, lines, metrics, and one loop in cycles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.lines import CostlyLine
from kernelcast.reporting.documents.simulated import IssuePart, LoopTimelinePart, WarpStatePart
from kernelcast.reporting.figures import digits, grouped, percent
from kernelcast.reporting.layout import columns, facts, section

_BAR_COLUMNS = 24
_LINES = 10
_ROWS = 64
_WIDTH = 56
"""Columns of a timeline."""
_MARKS = {
    "long scoreboard": "l",
    "short scoreboard": "s",
    "wait": "w",
    "barrier": "b",
    "dispatch stall": "d",
    "no instruction": "n",
    "imc miss": "c",
    "drain": "e",
    "math pipe throttle": "m",
    "lg throttle": "g",
    "mio throttle": "q",
}
_SELDOM = 0.01
"""Of all cycles of warps: what is less is not spelled out."""


def render_states(states: list[WarpStatePart]) -> RenderableType:
    """What warps did, the most frequent first."""
    table = columns("", "share", "cycles per instruction", " ", left=["", " "])
    for state in states:
        bar = Text("#" * round(_BAR_COLUMNS * state.share), style="cyan")
        table.add_row(state.name, percent(state.share), digits(state.cycles_per_issue), bar)
    return section("What warps did, as Nsight Compute names it", table)


def render_stalled_lines(
    lines: Mapping[str, Mapping[str, float]], sources: list[CostlyLine]
) -> RenderableType | None:
    """The source lines at which warps spend most cycles."""
    texts = {f"{line.file}:{line.line}": line.source for line in sources}
    ranked = sorted(lines.items(), key=lambda pair: -sum(pair[1].values()))
    if not ranked:
        return None
    table = columns("line", "share", "of which", "source", left=("line", "of which", "source"))
    table.columns[0].no_wrap = True
    for place, stalls in ranked[:_LINES]:
        source = Text(texts.get(place, ""), no_wrap=True, overflow="ellipsis")
        words = Text(_reasons(stalls))
        table.add_row(Text(Path(place).name), percent(sum(stalls.values())), words, source)
    return section("Where warps spend their cycles", table)


def stall_words(stalls: Mapping[str, float]) -> str:
    """What warps that are about to issue an instruction do most, where it is much of all."""
    share = sum(stalls.values())
    return f"{percent(share)}: {_reasons(stalls, 2)}" if share >= _SELDOM else ""


def _reasons(stalls: Mapping[str, float], most: int = 3) -> str:
    ranked = sorted(stalls.items(), key=lambda pair: -pair[1])
    told = [pair for pair in ranked if pair[1] >= _SELDOM][:most]
    return ", ".join(f"{name} {percent(share)}" for name, share in told or ranked[:1])


def render_metrics(metrics: Mapping[str, float]) -> RenderableType:
    """Metrics by their names."""
    table = facts()
    for name, value in metrics.items():
        if value:
            table.add_row(Text(name), digits(value))
    return section("Metrics of the simulated SMs", table)


def render_loop(loop: LoopTimelinePart) -> RenderableType:
    """One line for each instruction, one column for so many cycles."""
    each = -(-loop.cycles // _WIDTH)
    table = columns("cycle", "line", "timeline", "instruction", left=("timeline", "instruction"))
    table.columns[2].no_wrap = True
    for issue in loop.issues[:_ROWS]:
        table.add_row(
            grouped(issue.cycle),
            "" if issue.line is None else str(issue.line),
            Text(_marks(issue, each).ljust(-(-loop.cycles // each), ".")),
            Text(issue.text, no_wrap=True, overflow="ellipsis"),
        )
    left = len(loop.issues) - _ROWS
    title = f"A loop in {grouped(loop.cycles)} cycles: block {loop.block}, warp {loop.warp}"
    width = "a column is a cycle" if each == 1 else f"a column is {each} cycles"
    found = {i.throttle for i in loop.issues if i.throttled}
    found |= {i.reason for i in loop.issues if i.waited}
    found |= {"dispatch stall" for i in loop.issues if i.held}
    found |= {"imc miss" for i in loop.issues if i.missed}
    legend = "".join(f", {mark} {name}" for name, mark in _MARKS.items() if name in found)
    words = f"{width}; I issued, - not selected{legend}"
    further = f"; {left} instructions more" if left > 0 else ""
    return section(title, Group(table, Text(f"{words}{further}", style="dim")))


def _marks(issue: IssuePart, each: int) -> str:
    """A row of a timeline up to the issue: what the warp did in the first cycle of each column."""
    steps = (
        (issue.waited, _MARKS.get(issue.reason, "w")),
        (issue.throttled, _MARKS[issue.throttle]),
        (issue.held, _MARKS["dispatch stall"]),
        (issue.missed, _MARKS["imc miss"]),
        (issue.not_selected, "-"),
    )
    begins = issue.cycle - sum(cycles for cycles, _ in steps)
    row = ["."] * (issue.cycle // each)
    for cycles, mark in steps:
        for column in range(-(-begins // each), min(len(row), -(-(begins + cycles) // each))):
            row[column] = mark
        begins += cycles
    return "".join(row) + "I"
