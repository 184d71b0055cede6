"""What all documents share: the types of their numbers, and how they become JSON."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Extents = Annotated[list[Positive], Meta(min_length=3, max_length=3)]


def as_json(document: Struct) -> dict[str, Any]:
    """A document as `json.dumps` takes it: its fields as they are, null for what has no figure."""
    built: dict[str, Any] = _finite(msgspec.to_builtins(document, enc_hook=_plain))
    return built


def json_pieces(document: Struct, field: str, items: Iterable[Struct]) -> Iterator[bytes]:
    """The JSON text of a document whose list `field`, which is empty, holds `items`.

    They are taken one after the other, so that no more than one of them need be there at a time.
    """
    empty = f'"{field}": []'.encode()
    before, after = _indented(document).split(empty, 1)
    yield before + empty[:-1]
    separator = b"\n    "
    for item in items:
        yield separator + _indented(item).replace(b"\n", b"\n    ")
        separator = b",\n    "
    yield (b"" if separator.startswith(b"\n") else b"\n  ") + b"]" + after + b"\n"


def _indented(value: Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=_plain), indent=2)


def json_schema(document: type[Struct], name: str, title: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a kind of document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "title": title,
        **_undented(msgspec.json.schema(document)),
    }


def _undented(value: Any) -> Any:
    """A schema whose descriptions are without the indents of docstrings, which msgspec before 0.23
    leaves in."""
    if isinstance(value, dict):
        return {
            key: inspect.cleandoc(v)
            if key == "description" and isinstance(v, str)
            else _undented(v)
            for key, v in value.items()
        }
    return [_undented(v) for v in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """A number of NumPy, which msgspec does not know, as one of Python."""
    if not hasattr(value, "item"):
        raise NotImplementedError(f"{type(value).__name__} in a document")
    return value.item()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value
