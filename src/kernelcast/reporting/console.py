"""Views on a terminal, with colours, or as plain text that reads the same without."""

from __future__ import annotations

import io
import os

from rich.console import Console, RenderableType

_PLAIN_WIDTH = 110
"""Columns where no terminal says how many it has."""


def render_for_output(view: RenderableType) -> str:
    """The view for standard output: coloured only on a terminal, and not where NO_COLOR is set."""
    console = Console(highlight=False)
    if not console.is_terminal:
        return plain_text(view, _plain_width())
    with console.capture() as captured:
        console.print(view)
    return captured.get().rstrip("\n")


def plain_text(view: RenderableType, width: int = _PLAIN_WIDTH) -> str:
    """The view as text without colours or trailing spaces."""
    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(view)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _plain_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) >= 40 else _PLAIN_WIDTH
