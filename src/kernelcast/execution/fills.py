"""How arrays start: the values of every `Fill`, written in place.

Random fills draw from NumPy's SFC64 with the fill's seed (0 where it has none), so equal fills of
equal type and size are equal arrays on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import LaunchError, NotFoundError
from kernelcast.ir import Array, Fill

ArrayView = NDArray[Any]

_CHUNK_ELEMENTS = 1 << 20
"""Values that need a wider temporary are made in pieces of this size."""

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
    try:
        write = _FILLS[array.fill.kind]
    except KeyError:
        raise NotFoundError("fill", array.fill.kind, _FILLS) from None
    write(view, array, base_dir)


def _zeros(view: ArrayView, array: Array, base_dir: Path | None) -> None:
    """Nothing to write: fresh memory is zero and stays untouched."""


def _ones(view: ArrayView, array: Array, base_dir: Path | None) -> None:
    view[:] = _converted(np.ones(1), array.type)[0]


def _arange(view: ArrayView, array: Array, base_dir: Path | None) -> None:
    for start, stop in _chunks(view):
        view[start:stop] = _converted(np.arange(start, stop), array.type)


def _random(view: ArrayView, array: Array, base_dir: Path | None) -> None:
    """Floats uniform in [0, 1); integers uniform over the whole range of their type."""
    generator = _generator(array.fill, 0)
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


def _randint(view: ArrayView, array: Array, base_dir: Path | None) -> None:
    """Integers uniform in [lo, hi)."""
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
    generator = _generator(array.fill, 2)
    wide = np.uint64 if high > 1 << 63 else np.int64
    for start, stop in _chunks(view):
        drawn = generator.integers(low, high, stop - start, dtype=wide)
        view[start:stop] = _converted(drawn, array.type)


def _permutation(view: ArrayView, array: Array, base_dir: Path | None) -> None:
    """The numbers 0 to n-1 in random order."""
    order = np.arange(view.size, dtype=np.uint32 if view.size < 1 << 32 else np.uint64)
    _generator(array.fill, 0).shuffle(order)
    for start, stop in _chunks(view):
        view[start:stop] = _converted(order[start:stop], array.type)


def _file(view: ArrayView, array: Array, base_dir: Path | None) -> None:
    """An .npy file of the declared shape and type; its path is relative to `base_dir`."""
    path = Path(base_dir or ".", array.fill.path)
    if path.exists() and not path.is_file():
        raise LaunchError("is not a file", where=str(path), hint="save one with numpy.save")
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise LaunchError("there is no such file", where=str(path)) from None
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


_FILLS: dict[str, Callable[[ArrayView, Array, Path | None], None]] = {
    "zeros": _zeros,
    "ones": _ones,
    "arange": _arange,
    "random": _random,
    "randint": _randint,
    "permutation": _permutation,
    "file": _file,
}


def _converted(values: ArrayView, type_name: str) -> ArrayView:
    if type_name == "bf16":
        return bf16_bits(values.astype(np.float32))
    with np.errstate(over="ignore"):
        return values.astype(ELEMENT_TYPES[type_name])


def _chunks(view: ArrayView) -> Iterator[tuple[int, int]]:
    for start in range(0, view.size, _CHUNK_ELEMENTS):
        yield start, min(start + _CHUNK_ELEMENTS, view.size)


def _generator(fill: Fill, at: int) -> np.random.Generator:
    seed = int(fill.numbers[at]) if len(fill.numbers) > at else 0
    return np.random.Generator(np.random.SFC64(abs(seed)))


def _dims(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"
