"""How arrays start: the values of every `Fill`, written in place.

Random fills draw from NumPy's SFC64 with the fill's seed (0 where it has none), so equal fills of
equal type and size are equal arrays on every machine. Large arrays are made of pieces that do not
depend on each other, each with a generator of its own, so that one that nobody looks at need not be
filled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import LaunchError, NotFoundError
from kernelcast.ir import Array, Fill

ArrayView = NDArray[Any]

_CHUNK_ELEMENTS = 1 << 20
"""Values that need a wider temporary are made in pieces of this size."""

PIECE_BYTES = 1 << 20
"""Size of the pieces that large arrays are filled by."""

WHOLE_BYTES = 32 << 20
"""Arrays up to this are filled at once."""

_BY_PIECES = ("ones", "arange", "random", "randint")


ELEMENT_TYPES: dict[str, np.dtype[Any]] = {
    **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
"""The NumPy type that views an array; bf16 and untyped bits are seen as unsigned integers."""


def bf16_bits(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Bits of the bfloat16 nearest to each f32, ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
    quiet = (bits >> np.uint64(16)) | np.uint64(0x40)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def fill_array(view: ArrayView, array: Array, base_dir: Path | None = None) -> None:
    """Write the starting values of `array` to `view`, its flat memory, zero so far.

    Raises `LaunchError` where a file cannot be used and `NotFoundError` for an unknown fill.
    """
    if array.fill.kind not in _FILLS:
        raise NotFoundError("fill", array.fill.kind, _FILLS)
    if has_pieces(array):
        for piece in range(pieces_of(array)):
            fill_piece(view, array, piece)
    elif array.fill.kind == "file":
        _file(view, array, base_dir)
    else:
        _FILLS[array.fill.kind](view, _Piece(array, 0, _generator(array.fill)))


def has_pieces(array: Array) -> bool:
    """Whether an array is filled by pieces, each for itself."""
    return array.fill.kind in _BY_PIECES and array.size_bytes > WHOLE_BYTES


def pieces_of(array: Array) -> int:
    """How many pieces an array has, the last one possibly smaller."""
    return -(-array.size_bytes // PIECE_BYTES)


def fill_piece(view: ArrayView, array: Array, piece: int) -> None:
    """Write one piece of an array that `has_pieces` to `view`, all of its flat memory.

    Raises `LaunchError` where the fill does not fit the array's type.
    """
    elements = PIECE_BYTES // view.dtype.itemsize
    first = piece * elements
    generator = _generator(array.fill, piece)
    _FILLS[array.fill.kind](view[first : first + elements], _Piece(array, first, generator))


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is to be written: an array, the number of its first element in the view, and where
    random numbers come from."""

    array: Array
    first: int
    generator: np.random.Generator


def _zeros(view: ArrayView, piece: _Piece) -> None:
    """Nothing to write: fresh memory is zero and stays untouched."""


def _ones(view: ArrayView, piece: _Piece) -> None:
    view[:] = _converted(np.ones(1), piece.array.type)[0]


def _arange(view: ArrayView, piece: _Piece) -> None:
    (step,) = piece.array.fill.numbers or (1,)
    for start, stop in _chunks(view):
        numbers = np.arange(piece.first + start, piece.first + stop)
        view[start:stop] = _converted(step * numbers, piece.array.type)


def _random(view: ArrayView, piece: _Piece) -> None:
    """Floats uniform in [0, 1); integers uniform over the whole range of their type."""
    array, generator = piece.array, piece.generator
    if array.type in ("f32", "f64"):
        generator.random(out=view, dtype=view.dtype)
        return
    for start, stop in _chunks(view):
        if array.type in ("f16", "bf16"):
            # 10 and 7 bits of fraction: drawn on the type's own grid, so that 1 never appears.
            steps = 1 << (11 if array.type == "f16" else 8)
            drawn = generator.integers(0, steps, stop - start) / steps
            view[start:stop] = _converted(drawn, array.type)
        else:
            limits = np.iinfo(view.dtype)
            view[start:stop] = generator.integers(
                limits.min, limits.max, stop - start, dtype=view.dtype, endpoint=True
            )


