"""Expected values of a profiler's counters beside those that it read."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.documents.counters import CounterPart, CountersDocument
from kernelcast.reporting.figures import digits, percent
from kernelcast.reporting.layout import bullets, columns, section, spaced

Counters = Mapping[str, CounterPart]


def render(document: CountersDocument, *, brief: bool) -> RenderableType:
    """A line per counter, counts and estimates apart; unless `brief`, the launches that are off
    most, and what could not be compared."""
    notes = Text(
        "Ratios are expected over counted, the error is the median of their distance from 1. "
        "Counts follow from code, launch and data, and any "
        "difference is an error, unless another compiler made the code or the execution was "
        "sampled; estimates lie within bounds."
    )
    answer, title = Text(_answer(document)), Text(document.title)
    missing = document.missing
    gaps = section("Not compared", bullets(missing)) if missing and not brief else None
    head = Group(answer, title) if brief else Group(answer, title, notes)
    return spaced([head, counter_tables(document.counters, detail=not brief), gaps])


def counter_tables(counters: Counters, *, detail: bool = False) -> RenderableType:
    """A line per counter; with `detail`, the launches that are off most."""
    counts = {name: c for name, c in counters.items() if c.is_count}
    estimates = {name: c for name, c in counters.items() if not c.is_count}
    return spaced(
        [
            section("Counts", _table(counts, "same")) if counts else None,
            _worst("Counts that differ", counts) if detail else None,
            section("Estimates", _table(estimates, "in bounds")) if estimates else None,
            _worst("Estimates that are off most", estimates) if detail else None,
        ]
    )


def _answer(document: CountersDocument) -> str:
    """`11 of 12 counts are the same in every launch; 3 of 5 estimates are within ...`."""
    return (
        f"{document.same_counts} of {document.counts} counts are the same in every launch; "
        f"{document.bounded_estimates} of {document.estimates} estimates are within their bounds "
        "in every launch"
    )


def _table(counters: Counters, last: str) -> RenderableType:
    table = _whole_names(
        columns(
            "counter", "launches", "median", "10 %", "90 %", "error", "within 1 %", "within 5 %",
            last,
            left=("counter",),
        )
    )  # fmt: skip
    for name, c in counters.items():
        table.add_row(
            name,
            str(len(c.launches)),
            *(_ratio(r) for r in (c.median, c.quantile_10, c.quantile_90)),
            percent(math.inf if c.median_error is None else c.median_error),
            percent(c.within_1_percent),
            percent(c.within_5_percent),
            percent(c.same if c.is_count else c.within_bounds),
        )
    return table


def _ratio(value: float | None, count: int = 4) -> str:
    return digits(math.inf if value is None else value, count)


def _worst(title: str, counters: Counters) -> RenderableType | None:
    off = [(name, c.worst) for name, c in counters.items() if c.worst is not None]
    if not off:
        return None
    names = ("counter", "launch")
    table = _whole_names(columns("ratio", "expected", "counted", *names, left=names))
    for name, c in off:
        table.add_row(_ratio(c.ratio, 3), _number(c.expected), _number(c.counted), name, c.launch)
    return section(title, table)


def _whole_names(table: Table) -> Table:
    """Counters are long words: where there is too little room, they go on in the next line."""
    for column in table.columns:
        column.overflow = "fold"
    return table


def _number(value: float) -> str:
    """Counts in full, others by their digits."""
    return f"{value:.0f}" if value == round(value) else digits(value, 6)
