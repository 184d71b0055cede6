"""The quantities and units of conditions."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from kernelcast.reporting.documents.gate_names import GateNamesDocument
from kernelcast.reporting.layout import columns, section, spaced


def render(document: GateNamesDocument, *, brief: bool) -> RenderableType:
    """Names with their units and meanings; `brief` keeps the names."""
    if brief:
        return Text("\n".join(name.name for name in document.names))
    table = columns("name", "in", "what it is", left=("name", "in", "what it is"))
    for one in document.names:
        table.add_row(Text(one.name), one.unit, Text(one.meaning))
    words = (
        "< <= > >= == !=, and, or, not, + - * /, min, max, abs; numbers without a unit are in SI "
        f"units, or take one of {' '.join(document.units)}"
    )
    return spaced([table, section("Conditions", Text(words))])