def _randint(view: ArrayView, piece: _Piece) -> None:
    """Integers uniform in [lo, hi)."""
    array = piece.array
    numbers = array.fill.numbers
    if len(numbers) < 2 or numbers[0] >= numbers[1]:
        raise LaunchError(
            f"{array.fill} has no values", hint="write randint(lo, hi, seed), lo < hi"
        )
    low, high = int(numbers[0]), int(numbers[1])
    if np.issubdtype(view.dtype, np.integer) and array.type != "bf16":
        limits = np.iinfo(view.dtype)
        if low < limits.min or high - 1 > limits.max:
            raise LaunchError(
                f"{array.fill} does not fit {array.type}",
                hint=f"keep it within {limits.min} and {limits.max + 1}",
            )
    wide = np.uint64 if high > 1 << 63 else np.int64
    for start, stop in _chunks(view):
        drawn = piece.generator.integers(low, high, stop - start, dtype=wide)
        view[start:stop] = _converted(drawn, array.type)


def _permutation(view: ArrayView, piece: _Piece) -> None:
    """The numbers 0 to n-1 in random order."""
    order = np.arange(view.size, dtype=np.uint32 if view.size < 1 << 32 else np.uint64)
    piece.generator.shuffle(order)
    for start, stop in _chunks(view):
        view[start:stop] = _converted(order[start:stop], piece.array.type)


_BEGINS = (b"\x93NUMPY", b"PK")
"""An .npy file, and an archive of several."""


def _file(view: ArrayView, array: Array, base_dir: Path | None) -> None:
    """An .npy file of the declared shape and type; its path is relative to `base_dir`."""
    path = Path(base_dir or ".", array.fill.path)
    if path.exists() and not path.is_file():
        raise LaunchError("is not a file", where=str(path), hint="save one with numpy.save")
    try:
        with path.open("rb") as file:
            begins = file.read(len(_BEGINS[0]))
        if not begins.startswith(_BEGINS):
            raise ValueError("it is none; nothing pickled is read")
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise LaunchError(
            "there is no such file", where=str(path), hint="save one with numpy.save"
        ) from None
    except (OSError, ValueError, EOFError, OverflowError, SyntaxError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise LaunchError(
            f"not a readable .npy file ({reason})", where=str(path), hint="save it with numpy.save"
        ) from None
    if not isinstance(loaded, np.ndarray):
        raise LaunchError(
            "an archive of several arrays", where=str(path), hint="save one with numpy.save"
        )
    untyped = array.type == "bf16" or array.type.startswith("b")
    same = loaded.dtype.itemsize == view.dtype.itemsize if untyped else loaded.dtype == view.dtype
    if loaded.dtype.hasobject or not same:
        raise LaunchError(
            f"holds {loaded.dtype}, not {array.type}",
            where=str(path),
            hint=f"save it as {view.dtype}",
        )
    if loaded.shape != array.shape:
        raise LaunchError(
            f"holds shape {_dims(loaded.shape)}, not {_dims(array.shape)}",
            where=str(path),
            hint="change the declared shape or the file",
        )
    view.reshape(array.shape)[...] = loaded.view(view.dtype) if untyped else loaded


_FILLS: dict[str, Callable[[ArrayView, _Piece], None]] = {
    "zeros": _zeros,
    "ones": _ones,
    "arange": _arange,
    "random": _random,
    "randint": _randint,
    "permutation": _permutation,
    "file": _zeros,  # in a way of its own
}


def _converted(values: ArrayView, type_name: str) -> ArrayView:
    if type_name == "bf16":
        return bf16_bits(values.astype(np.float32))
    with np.errstate(over="ignore"):
        return values.astype(ELEMENT_TYPES[type_name])


def _chunks(view: ArrayView) -> Iterator[tuple[int, int]]:
    for start in range(0, view.size, _CHUNK_ELEMENTS):
        yield start, min(start + _CHUNK_ELEMENTS, view.size)


def _generator(fill: Fill, piece: int = 0) -> np.random.Generator:
    """Where the random numbers of a piece come from; the seed is a fill's last number."""
    at = 2 if fill.kind == "randint" else 0
    seed = abs(int(fill.numbers[at])) if len(fill.numbers) > at else 0
    return np.random.Generator(np.random.SFC64([seed, piece] if piece else seed))


def _dims(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"
