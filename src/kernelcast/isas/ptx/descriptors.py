"""Descriptors of matrices in shared memory (PTX ISA 9.0, section 9.7.15.5.1.2).

A matrix is read in *units* of 16 bytes. Units next to each other along the depth make up the lines
of a matrix stored by depth, one line for every row of a or column of b; of a matrix stored across,
lines are of equal depth. Eight lines of one, two, four or eight units, as the swizzling mode says,
are a *tile* without gaps; tiles lie one stride apart for the next eight lines, and the other stride
for the next units of the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNIT_BYTES = 16
_TILE_LINES = 8
ADDRESS_BITS = 14
"""Addresses and strides count units, with as many bits."""

LEADING_SHIFT = 16
STRIDE_SHIFT = 32
BASE_SHIFT = 49
MODE_SHIFT = 62
_TILE_UNITS = (1, 8, 4, 2)
"""Units of a line of a tile, by swizzling mode."""

ROW_SHIFT = 7
"""Swizzling exchanges units within 128 bytes, by the number of these 128 bytes."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The 64 bits of a descriptor."""

    bits: int

    @property
    def start(self) -> int:
        """The address of the first unit."""
        return self._bytes(0)

    @property
    def tile_units(self) -> int:
        """Units of a line of a tile; 1 where nothing is swizzled."""
        return _TILE_UNITS[self.bits >> MODE_SHIFT & 3]

    @property
    def base(self) -> int:
        """The number of the 128 bytes with which the swizzled pattern begins."""
        return self.bits >> BASE_SHIFT & 7

    def strides(self, *, across: bool) -> tuple[int, int]:
        """Bytes to the tile of the next eight lines, and to that of the next units.

        They change places in a matrix that is stored across and not swizzled.
        """
        leading, stride = self._bytes(LEADING_SHIFT), self._bytes(STRIDE_SHIFT)
        return (leading, stride) if across and self.tile_units == 1 else (stride, leading)

    def addresses(
        self, lines: NDArray[np.int64], units: NDArray[np.int64], *, across: bool
    ) -> NDArray[np.int64]:
        """Where units of lines are."""
        wide = self.tile_units
        next_lines, next_units = self.strides(across=across)
        within = lines % _TILE_LINES * wide + units % wide
        tiles = lines // _TILE_LINES * next_lines + units // wide * next_units
        address: NDArray[np.int64] = self.start + within * UNIT_BYTES + tiles
        pattern = (address >> ROW_SHIFT) - self.base & wide - 1
        found: NDArray[np.int64] = address ^ pattern * UNIT_BYTES
        return found

    def _bytes(self, shift: int) -> int:
        return (self.bits >> shift & (1 << ADDRESS_BITS) - 1) * UNIT_BYTES
