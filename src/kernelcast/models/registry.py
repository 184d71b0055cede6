"""Models by name: a module of this package holds one, and its stem with hyphens is the name."""

from __future__ import annotations

import inspect
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from kernelcast.errors import NotFoundError
from kernelcast.models.base import Model


@cache
def model_names() -> tuple[str, ...]:
    """Names of all models, in alphabetical order; reads their modules and imports none of them.

    Other modules of the package are parts that models are made of.
    """
    names = {file: file.stem.replace("_", "-") for file in Path(__file__).parent.glob("*.py")}
    return tuple(
        sorted(
            name
            for file, name in names.items()
            if f'name: ClassVar[str] = "{name}"' in file.read_text(encoding="utf-8")
        )
    )


def default_model_name() -> str:
    """The model used where none is asked for; `docs/models/volkov.md` says why."""
    return "volkov"


def load_model(name: str, **parameters: Any) -> Model:
    """The model of this name with some of its parameters set.

    Raises
    ------
    NotFoundError
        If no model has the name, or the model has no such parameter; carries the nearest ones.
    """
    kind = _model_class(name)
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for parameter in parameters:
        if parameter not in known:
            raise NotFoundError(f"parameter of model {name}", parameter, known)
    return kind(**parameters)


def _model_class(name: str) -> type[Model]:
    if name not in model_names():
        raise NotFoundError("model", name, model_names())
    module = import_module(f"kernelcast.models.{name.replace('-', '_')}")
    for _, member in inspect.getmembers(module, inspect.isclass):
        if member.__module__ == module.__name__ and getattr(member, "name", None) == name:
            return cast("type[Model]", member)
    raise TypeError(f"{module.__name__} defines no model named {name}")
