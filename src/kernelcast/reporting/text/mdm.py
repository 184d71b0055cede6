"""The study of the memory-divergence model: which trends hold, and every figure as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.mdm import (
    ClocksPart,
    GridPart,
    MdmDocument,
    StackPart,
    StreamingPart,
    SweepPart,
    TrendPart,
)
from kernelcast.reporting.figures import digits, percent, scaled
from kernelcast.reporting.layout import columns, section, spaced

_BAR_COLUMNS = 30
_STACK_COLUMNS = 40
_SHORT = {"miss registers": "registers", "noc bandwidth": "NoC", "dram bandwidth": "DRAM"}
"""Terms of a stack; their first letters draw it."""

_NONE = "-"


def render(document: MdmDocument, *, brief: bool) -> RenderableType:
    """How many trends hold, and those that are broken; unless `brief`, all figures."""
    head = Text.assemble(
        (f"{document.met} of {len(document.trends)}", "bold"),
        f" trends of the paper hold on {document.machine}",
    )
    lines = Group(head, Text(_errors_are(document)))
    if brief:
        broken = [t for t in document.trends if not t.holds]
        return spaced([lines, _trends(broken) if broken else None])
    return spaced(
        [
            lines,
            section("Divergent loads and errors, Table IV and Figure 5", _applications(document)),
            *(_sweep(sweep) for sweep in document.sweeps),
            *(_grid(grid) for grid in document.grids),
            _clocks(document.clocks) if document.clocks else None,
            _stacks(document.stacks, document.stacked or "") if document.stacks else None,
            _streaming(document.streaming) if document.streaming else None,
            _trends(document.trends),
        ]
    )


def _errors_are(document: MdmDocument) -> str:
    if document.observed is None:
        return "Nothing was observed: errors tell how far the IPC of a model is from that of MDM."
    return f"Errors are against the IPC of {document.observed}."


def _error(value: float | None) -> str:
    return _NONE if value is None else percent(value)


def _applications(document: MdmDocument) -> RenderableType:
    schemes = list(document.applications[0].ipc)
    table = columns("", "application", "DPKI", "", *schemes, left=("application",))
    for a in document.applications:
        verdict = "divergent" if a.is_divergent else ""
        errors = (_error(a.error[s]) for s in schemes)
        table.add_row(a.name, a.title, digits(a.dpki), verdict, *errors)
    for kind in document.means:
        table.add_row("", f"mean, {kind.kind}", "", "", *(_error(kind.error[s]) for s in schemes))
        stated = (_error(kind.stated.get(s)) for s in schemes)
        table.add_row("", "  printed, other kernels", "", "", *stated)
    return table


def _sweep(sweep: SweepPart) -> RenderableType:
    schemes = list(sweep.steps[0].error)
    first = schemes[0]
    table = columns(sweep.title, *schemes, first, left=(first,))
    most = max((step.error[first] or 0.0 for step in sweep.steps), default=0.0)
    for step in sweep.steps:
        cells = (_beside(step.error[s], step.stated.get(s)) for s in schemes)
        bar = "#" * round(_BAR_COLUMNS * (step.error[first] or 0.0) / most) if most else ""
        table.add_row(_value(step.value, sweep.unit), *cells, bar)
    return section(f"Mean error of divergent applications, {sweep.figure} (printed)", table)


def _beside(found: float | None, stated: float | None) -> str:
    return _error(found) if stated is None else f"{_error(found)} ({percent(stated)})"


def _value(value: float, unit: str) -> str:
    return scaled(value, "B/s") if unit == "byte/s" else f"{value:g}"


def _grid(grid: GridPart) -> RenderableType:
    schemes = list(grid.performance)
    table = columns("DRAM", *(f"{sms:g} SMs" for sms in grid.sms))
    for at, bandwidth in enumerate(grid.bandwidths):
        cells = zip(*(grid.performance[s][at] for s in schemes), strict=True)
        texts = (" / ".join(digits(value) for value in cell) for cell in cells)
        table.add_row(scaled(bandwidth, "B/s"), *texts)
    title = f"IPC of {grid.application} over that on Table III, {' / '.join(schemes)}"
    return section(f"{title}, {grid.figure}", table)


def _clocks(clocks: ClocksPart) -> RenderableType:
    schemes = list(clocks.mean)
    table = columns("", *schemes)
    for row in clocks.applications:
        table.add_row(row.application, *_times(row.slowdown, schemes))
    table.add_row("mean", *_times(clocks.mean, schemes))
    for words, errors in (("error", clocks.mean_error), ("of the paper", clocks.stated_error)):
        table.add_row(words, *(_error(errors[s]) for s in schemes))
    slow, fast = (scaled(hz, "Hz") for hz in (clocks.slow_hz, clocks.fast_hz))
    return section(f"Time at {slow} over that at {fast}, Figure 13", table)


def _times(values: Mapping[str, float], schemes: Sequence[str]) -> list[str]:
    return [digits(values[s]) for s in schemes]


def _stacks(stacks: Sequence[StackPart], application: str) -> RenderableType:
    names = [n for n in stacks[0].parts if any(stack.parts[n] for stack in stacks)]
    short = [_SHORT.get(name, name) for name in names]
    table = columns("bandwidths", "model", "CPI", *short, "", left=("",))
    per_column = max(stack.cpi for stack in stacks) / _STACK_COLUMNS
    for stack in stacks:
        parts = [stack.parts[name] for name in names]
        bar = (n[0] * round(part / per_column) for n, part in zip(short, parts, strict=True))
        table.add_row(
            f"{stack.scale:g} x",
            stack.scheme,
            digits(stack.cpi),
            *(digits(part) for part in parts),
            "".join(bar),
        )
    return section(f"SM cycles per instruction of {application}, Figure 14", table)


def _streaming(rows: Sequence[StreamingPart]) -> RenderableType:
    schemes = list(rows[0].ipc)
    table = columns("", *(f"{s}, IPC" for s in schemes), *(f"{s}, error" for s in schemes))
    for row in rows:
        errors = (_error(row.error[s]) for s in schemes)
        table.add_row(row.application, *_times(row.ipc, schemes), *errors)
    return section("A streaming L1 cache, Figure 15", table)


def _trends(trends: Sequence[TrendPart]) -> RenderableType:
    table = columns("source", "trend", "must fall", "", left=("source", "trend", ""))
    for t in trends:
        found = " > ".join(digits(value) for value in t.found)
        table.add_row(t.source, t.says, found, "" if t.holds else "broken")
    return section("What the paper says", table)
