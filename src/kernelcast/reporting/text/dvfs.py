"""The time of launches against clocks: how much of it follows them, and every point."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.dvfs import ClockDocument, ClockPointPart, ClockResult
from kernelcast.reporting.figures import digits, percent, scaled, seconds
from kernelcast.reporting.layout import bullets, columns, section, spaced

_BAR_COLUMNS = 24
_DEFINITIONS = (
    "each time is a forecast at its clocks; stalls scaled is what the nominal one alone says, "
    "in the manner of CRISP (Nath & Tullsen 2015)",
    "T = fixed + max(r C_load, T_load) + max(r C_store, T_store), r = nominal clock over clock",
)


def render(document: ClockDocument, *, brief: bool) -> RenderableType:
    """One sentence per launch, GPU and model; unless `brief`, the points of each."""
    answers = Group(*(_answer(r) for r in document.results))
    if brief:
        return answers
    tables = [section(f"{_title(r)}, by {r.model_label}", _table(r)) for r in document.results]
    return spaced([answers, *tables, section("Stalls scaled", bullets(_DEFINITIONS))])


def _answer(r: ClockResult) -> Text:
    clock = scaled(r.nominal_sm_hz, "Hz")
    text = Text.assemble((f"{_title(r)}: {seconds(r.nominal_time_s)} at {clock}", "bold"))
    text.append(f", bound by {r.bottleneck} by {r.model_label}")
    for which, share in (("SMs", r.sm_share), ("memory", r.memory_share)):
        if share is not None:
            text.append(f"; {percent(share)} of the time follows the clock of the {which}")
    return text


def _title(r: ClockResult) -> str:
    return f"{r.title} on {r.gpu}"


def _table(r: ClockResult) -> RenderableType:
    has_memories = len({p.memory_hz for p in r.points}) > 1
    memory = ("memory",) if has_memories else ()
    table = columns(
        *("SMs", *memory, "time", "of nominal", "stalls scaled", "", "bound by"),
        left=("", "bound by"),
    )
    for p in r.points:
        table.add_row(
            scaled(p.sm_hz, "Hz"),
            *((_memory(p),) if has_memories else ()),
            seconds(p.time_s),
            f"{digits(p.of_nominal)} x",
            "" if p.stall_scaled_s is None else seconds(p.stall_scaled_s),
            Text("#" * round(_BAR_COLUMNS * p.of_slowest), style="cyan"),
            f"{p.bottleneck}{' (nominal)' if p.is_nominal else ''}",
        )
    return table


def _memory(p: ClockPointPart) -> str:
    return "" if p.memory_hz is None else scaled(p.memory_hz, "Hz")
