"""How arrays start on a GPU: the launch of `support.cu` that fills each as `fill_array` does.

NumPy's generator cannot be moved ahead, so its state at the start of every piece is drawn here and
handed to the thread that makes the piece.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kernelcast.errors import UnsupportedError
from kernelcast.ir import ELEMENT_BYTES, Array

PIECE_ELEMENTS = 1 << 16
"""Even, and a divisor of the pieces in which `fill_array` draws: no bits are dropped inside."""

_WORD_BYTES = 8
_INTEGERS = "us"
_RANDINT = ("u8", "u32", "s32", "s64", "f32")
_RANDOM = ("f16", "f32", "f64")

_Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Start:
    """A launch of `kernel` that fills `count` elements, `piece` in each thread.

    `states` holds a state of the generator per piece. An array without a kernel is zero. `low` and
    `range` are those of random integers; `is_shuffled` arrays are then shuffled from the first
    state on.
    """

    size_bytes: int
    kernel: str = ""
    count: int = 0
    piece: int = PIECE_ELEMENTS
    low: int = 0
    range: int = 0
    states: bytes = b""
    is_shuffled: bool = False


def start_of(array: Array) -> Start:
    """How `array` starts; UnsupportedError for a fill that `support.cu` does not know."""
    try:
        make = _STARTS[array.fill.kind]
    except KeyError:
        raise _unsupported(array) from None
    return make(array)


def _zeros(array: Array) -> Start:
    return Start(array.size_bytes)


def _arange(array: Array) -> Start:
    _check(array, "s32")
    return Start(array.size_bytes, "arange_s32", array.elements)


def _permutation(array: Array) -> Start:
    _check(array, "s32")
    return Start(
        array.size_bytes,
        "arange_s32",
        array.elements,
        states=_state(_generator(array, 0)),
        is_shuffled=True,
    )


def _random(array: Array) -> Start:
    """Integers over their whole range are the generator's words, signed ones with their top bit
    turned; every other type takes a half word or a word."""
    size = ELEMENT_BYTES[array.type]
    if array.type[0] in _INTEGERS:
        per_word = _WORD_BYTES // size
        flip = sum(1 << (8 * size * (i + 1) - 1) for i in range(per_word))
        return Start(
            array.size_bytes,
            "random_words",
            -(-array.elements // per_word),
            piece=PIECE_ELEMENTS // per_word,
            low=flip if array.type[0] == "s" else 0,
            states=_raw_states(array, PIECE_ELEMENTS // per_word),
        )
    _check(array, *_RANDOM)
    words = PIECE_ELEMENTS if array.type == "f64" else PIECE_ELEMENTS // 2
    return Start(
        array.size_bytes,
        f"random_{array.type}",
        array.elements,
        states=_raw_states(array, words),
    )


def _randint(array: Array) -> Start:
    low, high = map(int, array.fill.numbers[:2])
    is_wide = high - low >= 1 << 32
    _check(array, *(["s64"] if is_wide else _RANDINT))

    def draw(generator: _Generator) -> None:
        generator.integers(low, high, PIECE_ELEMENTS, dtype=np.int64)

    return Start(
        array.size_bytes,
        f"randint_{'wide_' if is_wide else ''}{array.type}",
        array.elements,
        low=low,
        range=high - low,
        states=b"".join(_states(array, 2, draw)),
    )


_STARTS: dict[str, Callable[[Array], Start]] = {
    "zeros": _zeros,
    "arange": _arange,
    "permutation": _permutation,
    "random": _random,
    "randint": _randint,
}


def _raw_states(array: Array, words: int) -> bytes:
    def draw(generator: _Generator) -> None:
        generator.bit_generator.random_raw(words, output=False)

    return b"".join(_states(array, 0, draw))


def _states(array: Array, seed_at: int, draw: Callable[[_Generator], None]) -> Iterator[bytes]:
    """The state before every piece; `draw` makes one piece."""
    generator = _generator(array, seed_at)
    for piece in range(-(-array.elements // PIECE_ELEMENTS)):
        if piece:
            draw(generator)
        yield _state(generator)


def _generator(array: Array, seed_at: int) -> _Generator:
    """As `fill_array` seeds it."""
    numbers = array.fill.numbers
    seed = int(numbers[seed_at]) if len(numbers) > seed_at else 0
    return _Generator(np.random.SFC64(abs(seed)))


def _state(generator: _Generator) -> bytes:
    state = generator.bit_generator.state
    left = state["has_uint32"] << 32 | state["uinteger"] if state["has_uint32"] else 0
    return struct.pack("<5Q", *(int(word) for word in state["state"]["state"]), left)


def _check(array: Array, *types: str) -> None:
    if array.type not in types:
        raise _unsupported(array)


def _unsupported(array: Array) -> UnsupportedError:
    return UnsupportedError(
        f"no code fills {array.type} with {array.fill} on a GPU", hint="add it to support.cu"
    )
