"""What all documents share: the types of their numbers, and how they become JSON."""

from __future__ import annotations

import math
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


def json_schema(document: type[Struct], name: str, title: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a kind of document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "title": title,
        **msgspec.json.schema(document),
    }


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
