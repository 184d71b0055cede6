"""Performance models: a case goes in, a prediction comes out.

A module of this package holds one model, and the module's stem with hyphens is the model's name.
What models share lies in `terms`.
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast, get_type_hints

import msgspec

from kernelcast.errors import InputError, NotFoundError
from kernelcast.models.terms.base import Model
from kernelcast.models.terms.parameters import TEXT_TYPES


@cache
def model_names() -> tuple[str, ...]:
    """Names of all models, in alphabetical order; imports none of them."""
    files = Path(__file__).parent.glob("[!_]*.py")
    return tuple(sorted(file.stem.replace("_", "-") for file in files))


def default_model_name() -> str:
    """The model used where none is asked for; `docs/models/auto.md` says why."""
    return "auto"


def fast_model_name() -> str:
    """The model used where none is asked for and thousands of launches are forecast."""
    return "volkov"


def load_model(name: str, **parameters: Any) -> Model:
    """The model of this name with some of its parameters set.

    Raises
    ------
    NotFoundError
        If no model has the name, or the model has no such parameter; carries the nearest ones.
    InputError
        If a parameter cannot have the value.
    """
    kind = _model_class(name)
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for parameter in parameters:
        if parameter not in known:
            raise NotFoundError(f"parameter of model {name}", parameter, known)
    return kind(**parameters)


def read_model(text: str) -> Model:
    """The model that `NAME[:PARAMETER=VALUE...]` asks for; raises as `load_model` does.

    `mwp-cwp:comp_over_mem_equation=23` is the model of Hong and Kim with its equation 23.
    """
    name, *settings = text.split(":")
    kind = _model_class(name)
    parameters: dict[str, Any] = {}
    for setting in settings:
        parameter, equals, value = setting.partition("=")
        if not equals:
            raise InputError(
                f"{setting!r} sets no parameter", where=text, hint=f"write {name}:PARAMETER=VALUE"
            )
        parameters[parameter] = _from_text(kind, parameter, value, text)
    return load_model(name, **parameters)


def _from_text(kind: type[Model], parameter: str, value: str, where: str) -> object:
    """A parameter's value of its own type; as text where it has no such parameter."""
    wanted = get_type_hints(kind).get(parameter, str)
    if wanted not in TEXT_TYPES:
        raise InputError(
            f"{parameter} cannot be given as text", where=where, hint="set it from Python"
        )
    try:
        return msgspec.convert(value, wanted, strict=False)
    except msgspec.ValidationError:
        raise InputError(
            f"{parameter} is {TEXT_TYPES[wanted]}, not {value!r}", where=where
        ) from None


def _model_class(name: str) -> type[Model]:
    if name not in model_names():
        raise NotFoundError("model", name, model_names())
    module = import_module(f"kernelcast.models.{name.replace('-', '_')}")
    for _, member in inspect.getmembers(module, inspect.isclass):
        if member.__module__ == module.__name__ and getattr(member, "name", None) == name:
            return cast("type[Model]", member)
    raise TypeError(f"{module.__name__} defines no model named {name}")
