"""The TEG paper played: section 3, the tables with one factor each, and ratios without any."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.teg import (
    PaperRatioPart,
    TableCurvePart,
    TegDocument,
)
from kernelcast.reporting.figures import digits, percent
from kernelcast.reporting.layout import columns, section, spaced
from kernelcast.reporting.text.paper_numbers import VERDICTS, paper_number_table


def render(document: TegDocument, *, brief: bool) -> RenderableType:
    """How much of the paper is met; unless `brief`, every number."""
    head = Text.assemble(
        (f"{document.met} of {document.stated}", "bold"),
        f" numbers of the paper are met on a {document.machine} with "
        + ", ".join(f"{path}={value}" for path, value in document.settings.items()),
    )
    notes = Text(
        "The paper prints neither code nor sizes: one factor is fitted for each table, and points "
        f"may be off by {percent(document.worst_error)}, as the paper's worst prediction is. "
        f"Ratios take no factor and may be off by {percent(document.gain_error)}."
    )
    numbers = [n for n in document.numbers if not (brief and n.holds)]
    gains = [g for g in document.gains if not (brief and g.holds)]
    return spaced(
        [
            Group(head, notes),
            section("Section 3", paper_number_table(numbers)) if numbers else None,
            *(_curve(curve) for curve in document.curves if not brief),
            section("Ratios, without any factor", _gains(gains)) if gains else None,
        ]
    )


def _curve(curve: TableCurvePart) -> RenderableType:
    table = columns("warps", "measured", "paper", "simulated", "times factor", "error", "")
    for p in curve.points:
        table.add_row(
            str(p.warps),
            digits(p.measured),
            digits(p.predicted),
            digits(p.cycles),
            digits(curve.factor * p.cycles),
            f"{100 * p.error:+.1f} %",
            VERDICTS[p.holds],
        )
    title = f"Table {curve.table}: {curve.title}, cycles; factor {curve.factor:.3f}"
    return section(title, table)


def _gains(gains: Sequence[PaperRatioPart]) -> RenderableType:
    table = columns("", "ratio", "measured", "paper", "simulated", "error", "", left=("", "ratio"))
    for g in gains:
        table.add_row(
            g.source,
            g.says,
            f"{g.measured:.2f}",
            f"{g.predicted:.2f}",
            f"{g.found:.2f}",
            f"{100 * g.error:+.1f} %",
            VERDICTS[g.holds],
        )
    return table
