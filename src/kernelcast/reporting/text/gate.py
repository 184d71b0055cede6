"""Bounds and what became of them: those that do not hold first."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from kernelcast.reporting.documents.gate import CheckPart, GateDocument
from kernelcast.reporting.layout import spaced

_STYLES = {"holds": "green", "broken": "bold red", "cannot tell": "bold yellow"}
_ORDER = ("broken", "cannot tell", "holds")


def render(document: GateDocument, *, brief: bool) -> RenderableType:
    """A line for each check, its causes below it; `brief` keeps the sums."""
    if brief:
        return _summary(document)
    ordered = sorted(document.checks, key=lambda check: _ORDER.index(check.status))
    return spaced([Group(*map(_check, ordered)), _summary(document)])


def _summary(document: GateDocument) -> Text:
    """How many checks hold, are broken, and cannot be told."""
    parts = [
        f"{count} {words}"
        for count, words in (
            (document.broken, "broken"),
            (document.untold, "that cannot be told"),
            (document.held, "held"),
        )
        if count
    ]
    return Text.assemble((document.status, _STYLES[document.status]), f": {', '.join(parts)}")


def _check(check: CheckPart) -> RenderableType:
    head = Text.assemble(
        (f"{check.status:<11}", _STYLES[check.status]),
        f" {place_words(check)}: {check.title} on {check.gpu}: {check.message}",
    )
    causes = [Padding(Text(f"- {cause}"), (0, 0, 0, 12)) for cause in check.causes]
    return Group(head, *causes)


def place_words(check: CheckPart) -> str:
    """`k.cu:12`, or the file where no line is known."""
    return check.file if check.line is None else f"{check.file}:{check.line}"
