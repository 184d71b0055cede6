"""A page's document as text: what is said together, then every result in depth."""

from __future__ import annotations

from rich.console import RenderableType

from kernelcast.reporting.documents.report import ReportDocument
from kernelcast.reporting.layout import spaced
from kernelcast.reporting.text import compare, explain, predict
from kernelcast.reporting.text.end_to_end import render_end_to_end


def render(document: ReportDocument, *, brief: bool) -> RenderableType:
    """The views of its parts, one below the other; `brief` keeps the first."""
    parts: list[RenderableType] = []
    if document.together is not None:
        parts.append(predict.render(document.together, brief=brief))
    if document.versions is not None:
        parts.append(compare.render(document.versions, brief=brief))
    parts += [explain.render(one, brief=brief) for one in document.explained]
    if document.together is None:
        parts += map(render_end_to_end, document.end_to_end)
    return spaced(parts[:1] if brief else parts)
