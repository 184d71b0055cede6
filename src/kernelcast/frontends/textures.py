"""Textures and surfaces as they are written: `texture(linear, border)` behind an array."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelcast.errors import InputError, NotFoundError
from kernelcast.frontends.expressions import Number, evaluate, split_expressions
from kernelcast.ir import Array, Texture
from kernelcast.ir.texture import CUBE_FACES, MODES

TEXTURE = re.compile(r"\b(texture|surface)\s*\(((?:[^()]|\([^()]*\))*)\)")
"""What a texture has and an array has not."""

_RANKS = {"1d": 1, "2d": 2, "3d": 3, "cube": 2}
_SHAPES = (*_RANKS, "layered", "levels(n)")
_READING = ("linear", "linear_between", "normalized_coordinates", "normalized_float")
_WORDS = (*_SHAPES, "point", *MODES, *_READING)
_LEVELS = re.compile(r"levels\s*\((.*)\)")
_EXAMPLE = 'write it like "f32[h, w] random(1) texture(linear, border)"'


def parse_texture(
    array: Array, kind: str, text: str, names: Mapping[str, Number], *, where: str
) -> Texture:
    """A texture or surface of an array by the words in its brackets.

    Raises InputError, and NotFoundError for a word that there is not.
    """
    words = [word for word in map(str.strip, split_expressions(text)) if word]
    levels = [found[1] for word in words if (found := _LEVELS.fullmatch(word))]
    words = [word for word in words if not _LEVELS.fullmatch(word)]
    if unknown := [word for word in words if word not in _WORDS]:
        raise NotFoundError("word of a texture", unknown[0], _WORDS, where=where)
    layered = "layered" in words
    given = [_RANKS[word] for word in words if word in _RANKS]
    texture = Texture(
        array,
        given[0] if given else len(array.shape) - layered,
        is_surface=kind == "surface",
        is_linear="linear" in words,
        mode=next((word for word in words if word in MODES), MODES[0]),
        normalized_coordinates="normalized_coordinates" in words or "cube" in words,
        normalized_float="normalized_float" in words,
        is_layered=layered,
        is_cube="cube" in words,
        levels=_count(levels[0], names, where) if levels else 1,
        is_linear_between="linear_between" in words,
    )
    ways = [word for word in words if word not in _SHAPES]
    if wrong := _wrong_shape(texture) or _wrong_reading(texture, ways):
        raise InputError(wrong, where=where, hint=_EXAMPLE)
    return texture


def _count(text: str, names: Mapping[str, Number], where: str) -> int:
    count = evaluate(text, names, where=where)
    if not isinstance(count, int) or count < 1:
        raise InputError(f"{count!r} levels", where=where, hint="give 1 or more")
    return count


def _wrong_shape(texture: Texture) -> str:
    """What is wrong with the dimensions, if anything."""
    array, rank = texture.array, texture.rank
    if not 1 <= rank <= 3 or len(array.shape) - texture.dimensions not in (0, 1):
        shape = "a cube" if texture.is_cube else f"{rank}d"
        layered = " with layers" if texture.is_layered else ""
        return f"{len(array.shape)} dimensions of an array read as {shape}{layered}"
    if texture.is_layered and rank == 3:
        return "layers of 3d"
    if texture.channels not in (1, 2, 4):
        return f"texels of {texture.channels} channels; there are 1, 2 or 4"
    if texture.is_cube:
        height, width = texture.extents(0)
        if height != width:
            return f"a cube with faces of {height} times {width}"
        if texture.layers % CUBE_FACES or (texture.layers > CUBE_FACES and not texture.is_layered):
            return f"a cube of {texture.layers} faces"
    most = max(texture.extents(0)).bit_length()
    if texture.levels > most:
        return f"{texture.levels} levels, the last of them below one texel: there are {most}"
    return ""


def _wrong_reading(texture: Texture, ways: list[str]) -> str:
    """What is wrong with how it is to be read, if anything."""
    type_ = texture.array.type
    is_real = type_.startswith("f") or texture.normalized_float
    if type_ in ("bf16", "b8", "b16", "b32", "b64", "u64", "s64", "f64"):
        return f"texels of {type_}"
    if texture.is_surface and (ways or texture.levels > 1):
        return "a surface with ways of reading" if ways else "a surface of several levels"
    if (texture.is_linear or texture.is_linear_between) and not is_real:
        return f"linear interpolation of {type_}"
    if texture.levels > 1 and not texture.normalized_coordinates:
        return "levels without normalized_coordinates"
    if texture.mode in ("wrap", "mirror") and not texture.normalized_coordinates:
        return f"{texture.mode} without normalized_coordinates"
    if texture.normalized_float and type_ not in ("u8", "s8", "u16", "s16"):
        return f"normalized_float of {type_}"
    return ""
