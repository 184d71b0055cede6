"""Models as a list."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from kernelcast.reporting.documents.models import ModelsDocument
from kernelcast.reporting.layout import columns


def render(document: ModelsDocument, *, brief: bool) -> RenderableType:
    """One line per model."""
    table = columns("model", "", "title", left=("model", "", "title"))
    for model in document.models:
        default = "default" if model.name == document.default else ""
        table.add_row(model.name, default, Text(model.title))
    return table
