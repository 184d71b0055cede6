"""Versions of a kernel side by side."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.compare import CompareDocument
from kernelcast.reporting.figures import digits, seconds
from kernelcast.reporting.layout import columns, indented, spaced
from kernelcast.reporting.text.end_to_end import render_end_to_end
from kernelcast.reporting.text.predict import occupancy_words


def render(document: CompareDocument, *, brief: bool) -> RenderableType:
    """Which version is fastest, and their launches; `brief` keeps the first line only."""
    verdict = _verdict(document)
    if brief:
        return verdict
    wholes = [render_end_to_end(whole) for v in document.versions for whole in v.end_to_end]
    return spaced([Group(verdict, Text(), _table(document)), *wholes])


def _verdict(document: CompareDocument) -> Text:
    fastest, last = document.by_time[0], document.by_time[-1]
    (version,) = (v for v in document.versions if v.file == fastest)
    first = version.results[0]
    lead = f"{digits(document.lead)} times as fast as {Path(last).name}"
    return Text.assemble(
        (Path(fastest).name, "bold"),
        f" is fastest on {first.gpu}: {seconds(document.fastest_s)}, {lead}, "
        f"by {first.model_label}",
    )


def _table(document: CompareDocument) -> RenderableType:
    words = ("file", "launch", "model", "bound by", "occupancy")
    table = columns(*words[:3], "time", *words[3:], left=words)
    for version in document.versions:
        for r in version.results:
            repeat = r.launch.repeat
            table.add_row(
                Text(Path(version.file).name),
                Text(r.title + (f" x {repeat}" if repeat > 1 else "")),
                Text(r.model_label),
                seconds(r.time_s),
                str(r.bottleneck),
                occupancy_words(r),
            )
    return indented(table)
