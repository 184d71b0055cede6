"""Models as a list and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.models.terms.base import Model
from kernelcast.reporting.layout import bullets, columns, section


def render_models(models: Sequence[Model], default: str) -> RenderableType:
    """One line per model."""
    table = columns("model", "", "title", left=("model", "", "title"))
    for model in models:
        table.add_row(model.name, "default" if model.name == default else "", Text(model.title))
    return table


def render_model(model: Model) -> RenderableType:
    """A model's title, source, parameters and what it leaves out."""
    parts: list[RenderableType] = [
        Text.assemble((model.name, "bold"), ": ", model.title),
        Text(f"Source: {model.source}"),
    ]
    for title, texts in (
        ("Parameters", [f"{name} = {value}" for name, value in parameters(model).items()]),
        ("Not modelled", list(model.not_modelled)),
    ):
        if texts:
            parts.append(section(title, bullets(texts)))
    return Group(*parts)


def model_dict(model: Model) -> dict[str, Any]:
    """A model as a plain dictionary."""
    return {
        "name": model.name,
        "title": model.title,
        "source": model.source,
        "parameters": parameters(model),
        "not_modelled": list(model.not_modelled),
    }


def parameters(model: Model) -> dict[str, Any]:
    """A model's parameters with their values."""
    assert is_dataclass(model)
    values = {f.name: getattr(model, f.name) for f in fields(model)}
    return {
        name: value if isinstance(value, bool | int | float | None) else str(value)
        for name, value in values.items()
    }
