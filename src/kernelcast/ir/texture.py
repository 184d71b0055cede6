"""What reads by coordinates know of a texture or surface: a descriptor for each of its levels.

On a GPU the driver makes them, in a layout of its own that code cannot see. Here they stand among
the parameters, and what a kernel is given is the place of the first; little endian, with the
innermost dimension called x. `OFFSETS` says where each number is.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import astuple, dataclass

DESCRIPTOR_BYTES = 96
"""Of one level of detail; the levels of a texture follow each other."""

MOST_LEVELS = 16
"""Of a texture of 32,768 texels along a dimension (CUDA C++ Programming Guide, table of limits)."""

OFFSETS: Mapping[str, int] = {
    "base": 0,  # 64 bits, as the next two
    "pitch": 8,
    "slice": 16,
    "x": 24,
    "y": 28,
    "z": 32,
    "texel_bytes": 36,
    "bits": 40,
    "kind": 44,
    "is_linear": 48,
    "is_normalized": 52,
    "modes": 56,
    "reads_fraction": 60,
    "levels": 64,
    "is_linear_between": 68,
    "bias": 72,  # floats, as the next two
    "least": 76,
    "most": 80,
}
FLOAT, UNSIGNED, SIGNED = range(3)
"""Kinds of channels."""

MODES = ("clamp", "border", "wrap", "mirror")
"""What stands beyond the edge, by number; a byte for every dimension, x the lowest."""

CUBE_FACES = 6

_LAYOUT = struct.Struct("<QQQ12I3f12x")


@dataclass(frozen=True, slots=True)
class TextureLayout:
    """Where the texels of a level are, bytes from row to row and slice to slice, how many there are
    in every dimension (0 where it has none), how long each is and its channels, and how they are
    read.

    Layers are slices, as are the faces of a cube, and `z` is how many there are. `levels` is how
    many levels of detail there are from this one on, the one that is read being between `least`
    and `most` after `bias` is added, or two of them mixed where the texture `is_linear_between`.
    """

    base: int
    pitch: int
    slice: int
    x: int
    y: int
    z: int
    texel_bytes: int
    bits: int
    kind: int
    is_linear: int
    is_normalized: int
    modes: int
    reads_fraction: int
    levels: int = 1
    is_linear_between: int = 0
    bias: float = 0.0
    least: float = 0.0
    most: float = float(MOST_LEVELS)

    def pack(self) -> bytes:
        """The descriptor."""
        return _LAYOUT.pack(*astuple(self))
