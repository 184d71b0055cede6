"""Functions of `numba.cuda.jit`: compiled by Numba for a GPU that is not there, and forecast.

from kernelcast.adapters.numba import forecast

print(forecast(saxpy, n // 256, 256, [np.float32(2), kc.f32(n), kc.f32(n)], "h100-sxm"))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from kernelcast.adapters.common import Options, extents, forecast_of, package
from kernelcast.adapters.values import argument, is_array
from kernelcast.api import DEFAULT_GPU, Build, Forecast, Launch, machine
from kernelcast.errors import CompileError, InputError
from kernelcast.execution.fills import ELEMENT_TYPES
from kernelcast.frontends.loading import load_bytes
from kernelcast.ir import ELEMENT_BYTES, Argument, Array
from kernelcast.machines.machine import Machine

_OPTIONS = ("fastmath", "opt")
"""What `numba.cuda.jit` was told that the compilation of a function alone takes, too."""


def forecast(
    fn: Any,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    args: Sequence[Any],
    gpu: str | Machine = DEFAULT_GPU,
    *,
    shared_bytes: int = 0,
    **options: Unpack[Options],
) -> Forecast:
    """What `fn[grid, block, 0, shared_bytes](*args)` takes on a GPU.

    `fn` is a function of `numba.cuda.jit`, or a plain one. Arguments have the types that a call
    gives them: Python's integers and floats take 64 bits, NumPy's scalars and arrays their own;
    kernelcast's arrays stand for arrays in C order. Of every array the kernel takes seven and more
    words, which are filled as Numba does.

    Raises InputError for arguments that Numba does not take, CompileError where it refuses the
    function, ToolError without Numba's compiler, and as `kernelcast.case` does.
    """
    cuda = package("numba.cuda", "numba")
    chip = machine(gpu)
    python_function = getattr(fn, "py_func", fn)
    if not callable(python_function):
        raise InputError(f"{fn!r} is no function", where="fn", hint="decorate one with @cuda.jit")
    name = python_function.__name__
    names = python_function.__code__.co_varnames[: python_function.__code__.co_argcount]
    if len(args) != len(names):
        raise InputError(
            f"{len(args)} arguments for {len(names)} parameters",
            where=name,
            hint=f"give {', '.join(names)}",
        )
    signature = tuple(_type_of(v, f"{name}: {n}") for n, v in zip(names, args, strict=True))
    launch = Launch(
        grid=extents(grid, "grid"),
        block=extents(block, "block"),
        args=dict(_words(names, args, name)),
        smem_bytes=shared_bytes,
    )
    chosen = {k: v for k, v in getattr(fn, "targetoptions", {}).items() if k in _OPTIONS}
    try:
        ptx, _ = cuda.compile_ptx(
            python_function, signature, cc=chip.compute_capability, lineinfo=True, **chosen
        )
    except Exception as error:
        raise CompileError(
            f"Numba does not compile it: {_first_words(error)}",
            where=name,
            log=str(error),
        ) from error
    build = options.get("build") or Build()
    module = load_bytes(
        ptx.encode(), name=name, compute_capability=chip.compute_capability, cache=build.cache
    )
    module = replace(module, parameter_labels=tuple(launch.args))
    return forecast_of(module, launch, chip, **options)


def _first_words(error: Exception) -> str:
    """What a message of Numba's begins with, to the end of the sentence."""
    lines = [line.strip(" >") for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


def _type_of(value: Any, where: str) -> Any:
    """The type that Numba gives an argument."""
    numba = package("numba", "numba")
    if isinstance(value, Array):
        if value.type == "bf16":
            raise InputError("Numba has no arrays of bf16", where=where, hint="give f32 or f16")
        element = numba.from_dtype(ELEMENT_TYPES[value.type])
        return numba.types.Array(element, len(value.shape), "C")
    try:
        return numba.typeof(value)
    except ValueError as error:
        raise InputError(
            f"{type(value).__name__} is no argument of Numba's",
            where=where,
            hint="give a number, an array of NumPy, or one such as kernelcast.f32(1024)",
        ) from error


def _words(
    names: Sequence[str], args: Sequence[Any], function: str
) -> Iterator[tuple[str, Argument]]:
    """The words that a launch passes: of an array its owner, parent, number of elements, bytes of
    one, address, lengths and strides in bytes; of a tuple those of its elements."""
    for name, value in zip(names, args, strict=True):
        where = f"{function}: {name}"
        if isinstance(value, tuple):
            inner = [f"{name}[{at}]" for at in range(len(value))]
            yield from _words(inner, value, function)
        elif not is_array(value):
            yield name, argument(value, where)
        else:
            shape, strides, element_bytes = _layout(value)
            array = argument(_in_memory(value, where), where)
            assert isinstance(array, Array)
            yield f"{name}.meminfo", 0
            yield f"{name}.parent", 0
            yield f"{name}.size", math.prod(shape)
            yield f"{name}.itemsize", element_bytes
            yield name, array
            for at, length in enumerate(shape):
                yield f"{name}.shape[{at}]", length
            for at, stride in enumerate(strides):
                yield f"{name}.strides[{at}]", stride


def _layout(value: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Lengths, strides in bytes, and the bytes of an element, of NumPy's arrays as they are, of
    others in C order."""
    if isinstance(value, np.ndarray):
        return value.shape, value.strides, value.itemsize
    array = argument(value, "")
    assert isinstance(array, Array)
    element_bytes = ELEMENT_BYTES[array.type]
    strides = (element_bytes * math.prod(array.shape[at:]) for at in range(1, len(array.shape) + 1))
    return array.shape, tuple(strides), element_bytes


def _in_memory(value: Any, where: str) -> Any:
    """An array of NumPy in the order in which its elements lie in memory; records as bytes."""
    if not isinstance(value, np.ndarray):
        return value
    value = value if value.flags.c_contiguous else value.T
    if not value.flags.c_contiguous:
        raise InputError(
            "the array's elements do not lie one behind the other",
            where=where,
            hint="give numpy.ascontiguousarray(it)",
        )
    return value.view(np.uint8) if value.dtype.fields else value
