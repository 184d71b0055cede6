"""Arguments as Python programs hold them: numbers, arrays of NumPy and of what is like it."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kernelcast.errors import InputError
from kernelcast.ir import Argument, Array, Fill, TensorMap

_NAMES = {
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"int{bits}": f"s{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    "bfloat16": "bf16",
    "bool": "b8",
}
"""Element types by the names that NumPy and its kin give them."""


def argument(value: Any, where: str) -> Argument:
    """A value as an argument of a launch.

    Arrays whose values the CPU can see keep them; of others, such as tensors on a GPU or on
    PyTorch's `meta` device, there are type and shape, and they are zero. Raises InputError.
    """
    if isinstance(value, Array | TensorMap):
        return value
    if isinstance(value, bool | int | float):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return argument(value.item(), where)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _array(value, where)
    raise InputError(
        f"{type(value).__name__} is no argument",
        where=where,
        hint="give a number, an array, or one of kernelcast's, such as kernelcast.f32(1024)",
    )


def is_array(value: object) -> bool:
    """Whether a value is an array of any kind, not a number."""
    if isinstance(value, Array):
        return True
    return hasattr(value, "shape") and not isinstance(value, np.generic)


def _array(value: Any, where: str) -> Array:
    name = str(value.dtype).rpartition(".")[2]
    shape = tuple(map(int, value.shape))
    if name not in _NAMES:
        raise InputError(
            f"an array of {value.dtype} is no argument",
            where=where,
            hint=f"give one of {', '.join(_NAMES)}",
        )
    if 0 in shape:
        raise InputError(
            f"an array of shape {shape} has no elements to pass", where=where, hint="give some"
        )
    seen = _seen(value)
    fill = Fill() if seen is None or not seen.any() else Fill("file", path=str(_kept(seen)))
    return Array(_NAMES[name], shape or (1,), fill)


def _seen(value: Any) -> np.ndarray[Any, np.dtype[Any]] | None:
    """The values of an array; None where the CPU cannot see them."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    if str(getattr(value, "device", "cpu")) != "cpu":
        return None
    try:
        return np.ascontiguousarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError):
        return None


def _kept(values: np.ndarray[Any, np.dtype[Any]]) -> Path:
    """A file of the values, there until the program ends."""
    digest = hashlib.sha256(f"{values.dtype} {values.shape} ".encode())
    digest.update(values.reshape(-1).view(np.uint8).data)
    path = _folder() / f"{digest.hexdigest()}.npy"
    if not path.exists():
        np.save(path, values, allow_pickle=False)
    return path


@cache
def _folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="kernelcast-arrays-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
