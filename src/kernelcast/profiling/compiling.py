"""Machine code of a loop, by Numba. Import this module only where none is kept: it loads Numba."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
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


_WORD = ir.IntType(32)
_ADDRESS = ir.IntType(8).as_pointer()
_LANES = 8
"""Elements that are compared at once."""


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


@intrinsic
def _equal_lanes(_: Any, elements: Any, index: Any, wanted: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, given = arguments
        start = context.make_array(elements)(context, builder, array).data
        lanes = ir.VectorType(start.type.pointee, _LANES)
        address = builder.bitcast(builder.gep(start, [at]), lanes.as_pointer())
        values = builder.load(address, align=elements.dtype.bitwidth // 8)
        number = context.cast(builder, given, wanted, elements.dtype)
        none = ir.Constant(lanes, ir.Undefined)
        one = builder.insert_element(none, number, _WORD(0))
        everywhere = ir.Constant(ir.VectorType(_WORD, _LANES), [0] * _LANES)
        numbers = builder.shuffle_vector(one, none, everywhere)
        bits = builder.bitcast(builder.icmp_unsigned("==", values, numbers), ir.IntType(_LANES))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(elements, index, wanted), generate


@intrinsic
def _fetched_ahead(_: Any, elements: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at = arguments
        start = context.make_array(elements)(context, builder, array).data
        address = builder.bitcast(builder.gep(start, [at]), _ADDRESS)
        kind = ir.FunctionType(ir.VoidType(), [_ADDRESS, _WORD, _WORD, _WORD])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (_ADDRESS,), kind)
        is_written, is_kept, is_data = _WORD(1), _WORD(3), _WORD(1)
        builder.call(fetch, [address, is_written, is_kept, is_data])
        return context.get_dummy_value()

    return types.void(elements, index), generate


_INTRINSICS = {
    "popcount": _set_bits,
    "lowest_bit": _trailing_zeros,
    "matches": _equal_lanes,
    "fetch_ahead": _fetched_ahead,
}
"""What the primitives of `compilation` are to Numba."""
