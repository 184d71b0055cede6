"""What reads by coordinates know of a texture or surface: the 64 bytes of a descriptor.

On a GPU the driver makes them, in a layout of its own that code cannot see. Here they stand among
the parameters, and what a kernel is given is their place there; little endian, with the innermost
dimension called x. `OFFSETS` says where each number is.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import astuple, dataclass

DESCRIPTOR_BYTES = 64
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
}
FLOAT, UNSIGNED, SIGNED = range(3)
"""Kinds of channels."""

MODES = ("clamp", "border", "wrap", "mirror")
"""What stands beyond the edge, by number; a byte for every dimension, x the lowest."""

_LAYOUT = struct.Struct("<QQQ10I")


@dataclass(frozen=True, slots=True)
class TextureLayout:
    """Where texels are, bytes from row to row and slice to slice, how many there are in every
    dimension (0 where it has none), how long each is and its channels, and how they are read."""

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

    def pack(self) -> bytes:
        """The descriptor."""
        return _LAYOUT.pack(*astuple(self))
