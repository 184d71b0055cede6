"""The addresses of one instruction of a warp, as Accel-Sim's traces write them.

Of the active lanes alone, in one of three forms: 0 and every address; 1, the first address and a
stride in bytes, where the active lanes are consecutive; 2, the first address and the difference
from each lane to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from kernelcast.ir.sizes import WARP_LANES

_LIST, _STRIDE, _DELTAS = range(3)

_INT32 = range(-(1 << 31), 1 << 31)
_ADDRESSES = range(1 << 63)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Where the lanes' addresses lie, seen from that of the first active lane.

    `offsets` has one for every lane, 0 for inactive ones; `low` and `high` are the least and the
    greatest. `stride` is None where the addresses are not written with one.
    """

    offsets: tuple[int, ...]
    low: int
    high: int
    first: int
    stride: int | None


def write_addresses(mask: int, addresses: Sequence[int]) -> str:
    """The words of a line for the active lanes of `mask`, as the tracer chooses them."""
    lanes = _lanes(mask)
    active = [addresses[lane] for lane in lanes]
    if not active:
        return f"{_STRIDE} 0x0 0"
    deltas = [after - before for before, after in pairwise(active)]
    consecutive = lanes[-1] - lanes[0] == len(deltas)
    if consecutive and len(set(deltas)) == 1 and deltas[0] in _INT32:
        return f"{_STRIDE} {active[0]:#x} {deltas[0]}"
    return " ".join((f"{_DELTAS} {active[0]:#x}", *map(str, deltas)))


def read_addresses(mask: int, words: Sequence[str]) -> tuple[int, Pattern]:
    """The address of the first active lane, and where the others lie.

    `words` are those of the line from the form on; `mask` is not 0. ValueError and
    IndexError where they are no addresses.
    """
    base = int(words[1], 16)
    if words[0] == str(_LIST):
        offsets_of_active = [int(word, 16) - base for word in words[1 : 1 + mask.bit_count()]]
        pattern = _pattern(mask, offsets_of_active)
    else:
        count = 1 if words[0] == str(_STRIDE) else mask.bit_count() - 1
        pattern = _written(mask, words[0], tuple(words[2 : 2 + count]))
    if base + pattern.low not in _ADDRESSES or base + pattern.high not in _ADDRESSES:
        raise ValueError("an address outside the memory")
    return base, pattern


@lru_cache(maxsize=1 << 12)
def _written(mask: int, form: str, words: tuple[str, ...]) -> Pattern:
    """The pattern of a stride, or of differences from lane to lane; a loop repeats few of them."""
    numbers = tuple(map(int, words))
    if form == str(_DELTAS):
        return _pattern(mask, list(accumulate(numbers, initial=0)))
    if form != str(_STRIDE):
        raise ValueError(f"{form} is no form of addresses")
    (stride,) = numbers
    first = _lanes(mask)[0]
    return _pattern(mask, [(lane - first) * stride for lane in _lanes(mask)], stride)


def _pattern(mask: int, offsets_of_active: Sequence[int], stride: int | None = None) -> Pattern:
    """The pattern of the active lanes, given how far each lies from the first."""
    lanes = _lanes(mask)
    offsets = [0] * WARP_LANES
    for lane, form in zip(lanes, offsets_of_active, strict=True):
        offsets[lane] = form
    if len(lanes) == 1:
        stride = 0
    return Pattern(tuple(offsets), min(offsets), max(offsets), lanes[0], stride)


def _lanes(mask: int) -> list[int]:
    return [lane for lane in range(WARP_LANES) if mask >> lane & 1]
