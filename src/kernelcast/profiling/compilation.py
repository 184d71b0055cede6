"""Compiling the loops of this package, once per installation. Loads Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.extending import intrinsic

# With its runtime on, Numba counts references to every array at every call, three times the work
# of the loops themselves. They allocate nothing and do without.
_OPTIONS: dict[str, Any] = {"_nrt": False, "nogil": True}
_INNER_OPTIONS = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

inner: Callable[[Any], Any] = njit(**_INNER_OPTIONS)
"""A function that compiled functions of the same module call."""

inlined: Callable[[Any], Any] = njit(forceinline=True, **_INNER_OPTIONS)
"""The same, for what every record goes through."""


@intrinsic
def popcount(typing_context: Any, bits: Any) -> Any:
    """How many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """The place of the lowest bit set; 64 where none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.int64), generate


def compiled(signature: Any) -> Callable[[Any], Any]:
    """Compile a function for one signature, or load what an earlier process compiled.

    Numba keeps the machine code beside the module, in the user's cache or in `NUMBA_CACHE_DIR`;
    where none can be written it is compiled anew in every process.
    """

    def compile_function(function: Any) -> Any:
        try:
            return njit(signature, cache=True, **_OPTIONS)(function)
        except RuntimeError:  # no place to keep it
            return njit(signature, **_OPTIONS)(function)

    return compile_function
