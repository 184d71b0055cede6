"""Compiling the loops of this package, once per installation. Loads Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

# With its runtime on, Numba counts references to every array at every call, three times the work
# of the loops themselves. They allocate nothing and do without.
_OPTIONS: dict[str, Any] = {"_nrt": False, "nogil": True}
_INNER_OPTIONS = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

inner: Callable[[Any], Any] = njit(**_INNER_OPTIONS)
"""A function that compiled functions of the same module call."""

inlined: Callable[[Any], Any] = njit(forceinline=True, **_INNER_OPTIONS)
"""The same, for what every record goes through."""


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
