"""Which launch is advised, and every one that was tried."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.advise import (
    AdviceResult,
    AdviseDocument,
    CandidatePart,
    CodeChangePart,
)
from kernelcast.reporting.figures import percent, seconds
from kernelcast.reporting.layout import bullets, columns, indented, section, spaced

_LEFT = ("block", "grid", "bound by", "")
_ESTIMATED = "~ was not executed: its time follows from a launch of the same warps in other blocks."
_BOUND = (
    "> was not executed: it takes so long if the caches hold all that the same warps in other "
    "blocks want more than once, else longer."
)


def render(document: AdviseDocument, *, brief: bool) -> RenderableType:
    """The advice for each launch; unless `brief`, with all candidates."""
    return spaced([_render_advice(result, brief=brief) for result in document.results])


def _render_advice(result: AdviceResult, *, brief: bool = False) -> RenderableType:
    """The advice for one launch."""
    title = f"{result.title} x {result.repeat}" if result.repeat > 1 else result.title
    head = Text.assemble(f"{title} on {result.gpu}: ", (result.change, "bold"))
    notes = [_reason(result)]
    if brief:
        return head
    refused = [c for c in result.candidates if c.time_s is None]
    return spaced(
        [
            Group(head, *map(Text, notes)),
            section("Changes of the code", bullets(_code_changes(result)))
            if result.code_changes
            else None,
            indented(_table(result)),
            *(Text(note) for note in _notes_on_times(result)),
            section("The three strategies of Resios 2011", _strategies(result))
            if result.strategies
            else None,
            section("Left out", bullets(_left_out(refused))) if refused else None,
        ]
    )


def _reason(result: AdviceResult) -> str:
    """How much is gained, or why nothing is."""
    if result.best is not None and result.best.time_s is not None:
        before, after = result.confirmed_s
        times = f"{seconds(result.time_s)} to {seconds(result.best.time_s)}"
        found = f"{percent(result.gain)} less time, {times}, by the {result.model_label} model; "
        found += f"{seconds(before)} to {seconds(after)} by the default one"
        if result.repeat > 1:
            saved_s = result.repeat * (result.time_s - result.best.time_s)
            found += f"; {seconds(saved_s)} less for all {result.repeat}"
        return f"{found}. It {result.best.results}." if result.best.results else f"{found}."
    if result.fixed:
        return f"Blocks of another size were not tried: {result.fixed}."
    least = percent(result.least_gain)
    return (
        f"No launch that leaves the same in memory is more than {least} faster by the "
        f"{result.model_label} model and the default one."
    )


def _code_changes(result: AdviceResult) -> list[str]:
    """Every change, and all that are advised together."""
    lines = [_code_change(change) for change in result.code_changes]
    if result.together_s is None:
        return lines
    before_s = result.code_changes[0].before_s
    times = f"{seconds(before_s)} to {seconds(result.together_s)} by the teg model"
    gain = percent(1 - result.together_s / before_s)
    return [*lines, f"all that is advised together: up to {gain} less time, {times}"]


def _code_change(change: CodeChangePart) -> str:
    """What a change gains, or that it gains nothing."""
    where = f"{', '.join(change.lines)}: " if change.lines else ""
    times = f"{seconds(change.before_s)} to {seconds(change.time_s)} by the teg model"
    if not change.advised:
        return f"{where}not worth it: {change.change} ({times})"
    if change.kind == "padding":
        return f"{where}{change.change}: {percent(change.gain)} less time, {times}"
    least = f"{percent(change.least_gain)}" if change.least_gain > 0 else "nothing"
    gain = f"{least} to {percent(change.gain)} less time"
    return f"{where}{change.change}: {gain}, {times} at best"


def _table(result: AdviceResult) -> RenderableType:
    table = columns(
        "block", "grid", "registers", "time", "gain", "warps", "bound by", "", left=_LEFT
    )
    bottleneck = str(result.bottleneck)
    table.add_row(_extents(result.block), "", "", seconds(result.time_s), "", "", bottleneck, "now")
    for c in result.candidates:
        if c.time_s is None or c.gain is None:
            continue
        table.add_row(
            _extents(c.block),
            _extents(c.grid),
            "" if c.registers is None else f"at most {c.registers}",
            f"{_mark(c)}{seconds(c.time_s)}",
            f"{'< ' if c.bound else ''}{100 * c.gain:+.1f} %",
            str(c.warps_per_sm),
            str(c.bottleneck),
            "; ".join(filter(None, (c.by, c.results))),
        )
    return table


def _mark(candidate: CandidatePart) -> str:
    return "" if candidate.executed else "> " if candidate.bound else "~"


def _notes_on_times(result: AdviceResult) -> list[str]:
    """What the marks before times say."""
    marks = {_mark(c) for c in result.candidates if c.time_s is not None}
    return [note for mark, note in (("~", _ESTIMATED), ("> ", _BOUND)) if mark in marks]


def _strategies(result: AdviceResult) -> RenderableType:
    given = result.strategies
    assert given is not None
    more = ", more than fits" if given.hiding_latency > given.utilisation else ""
    return bullets(
        [
            f"as much work on every SM: {given.even_work} warps of a block",
            f"what fits an SM: {given.utilisation}",
            f"enough to hide latencies: {given.hiding_latency}{more}",
            f"the least of them, and of what a block may have: {given.warps}",
        ]
    )


def _left_out(refused: Sequence[CandidatePart]) -> list[str]:
    """Every reason once, with the blocks that it is of."""
    blocks: dict[str, list[str]] = {}
    for c in refused:
        blocks.setdefault(c.refused.partition(", block ")[0], []).append(_extents(c.block))
    return [f"{', '.join(of)}: {why}" for why, of in blocks.items()]


def _extents(extents: Sequence[int]) -> str:
    x, y, z = extents
    return ",".join(map(str, (x, y, z)[: 3 if z > 1 else 2 if y > 1 else 1]))
