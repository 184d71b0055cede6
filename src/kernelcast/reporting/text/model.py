"""One model."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.model import ModelDocument, ParameterDescription
from kernelcast.reporting.layout import bullets, section


def render(document: ModelDocument, *, brief: bool) -> RenderableType:
    """A model's title, source, parameters and what it leaves out."""
    parts: list[RenderableType] = [
        Text.assemble((document.name, "bold"), ": ", document.title),
        Text(f"Source: {document.source}"),
    ]
    for title, texts in (
        ("Parameters", [_parameter(p) for p in document.parameter_descriptions]),
        ("Not modelled", document.not_modelled),
    ):
        if texts:
            parts.append(section(title, bullets(texts)))
    return Group(*parts)


def _parameter(parameter: ParameterDescription) -> str:
    """`contention = true (true or false): Let the latency of memory grow ...`."""
    default = parameter.default
    text = str(default).lower() if isinstance(default, bool | None) else str(default)
    return f"{parameter.name} = {text} ({parameter.type}): {parameter.meaning}"
