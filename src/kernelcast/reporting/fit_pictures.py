"""Every fit of a calibration as a picture in a folder, and all of them as one table."""

from __future__ import annotations

from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.reporting.charts import fit_charts
from kernelcast.reporting.documents.fits import FitsDocument
from kernelcast.reporting.svg import write_svg
from kernelcast.reporting.text.fits import render

TABLE = "fits.md"


def write_fit_pictures(document: FitsDocument, directory: Path) -> tuple[Path, ...]:
    """One SVG file for every fit, and the table; InputError where the folder cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        table = directory / TABLE
        table.write_text(render(document, brief=False), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise InputError(
            f"cannot be written: {reason}", where=str(directory), hint="name another folder"
        ) from error
    files = [table]
    for path, chart in fit_charts(document):
        files.append(directory / f"{path}.svg")
        write_svg(files[-1], [chart])
    return tuple(files)
