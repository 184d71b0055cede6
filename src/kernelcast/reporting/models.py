"""Models as a list and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kernelcast.models.base import Model


def render_models(models: Sequence[Model], default: str) -> RenderableType:
    """One line per model."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("model", "", "title"):
        table.add_column(name)
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
            body = Group(*(Text(f"- {text}") for text in texts))
            parts += [Text(title, style="bold"), Padding(body, (0, 0, 0, 2))]
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
