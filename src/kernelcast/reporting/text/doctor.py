"""What an installation can and cannot do."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from kernelcast.reporting.documents.doctor import DoctorDocument
from kernelcast.reporting.layout import columns


def render(document: DoctorDocument, *, brief: bool) -> RenderableType:
    """One line per part, with advice where it does not work."""
    names = ("part", "state", "detail")
    table = columns(*names, left=names)
    table.columns[2].no_wrap = False
    for finding in document.findings:
        state = Text("ok", style="green") if finding.works else Text("missing", style="red")
        advice = f"; {finding.advice}" if finding.advice else ""
        table.add_row(finding.part, state, Text(finding.detail + advice))
    return table
