"""The table of measured accuracy, in Markdown as documents hold it."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.errors import InputError
from kernelcast.reporting.documents.public import (
    AccuracyRow,
    IntervalRow,
    PublicDocument,
    SetChange,
)
from kernelcast.reporting.figures import digits, percent

_HEAD = (
    "| kernels | GPU | launches | median error | mean | 90 % "
    "| predicted / measured | tau | regret | covered | bottleneck |"
)

_INTERVALS_HEAD = (
    "| interval of | doubt | fitted to | low | high | judged by | held | low in use | high in use |"
)

_CHANGES_HEAD = (
    "| against before | GPU | model | launches of both | median was | is | 90 % was | is | |"
)

_BEGIN, _END = "<!-- accuracy -->", "<!-- end of accuracy -->"

_SHORT_HEAD = "| kernels | GPU | launches | median error | 90 % | tau | within the interval |"

_COUNTED_HEAD = "| counted | GPU | counter | launches | median error | within 5 % |"

_MODEL_HEAD = "| model "


def render(document: PublicDocument, *, brief: bool) -> str:
    """A row for every set that could be predicted; which model did is said where several did."""
    several = len({row.model for row in document.sets}) > 1
    lines = [_row(row, with_model=several) for row in document.sets if row.launches]
    head, rule = (_MODEL_HEAD, "|---") if several else ("", "")
    parts = []
    if lines:
        parts.append("\n".join([head + _HEAD, f"{rule}|---|---|{'---:|' * 9}", *lines]))
    if counted := _counted(document.sets):
        parts.append(counted)
    if aside := _aside(document.sets):
        parts.append(aside)
    if document.changes:
        parts.append(_changes(document.changes))
    if document.intervals:
        parts.append(_intervals(document.intervals))
    return "\n\n".join(parts)


def with_short_table(page: str, document: PublicDocument, where: str) -> str:
    """A page with a table of the sets in place of the one that it holds; InputError where it has
    no place for one."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise InputError(f"has no lines {_BEGIN} and {_END}", where=where)
    return f"{before}{begin}\n{_short_table(document)}\n{end}{after}"


def _short_table(document: PublicDocument) -> str:
    """How far off every set is, and whether the order is right."""
    lines = [
        f"| {row.title} | {row.gpu} | {row.launches} | {_percent(row.median_error)} "
        f"| {_percent(row.error_90)} | {'-' if row.tau is None else f'{row.tau:.2f}'} "
        f"| {_percent(row.coverage)} |"
        for row in document.sets
        if row.launches
    ]
    return "\n".join([_SHORT_HEAD, f"|---|---|{'---:|' * 5}", *lines])


def _counted(rows: Sequence[AccuracyRow]) -> str:
    """What profilers counted, once for all models; empty where nothing was."""
    lines = dict.fromkeys(
        f"| {row.title} | {row.gpu} | `{one.metric}` | {one.launches} "
        f"| {_percent(one.median_error)} | {percent(one.within_5_percent)} |"
        for row in rows
        for one in row.counted
    )
    head = [_COUNTED_HEAD, "|---|---|---|---:|---:|---:|"]
    return "\n".join([*head, *lines]) if lines else ""


def _aside(rows: Sequence[AccuracyRow]) -> str:
    """Rows of the files that a rule leaves out, once for all models; empty where there are none."""
    lines = dict.fromkeys(
        f"| {row.title} | {row.gpu} | {count} | {rule} |"
        for row in rows
        for rule, count in row.aside.items()
    )
    head = ["| set aside | GPU | rows | because |", "|---|---|---:|---|"]
    return "\n".join([*head, *lines]) if lines else ""


def _changes(changes: Sequence[SetChange]) -> str:
    """Every set beside the earlier run, over the launches that both have."""
    lines = [
        f"| {c.title} | {c.gpu} | {c.model} | {c.launches} | {percent(c.median_before)} "
        f"| {percent(c.median_error)} | {percent(c.error_90_before)} | {percent(c.error_90)} "
        f"| {'worse' if c.is_worse else ''} |"
        for c in changes
    ]
    return "\n".join([_CHANGES_HEAD, f"|---|---|---|{'---:|' * 5}---|", *lines])


def _intervals(rows: Sequence[IntervalRow]) -> str:
    """What fits the intervals, and what the other half of the launches says of it."""
    lines = [
        f"| {row.model} | {'a doubt' if row.has_doubt else 'none'} | {row.fitted} "
        f"| {row.low:.3f} | {row.high:.3f} | {row.judged} | {percent(row.held)} "
        f"| {row.used_low:.3f} | {row.used_high:.3f} |"
        for row in rows
    ]
    judged = sum(row.judged for row in rows)
    held = sum(row.held * row.judged for row in rows) / judged
    together = f"Of all {judged} that were judged so, {percent(held)} are held."
    return "\n".join([_INTERVALS_HEAD, f"|---|---|{'---:|' * 7}", *lines, "", together])


def _row(row: AccuracyRow, *, with_model: bool) -> str:
    cells = (
        *((row.model,) if with_model else ()),
        row.title,
        row.gpu,
        str(row.launches),
        _percent(row.median_error),
        _percent(row.mean_error),
        _percent(row.error_90),
        "-" if row.ratio is None else digits(row.ratio),
        "-" if row.tau is None else f"{row.tau:.2f}",
        _percent(row.regret),
        _percent(row.coverage),
        _percent(row.agreement),
    )
    return f"| {' | '.join(cells)} |"


def _percent(share: float | None) -> str:
    return "-" if share is None else percent(share)
