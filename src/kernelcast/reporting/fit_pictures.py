"""Every fit of a calibration as a picture, and all of them as one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kernelcast.calibration.calibrate import Calibration, Finding, Gap
from kernelcast.calibration.picture import Picture
from kernelcast.errors import InputError
from kernelcast.reporting.svg import Chart, Line, Mark, write_svg

TABLE = "fits.md"


def fit_charts(calibration: Calibration) -> Iterator[tuple[str, Chart]]:
    """Numbers and their charts: first those that were found, then those whose fit was refused."""
    for finding in calibration.findings:
        if finding.picture is not None:
            quantity = finding.quantity
            title = f"{finding.path}: {quantity.value:.4g} {quantity.unit}, residual "
            yield finding.path, _chart(f"{title}{finding.residual:.2%}", finding.picture)
    for gap in calibration.gaps:
        if gap.picture is not None:
            yield gap.path, _chart(f"{gap.path}, refused: {gap.why}", gap.picture)


def _chart(title: str, picture: Picture) -> Chart:
    return Chart(
        title,
        picture.x_label,
        picture.y_label,
        tuple(Line(c.label, c.points, dashed=c.is_fit) for c in picture.curves),
        () if picture.mark is None else (Mark(*picture.mark),),
        picture.is_logarithmic,
    )


def fits_table(calibration: Calibration) -> str:
    """What was fitted to what, how well, and what was not: Markdown that shows the pictures."""
    found = [_row(f) for f in calibration.findings if f.picture is not None]
    missing = [_gap_row(g) for g in calibration.gaps]
    lines = [
        f"# Fits of {calibration.raw.device['name']}, {calibration.raw.date[:10]}",
        "",
        "| number | value | unit | residual | benchmark | fit |",
        "|---|---|---|---|---|---|",
        *found,
    ]
    if missing:
        lines += ["", "| missing | benchmark | why |", "|---|---|---|", *missing]
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    quantity = finding.quantity
    cells = (
        f"[{finding.path}]({finding.path}.svg)",
        f"{quantity.value:.5g}",
        quantity.unit,
        f"{finding.residual:.2%}",
        finding.benchmark,
        finding.method,
    )
    return f"| {' | '.join(cells)} |"


def _gap_row(gap: Gap) -> str:
    name = gap.path if gap.picture is None else f"[{gap.path}]({gap.path}.svg)"
    return f"| {name} | {gap.benchmark} | {gap.why} |"


def write_fit_pictures(calibration: Calibration, directory: Path) -> tuple[Path, ...]:
    """One SVG file for every fit, and the table; InputError where the folder cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        table = directory / TABLE
        table.write_text(fits_table(calibration), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise InputError(
            f"cannot be written: {reason}", where=str(directory), hint="name another folder"
        ) from error
    files = [table]
    for path, chart in fit_charts(calibration):
        files.append(directory / f"{path}.svg")
        write_svg(files[-1], [chart])
    return tuple(files)
