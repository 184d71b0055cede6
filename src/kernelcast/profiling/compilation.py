# mypy: allow-untyped-calls
"""Compiling the loops of this package, once per installation. Loads Numba."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from numba import njit, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
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
def _set_bits(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def _trailing_zeros(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.int64), generate


popcount: Callable[[Any], Any] = cast(Any, _set_bits)
"""How many bits of a 64-bit number are set; for compiled functions."""

lowest_bit: Callable[[Any], Any] = cast(Any, _trailing_zeros)
"""The place of the lowest bit set, 64 where none is; for compiled functions."""


def compiled(signature: Any) -> Callable[[Any], Any]:
    """Compile a function for one signature, or load what an earlier process compiled.

    Numba keeps the machine code beside the module, in the user's cache or in `NUMBA_CACHE_DIR`;
    where none can be written it is compiled anew in every process, as it is where a module of the
    function's folder has changed.
    """

    def compile_function(function: Any) -> Any:
        dispatcher = njit(**_OPTIONS)(function)
        with contextlib.suppress(RuntimeError):  # no place to keep it
            dispatcher._cache = _FolderCache(function)
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compile_function


class _FolderCache(FunctionCache):
    """Machine code that is fresh as long as no module beside the function's has changed.

    Numba looks at the function's own file only, but takes in what that calls from others.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            self._cache_path,
            self._impl.filename_base,
            folder_stamp(Path(inspect.getfile(function)).parent),
        )


def folder_stamp(folder: Path) -> str:
    """What changes with any module of a folder."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
