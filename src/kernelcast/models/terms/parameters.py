"""The parameters of a model: its fields, with what they mean."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, ClassVar, Protocol, get_type_hints

TEXT_TYPES: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
"""Types of parameters that can be given as text, in words."""

_ONLY_PYTHON = "set from Python"


class Parametrised(Protocol):
    """A frozen dataclass with a name, as every model is."""

    name: ClassVar[str]


@dataclass(frozen=True, slots=True)
class ModelParameter:
    """One field of a model: `type` in words, `meaning` the first sentence of the docstring."""

    name: str
    type: str
    default: object
    value: object
    meaning: str

    @property
    def is_set(self) -> bool:
        """Whether the value is another than the default."""
        return self.value != self.default


def parameters(model: Parametrised) -> tuple[ModelParameter, ...]:
    """All parameters of a model in the order of its fields."""
    kind: Any = type(model)
    types, meanings = get_type_hints(kind), _meanings(kind)
    return tuple(
        ModelParameter(
            f.name,
            TEXT_TYPES.get(types[f.name], _ONLY_PYTHON),
            _default(f),
            getattr(model, f.name),
            meanings.get(f.name, ""),
        )
        for f in fields(kind)
    )


def model_label(model: Parametrised) -> str:
    """The model's name and those of its parameters that are set, as `--model` takes them:
    `mwp-cwp:comp_over_mem_equation=23`."""
    chosen = (f"{p.name}={_text(p.value)}" for p in parameters(model) if p.is_set)
    return ":".join((model.name, *chosen))


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _text(value: object) -> str:
    """A value as it is typed; one that cannot be typed by its kind."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if type(value) in TEXT_TYPES else type(value).__name__


def _meanings(kind: type[Parametrised]) -> dict[str, str]:
    """The first sentence of every entry under `Parameters` in the class's docstring."""
    _, _, section = (inspect.getdoc(kind) or "").partition("\nParameters\n----------\n")
    found = {}
    for names, text in re.findall(r"^(\w[\w, ]*):\n((?:[ ]{4}.*\n?)+)", section, re.MULTILINE):
        sentence = re.split(r"(?<=[.])\s", " ".join(text.split()))[0].rstrip(".")
        found.update(dict.fromkeys(names.split(", "), sentence))
    return found
