"""What to write for a struct or a texture, whose values are never constants of the source."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.frontends.source.folding import Folded, open_name
from kernelcast.ir.value_types import PointerType, ScalarType, SequenceType, StructType, ValueType

_IMAGES = {
    "cudaTextureObject_t": "texture",
    "CUtexObject": "texture",
    "cudaSurfaceObject_t": "surface",
    "CUsurfObject": "surface",
}


def image_skeleton(label: str, type_: str) -> Folded | None:
    """A texture or a surface of two dimensions with open extents; None for other types."""
    word = _IMAGES.get(type_)
    if word is None:
        return None
    height, width = (
        open_name(f"{label}_{extent}", f"{extent} of {word} {label}")
        for extent in ("height", "width")
    )
    return _joined(f"f32[{height.text}, {width.text}] {word}(2d)", (height, width))


def struct_skeleton(path: str, type_: StructType) -> Folded:
    """A struct with all of its fields, each an open name or what it consists of.

    `path` is the argument's name, or with dots that of the field which is a struct.
    """
    fields = type_.fields[:1] if type_.is_union else type_.fields
    parts = [(each.name, _value(f"{path}.{each.name}", each.type)) for each in fields]
    text = ", ".join(f"{name}={part.text}" for name, part in parts)
    return _joined(f"{{{text}}}", [part for _, part in parts])


def _value(path: str, type_: ValueType) -> Folded:
    match type_:
        case ScalarType():
            return open_name(path, f"{path}, {type_}")
        case PointerType():
            element = type_.to.name if isinstance(type_.to, ScalarType) else "b8"
            length = open_name(f"{path}_length", f"elements of {path}")
            return _joined(f"{element}[{length.text}]", (length,))
        case SequenceType():
            one = _value(path, type_.of)
            return _joined(f"[{one.text}]*{type_.length}", (one,))
        case StructType():
            return struct_skeleton(path, type_)


def _joined(text: str, parts: Sequence[Folded]) -> Folded:
    opened = {name: why for part in parts for name, why in part.opened.items()}
    return Folded(text, None, False, opened)
