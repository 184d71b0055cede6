"""What a calibration found, beside what a machine file says, as tables and as a dictionary."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.calibration.calibrate import Calibration, Finding
from kernelcast.calibration.comparison import DIFFERS, Comparison, compare_with
from kernelcast.calibration.repeats import TOLERANCE, Repeats
from kernelcast.machines.machine import Kind, Machine
from kernelcast.reporting.layout import bullets, columns, section, spaced

COMPARISON = "against.md"
"""The comparison with a machine file, beside the pictures of the fits."""
_SOURCE_WIDTH = 90


def render_calibration(
    calibration: Calibration,
    against: Machine | None = None,
    repeats: Repeats | None = None,
    *,
    brief: bool = False,
) -> RenderableType:
    """Every number with unit, kind and residual; then what is missing and why, and remarks.

    With a machine the numbers that differ from its own come first, and each has its own beside it.
    With a repeated measurement, those that have not come back stand before all.
    """
    device = calibration.raw.device
    compared = compare_with(calibration, against) if against else {}
    head = f"{device['name']}, compute capability {device['major']}.{device['minor']}"
    gaps = [f"{gap.path} ({gap.benchmark}): {gap.why}" for gap in calibration.gaps]
    return spaced(
        [
            _repeats(repeats) if repeats else None,
            _differences(against, compared.values()) if against else None,
            section(head, _numbers(calibration.findings, against, compared)),
            section("Missing", bullets(gaps)) if gaps and not brief else None,
            section("Remarks", bullets(calibration.remarks))
            if calibration.remarks and not brief
            else None,
            Text(f"{len(gaps)} numbers are missing") if gaps and brief else None,
        ]
    )


def _repeats(repeats: Repeats) -> RenderableType:
    apart = repeats.apart()
    lost = [
        f"{path}: one measurement has it" for path in (*repeats.only_first, *repeats.only_second)
    ]
    head = (
        f"{len(repeats.numbers) - len(apart)} of {len(repeats.numbers)} numbers have come back "
        f"within {TOLERANCE:.0%}"
    )
    lines = [f"{one.path}: x {one.ratio:.3f}, {one.first:.4g} {one.unit} before" for one in apart]
    return section(head, bullets([*lines, *lost])) if lines or lost else Text(head)


def _differences(against: Machine, compared: Iterable[Comparison]) -> RenderableType:
    """The largest first, each with the source of the machine's number."""
    ordered = sorted(compared, key=lambda c: max(c.ratio, 1 / c.ratio), reverse=True)
    differing = [c for c in ordered if c.differs]
    if not ordered:
        return Text(f"{against.name} has none of these numbers")
    if not differing:
        return Text(f"Nothing differs from {against.name} by more than {DIFFERS:.0%}")
    lines = [
        f"{c.path}: x {c.ratio:.2f}; {against.name} has {c.stated.value:.4g} {c.stated.unit}, "
        f"{c.stated.kind.value}: {shortened(c.stated.source)}"
        for c in differing
    ]
    return section(f"Differs from {against.name} by more than {DIFFERS:.0%}", bullets(lines))


def shortened(source: str) -> str:
    """A source without what it has in brackets, cut between words."""
    plain = re.sub(r"\s*\([^()]*\)", "", source)
    return textwrap.shorten(plain, _SOURCE_WIDTH, placeholder=" ...")


def _numbers(
    findings: Iterable[Finding], against: Machine | None, compared: Mapping[str, Comparison]
) -> Table:
    theirs = (against.name, "ratio") if against else ()
    names = ("number", "value", *theirs, "unit", "kind", "residual")
    table = columns(*names, left=("number", "unit", "kind"))
    for finding in findings:
        quantity = finding.quantity
        other = compared.get(finding.path)
        pair = (f"{other.stated.value:.4g}", f"{other.ratio:.2f}") if other else ("", "")
        table.add_row(
            finding.path,
            f"{quantity.value:.4g}",
            *(pair if against else ()),
            quantity.unit,
            quantity.kind.value,
            "" if quantity.kind is Kind.STATED else f"{finding.residual:.2%}",
        )
    return table


def comparison_table(calibration: Calibration, against: Machine) -> str:
    """Every number beside the machine's own and its source: a table in Markdown."""
    compared = compare_with(calibration, against)
    heads = (
        "number",
        "measured",
        "residual",
        against.name,
        "ratio",
        "unit",
        "source of its number",
    )
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|---|---|"]
    for finding in calibration.findings:
        quantity, other = finding.quantity, compared.get(finding.path)
        residual = "" if quantity.kind is Kind.STATED else f"{finding.residual:.1%}"
        theirs = (f"{other.stated.value:.4g}", f"{other.ratio:.2f}") if other else ("", "")
        source = f"{other.stated.kind.value}: {shortened(other.stated.source)}" if other else ""
        measured = f"{quantity.value:.4g}"
        cells = (finding.path, measured, residual, *theirs, quantity.unit, source)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def calibration_dict(
    calibration: Calibration, against: Machine | None = None, repeats: Repeats | None = None
) -> dict[str, Any]:
    """The same as a plain dictionary, with sources."""
    compared = compare_with(calibration, against) if against else {}
    document: dict[str, Any] = {
        "schema": "kernelcast/calibration/1",
        "device": dict(calibration.raw.device),
        "quantities": {f.path: _quantity(f, compared) for f in calibration.findings},
        "missing": {g.path: {"benchmark": g.benchmark, "why": g.why} for g in calibration.gaps},
        "remarks": list(calibration.remarks),
    }
    if against:
        differing = [path for path, comparison in compared.items() if comparison.differs]
        document["against"] = {"machine": against.name, "differing": differing}
    if repeats:
        document["repeat"] = {
            "tolerance": TOLERANCE,
            "ratios": {one.path: one.ratio for one in repeats.numbers},
            "apart": [one.path for one in repeats.apart()],
            "missing": [*repeats.only_first, *repeats.only_second],
        }
    return document


def _quantity(finding: Finding, compared: Mapping[str, Comparison]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "value": finding.quantity.value,
        "unit": finding.quantity.unit,
        "kind": finding.quantity.kind.value,
        "residual": finding.residual,
        "benchmark": finding.benchmark,
        "source": finding.quantity.source,
    }
    if other := compared.get(finding.path):
        stated = other.stated
        found["against"] = {
            "value": stated.value,
            "kind": stated.kind.value,
            "source": stated.source,
            "ratio": other.ratio,
        }
    return found
