"""What a calibration found, beside what a machine file says."""

from __future__ import annotations

import math
import re
import textwrap

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.documents.calibrate import (
    AgainstPart,
    CalibrateDocument,
    CalibratedQuantity,
    RepeatPart,
)
from kernelcast.reporting.layout import bullets, columns, section, spaced

COMPARISON = "against.md"
"""The comparison with a machine file, beside the pictures of the fits."""
_SOURCE_WIDTH = 90


def render(document: CalibrateDocument, *, brief: bool) -> RenderableType:
    """Every number with unit, kind and residual; then what is missing and why, and remarks.

    With a machine the numbers that differ from its own come first, and each has its own beside it.
    With a repeated measurement, those that have not come back stand before all.
    """
    device, remarks = document.device, document.remarks
    head = f"{device['name']}, compute capability {device['major']}.{device['minor']}"
    gaps = [f"{path} ({gap.benchmark}): {gap.why}" for path, gap in document.missing.items()]
    return spaced(
        [
            _repeat(document.repeat) if document.repeat else None,
            _differences(document, document.against) if document.against else None,
            section(head, _numbers(document)),
            section("Missing", bullets(gaps)) if gaps and not brief else None,
            section("Remarks", bullets(remarks)) if remarks and not brief else None,
            Text(f"{len(gaps)} numbers are missing") if gaps and brief else None,
        ]
    )


def _repeat(repeat: RepeatPart) -> RenderableType:
    lost = [f"{path}: one measurement has it" for path in repeat.missing]
    head = (
        f"{repeat.came_back} of {len(repeat.ratios)} numbers have come back within "
        f"{repeat.tolerance:.0%}"
    )
    lines = [
        f"{one.path}: x {_finite(one.ratio):.3f}, {one.first:.4g} {one.unit} before"
        for one in repeat.numbers_apart
    ]
    return section(head, bullets([*lines, *lost])) if lines or lost else Text(head)


def _finite(ratio: float | None) -> float:
    return math.inf if ratio is None else ratio


def _differences(document: CalibrateDocument, against: AgainstPart) -> RenderableType:
    """The largest first, each with the source of the machine's number."""
    if not against.compared:
        return Text(f"{against.machine} has none of these numbers")
    if not against.differing:
        return Text(f"Nothing differs from {against.machine} by more than {against.tolerance:.0%}")
    lines = [
        _difference(path, against.machine, document.quantities[path])
        for path in against.by_difference
    ]
    head = f"Differs from {against.machine} by more than {against.tolerance:.0%}"
    return section(head, bullets(lines))


def _difference(path: str, machine: str, quantity: CalibratedQuantity) -> str:
    stated = quantity.against
    assert stated is not None
    return (
        f"{path}: x {stated.ratio:.2f}; {machine} has {stated.value:.4g} {stated.unit}, "
        f"{stated.kind}: {_shortened(stated.source)}"
    )


def _shortened(source: str) -> str:
    """A source without what it has in brackets, cut between words."""
    plain = re.sub(r"\s*\([^()]*\)", "", source)
    return textwrap.shorten(plain, _SOURCE_WIDTH, placeholder=" ...")


def _numbers(document: CalibrateDocument) -> Table:
    against = document.against
    theirs = (against.machine, "ratio") if against else ()
    names = ("number", "value", *theirs, "unit", "kind", "residual")
    table = columns(*names, left=("number", "unit", "kind"))
    for path, quantity in document.quantities.items():
        table.add_row(
            path,
            f"{quantity.value:.4g}",
            *(_pair(quantity) if against else ()),
            quantity.unit,
            quantity.kind,
            f"{quantity.residual:.2%}" if quantity.is_fitted else "",
        )
    return table


def _pair(quantity: CalibratedQuantity) -> tuple[str, str]:
    """The machine's number, and the ratio to it."""
    stated = quantity.against
    return (f"{stated.value:.4g}", f"{stated.ratio:.2f}") if stated else ("", "")


def comparison_table(document: CalibrateDocument) -> str:
    """Every number beside the machine's own and its source: a table in Markdown."""
    assert document.against is not None
    heads = (
        "number",
        "measured",
        "residual",
        document.against.machine,
        "ratio",
        "unit",
        "source of its number",
    )
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|---|---|"]
    for path, quantity in document.quantities.items():
        residual = f"{quantity.residual:.1%}" if quantity.is_fitted else ""
        stated = quantity.against
        source = f"{stated.kind}: {_shortened(stated.source)}" if stated else ""
        measured = f"{quantity.value:.4g}"
        cells = (path, measured, residual, *_pair(quantity), quantity.unit, source)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
