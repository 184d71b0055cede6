"""Large arrays that are filled by pieces, each when it is first looked at."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.fills import PIECE_BYTES, fill_piece, pieces_of
from kernelcast.ir import Array


@dataclass(frozen=True)
class _PiecedArray:
    """An array from an address on, its elements, and by piece whether it is filled."""

    address: int
    array: Array
    elements: NDArray[Any]
    filled: NDArray[np.uint8]


class PiecedArrays:
    """The arrays of a workload that are filled by pieces."""

    def __init__(self) -> None:
        self._arrays: dict[int, _PiecedArray] = {}
        self._lock = threading.Lock()

    def add(self, address: int, array: Array, elements: NDArray[Any]) -> None:
        """Take an array in. LaunchError where its fill does not fit its type."""
        filled = np.zeros(pieces_of(array), np.uint8)
        fill_piece(elements, array, 0)
        filled[0] = 1
        self._arrays[address] = _PiecedArray(address, array, elements, filled)

    def fill(self, address: int, size_bytes: int) -> None:
        """Fill the pieces between two addresses that are not filled yet."""
        for held in self._arrays.values():
            start = max(address - held.address, 0)
            end = min(address - held.address + size_bytes, held.array.size_bytes)
            if start >= end:
                continue
            with self._lock:
                first, last = start // PIECE_BYTES, (end - 1) // PIECE_BYTES
                for piece in np.flatnonzero(held.filled[first : last + 1] == 0) + first:
                    fill_piece(held.elements, held.array, int(piece))
                    held.filled[piece] = 1

    def filled(self, address: int) -> NDArray[np.uint8] | None:
        """Of the array at an address, by piece whether it is filled; None where all is."""
        held = self._arrays.get(address)
        return None if held is None or held.filled.all() else held.filled
