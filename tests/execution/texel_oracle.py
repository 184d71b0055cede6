"""What textures hold and what reads of them give, by the equations of the programming guide, one
point after the other: in NumPy."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from kernelcast.execution.fills import ELEMENT_TYPES, fill_array
from kernelcast.frontends.arguments import parse_argument
from kernelcast.ir import Texture

Point = Any
"""Coordinates, x first: a list, or an array of NumPy."""


def parsed(written: str) -> Texture:
    """A texture as it is written."""
    texture = parse_argument(written, {}, where="t")
    assert isinstance(texture, Texture)
    return texture


def texels(texture: Texture, level: int = 0, layer: int = 0) -> np.ndarray:
    """A layer of a level as the fills make it, as [z, y, x, channel]."""
    array = texture.held
    flat = np.zeros(array.elements, ELEMENT_TYPES[array.type])
    fill_array(flat, array)
    sizes = [
        np.prod(texture.extents(n)) * texture.layers * texture.channels
        for n in range(texture.levels)
    ]
    start = sum(sizes[:level])
    whole = flat[start : start + sizes[level]].reshape(texture.layers, -1)
    extents = ((1,) * 3 + texture.extents(level))[-3:]
    return whole[layer].reshape(*extents, texture.channels)


def read(texture: Texture, point: Point, *, level: float = 0, layer: int = 0) -> np.ndarray:
    """The four channels at a point."""
    level = min(max(level, 0), texture.levels - 1)
    layer = min(layer, texture.layers - 1)
    if not texture.is_linear_between:
        return _read_level(texture, point, int(np.floor(level + 0.5)), layer)
    upper = int(np.floor(level))
    share = np.floor((level - upper) * 256 + 0.5) / 256
    lower = min(upper + 1, texture.levels - 1)
    above, below = (_read_level(texture, point, n, layer) for n in (upper, lower))
    return above + share * (below - above)


def read_cube(
    texture: Texture, direction: Point, *, level: float = 0, layer: int = 0
) -> np.ndarray:
    """The four channels where a direction meets a cube (table of the guide's cubemap textures)."""
    face, s, t = on_face(direction)
    faces = replace(texture, mode="clamp")
    return read(faces, [s, t], level=level, layer=6 * layer + face)


def on_face(direction: Point) -> tuple[int, float, float]:
    """The face that a direction meets, and the place on it."""
    x, y, z = direction
    axis = int(np.argmax(np.abs(direction)))
    negative = bool(direction[axis] < 0)
    m = abs(direction[axis])
    s, t = [
        [(-z, -y), (z, -y)],
        [(x, z), (x, -z)],
        [(x, -y), (-x, -y)],
    ][axis][negative]
    return 2 * axis + negative, (s / m + 1) / 2, (t / m + 1) / 2


def gather(texture: Texture, point: Point, channel: int, *, layer: int = 0) -> np.ndarray:
    """A channel of the four texels around a point, from the lower left on against the clock."""
    held = texels(texture, layer=min(layer, texture.layers - 1))[0, :, :, channel]
    height, width = held.shape
    x, y = (int(np.floor(np.floor((c - 0.5) * 256 + 0.5) / 256)) for c in point)
    corners = [(x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y)]
    inside = [(min(max(a, 0), width - 1), min(max(b, 0), height - 1)) for a, b in corners]
    return np.array([held[b, a] for a, b in inside])


def _read_level(texture: Texture, point: Point, level: int, layer: int) -> np.ndarray:
    data = texels(texture, level, layer)
    values = data.astype(np.float64)
    if texture.normalized_float:
        values = np.maximum(values / np.iinfo(data.dtype).max, -1)
    extents = data.shape[2::-1][: texture.rank]
    axes = [_along(texture, float(c), n) for c, n in zip(point, extents, strict=True)]
    total = np.zeros(texture.channels)
    for corner in product(*axes):
        weight = np.prod([w for _, w in corner])
        x, y, z = ([at for at, _ in corner] + [0, 0])[:3]
        if None not in (x, y, z):
            total += weight * values[z, y, x]
    found = np.array([0.0, 0, 0, 1])
    found[: texture.channels] = total
    return found


def _along(texture: Texture, c: float, extent: int) -> list[tuple[int | None, float]]:
    """The texels of one dimension and their weights."""
    if texture.normalized_coordinates:
        if texture.mode == "wrap":
            c -= np.floor(c)
        elif texture.mode == "mirror":
            whole = np.floor(c)
            c = 1 - (c - whole) if int(whole) % 2 else c - whole
        c = float(np.float32(c) * np.float32(extent))
    if not texture.is_linear:
        return [(_inside(texture, int(np.floor(c)), extent), 1.0)]
    c -= 0.5
    whole = int(np.floor(c))
    a = np.floor((c - whole) * 256 + 0.5) / 256
    return [(_inside(texture, whole, extent), 1 - a), (_inside(texture, whole + 1, extent), a)]


def _inside(texture: Texture, at: int, extent: int) -> int | None:
    if texture.mode == "border":
        return at if 0 <= at < extent else None
    if texture.mode == "wrap" and texture.normalized_coordinates:
        return at % extent
    return min(max(at, 0), extent - 1)
