"""What copies of tiles know of a tensor: the 128 bytes of a tensor map.

On a GPU the driver makes them, in a layout of its own that code cannot see. Here they are, little
endian, with dimensions from the innermost one on:

    0    4 bytes  a mark
    4    u8       dimensions
    5    u8       bytes of an element
    6    u8       bytes within which chunks of 16 trade places in shared memory, 0 for none
    8    u32      bytes of the box
    16   u64      address of the tensor
    24   5 x u32  elements in every dimension
    44   5 x u16  elements of the box in every dimension
    56   4 x u64  bytes from one element to the next in every dimension but the first
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

TENSOR_MAP_BYTES = 128
BOX_BYTES_AT = 8
MAX_RANK = 5

_MARK = b"tile"
_LAYOUT = struct.Struct("<4sBBBxI4xQ5I5H2x4Q")


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor in global memory and the box that a copy moves, innermost dimension first.

    `strides_bytes` has one entry less than the others. Rows of the box have `swizzle_bytes` bytes
    where that is not 0.
    """

    address: int
    element_bytes: int
    extents: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle_bytes: int = 0

    @property
    def box_bytes(self) -> int:
        """What a copy brings to shared memory."""
        return math.prod(self.box) * self.element_bytes

    def pack(self) -> bytes:
        """The tensor map."""
        packed = _LAYOUT.pack(
            _MARK,
            len(self.extents),
            self.element_bytes,
            self.swizzle_bytes,
            self.box_bytes,
            self.address,
            *_padded(self.extents, MAX_RANK),
            *_padded(self.box, MAX_RANK),
            *_padded(self.strides_bytes, MAX_RANK - 1),
        )
        return packed.ljust(TENSOR_MAP_BYTES, b"\0")


def unpack(packed: bytes) -> TensorLayout | None:
    """What a tensor map says; None where the bytes are none."""
    if len(packed) < TENSOR_MAP_BYTES or packed[: len(_MARK)] != _MARK:
        return None
    _, rank, element_bytes, swizzle_bytes, _, address, *rest = _LAYOUT.unpack_from(packed)
    return TensorLayout(
        address=address,
        element_bytes=element_bytes,
        extents=tuple(rest[:rank]),
        strides_bytes=tuple(rest[2 * MAX_RANK : 2 * MAX_RANK + rank - 1]),
        box=tuple(rest[MAX_RANK : MAX_RANK + rank]),
        swizzle_bytes=swizzle_bytes,
    )


def _padded(numbers: tuple[int, ...], count: int) -> tuple[int, ...]:
    return (*numbers, *(0,) * (count - len(numbers)))
