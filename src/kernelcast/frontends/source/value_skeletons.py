"""What to write for a struct or a texture, whose values are never constants of the source."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.frontends.source.folding import Folded, open_name
from kernelcast.frontends.source.image_reads import ImageRead
from kernelcast.ir.value_types import PointerType, ScalarType, SequenceType, StructType, ValueType

_IMAGES = {
    "cudaTextureObject_t": "texture",
    "CUtexObject": "texture",
    "cudaSurfaceObject_t": "surface",
    "CUsurfObject": "surface",
}


_EXTENTS = {"1d": ("width",), "2d": ("height", "width"), "3d": ("depth", "height", "width")}


def is_image(type_: str) -> bool:
    """Whether a type is that of a texture or surface."""
    return type_ in _IMAGES


def image_skeleton(label: str, type_: str, read: ImageRead) -> Folded:
    """A texture or a surface that is read so, with open extents."""
    word = _IMAGES[type_]

    def extent(name: str) -> Folded:
        return open_name(f"{label}_{name}", f"{name} of {word} {label}")

    if read.shape == "cube":
        cubes, size = extent("cubes"), extent("size")
        faces = f"6 * {cubes.text}" if read.is_layered else "6"
        parts, lengths = [cubes] * read.is_layered + [size], [faces, size.text, size.text]
    else:
        names = ("layers",) * read.is_layered + _EXTENTS[read.shape]
        parts = [extent(name) for name in names]
        lengths = [part.text for part in parts]
    lengths += [str(read.channels)] * (read.channels > 1)
    words = ", ".join([read.shape] + ["layered"] * read.is_layered)
    return _joined(f"{read.element}[{', '.join(lengths)}] {word}({words})", parts)


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
