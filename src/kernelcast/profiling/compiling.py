"""Machine code of a loop, by Numba. Import this module only where none is kept: it loads Numba."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numba import from_dtype, njit, types
from numba.extending import intrinsic

from kernelcast.profiling.loops import ArrayOf, Primitive, Scalar, Source

# With its runtime on, Numba counts references to every array at every call, three times the work
# of the loops themselves. They allocate nothing and do without; nor is anything of it there when
# the code is loaded, which is why it has no wrappers.
_OPTIONS: dict[str, Any] = {
    "_nrt": False,
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def object_code(
    source: Source, returns: Scalar | None, arguments: Sequence[ArrayOf | Scalar]
) -> tuple[str, bytes]:
    """The name of a function in its machine code, and this as an object file."""
    result = types.void if returns is None else from_dtype(returns)
    signature = result(*map(_type, arguments))
    dispatcher = _dispatcher(source, {})
    dispatcher.compile(signature)
    made = dispatcher.overloads[signature.args]
    return made.fndesc.llvm_func_name, made.library._get_compiled_object()


def _type(argument: ArrayOf | Scalar) -> Any:
    if isinstance(argument, np.dtype):
        return from_dtype(argument)
    return types.Array(from_dtype(argument.element), argument.dimensions, "C")


def _dispatcher(source: Source, made: dict[FunctionType, Any]) -> Any:
    """Numba's form of a function, in which those it calls have Numba's form too."""
    function = source.function
    if function not in made:
        names = {
            name: _form_of(value, made)
            for name in function.__code__.co_names
            if (value := function.__globals__.get(name)) is not None
        }
        same = FunctionType(
            function.__code__,
            {**function.__globals__, **names},
            function.__name__,
            function.__defaults__,
        )
        made[function] = njit(forceinline=source.is_inlined, **_OPTIONS)(same)
    return made[function]


def _form_of(value: Any, made: dict[FunctionType, Any]) -> Any:
    """Numba's form of what a function names."""
    if isinstance(value, Source):
        return _dispatcher(value, made)
    return _INTRINSICS[value.name] if isinstance(value, Primitive) else value


@intrinsic
def _set_bits(_: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def _trailing_zeros(_: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.int64), generate


_INTRINSICS = {"popcount": _set_bits, "lowest_bit": _trailing_zeros}
"""What the primitives of `compilation` are to Numba."""
