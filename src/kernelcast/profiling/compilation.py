"""The machine code of the compiled loops of this package.

Numba compiles a loop once; what it made is kept by content and loaded without it, which spares a
process the better part of a second. A loop is a function of C-contiguous arrays and numbers.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kernelcast.errors import ToolError
from kernelcast.profiling.loops import ArrayOf, FixedArray, Primitive, Scalar, Source
from kernelcast.toolchain.cache import Cache, content_key


def compiled(
    returns: DTypeLike | None, *arguments: DTypeLike | ArrayOf, cache: Cache | None = None
) -> Callable[[Any], Callable[..., Any]]:
    """Compile a function when it is first called, or load what an earlier process compiled.

    Parameters
    ----------
    returns, arguments:
        Types of the result, None for none, and of what the function takes: `array(...)`s and
        numbers.
    cache:
        Where machine code is kept; by default that of the user. The code is made anew where the
        function, one that it calls, or a number that these name is another than before.

    Raises ToolError, when it is called, where the function itself raised an error.
    """
    kinds = tuple(a if isinstance(a, ArrayOf) else np.dtype(a) for a in arguments)
    result = None if returns is None else np.dtype(returns)
    kept = Cache() if cache is None else cache

    return lambda function: _CompiledLoop(function, result, kinds, kept)


class _CompiledLoop:
    """A function whose machine code is loaded when it is first called, by any thread."""

    def __init__(
        self,
        function: FunctionType,
        returns: Scalar | None,
        arguments: Sequence[ArrayOf | Scalar],
        kept: Cache,
    ) -> None:
        self._function, self._returns, self._arguments = function, returns, arguments
        self._kept = kept
        self._lock = Lock()
        self._loaded: _Loaded | None = None

    def __call__(self, *values: Any) -> Any:
        return (self._loaded or self._load())(*values)

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                symbol, _, code = self._entry().partition(b"\0")
                name = self._function.__name__
                self._loaded = _Loaded(name, symbol.decode(), code, self._returns, self._arguments)
            return self._loaded

    def _entry(self) -> bytes:
        """The machine code's symbol, a zero, and itself."""
        function = self._function
        key = _key(function, self._returns, self._arguments)
        if (entry := self._kept.get("loop", key)) is not None:
            return entry
        from kernelcast.profiling.compiling import object_code  # loads Numba

        _say(f"compiling {function.__name__}, which takes seconds; it is kept for later runs")
        symbol, code = object_code(Source(function), self._returns, self._arguments)
        entry = symbol.encode() + b"\0" + code
        self._kept.put("loop", key, entry)
        return entry


def _say(text: str) -> None:
    """Tell who waits at a terminal why."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"kernelcast: {text}\n")


class _Loaded:
    """Machine code that is called as Numba lays down arguments.

    A function takes the address of its result, that of what it raises, and its arguments: of an
    array an owner and a parent, which nobody asks for here, its size, its bytes per element, its
    address, its shape and its strides in bytes. It returns whether it raised something.
    """

    def __init__(
        self,
        name: str,
        symbol: str,
        code: bytes,
        returns: Scalar | None,
        arguments: Sequence[ArrayOf | Scalar],
    ) -> None:
        from kernelcast.execution.engine.jit import load_object  # loads LLVM

        self._name = name
        self._arguments = arguments
        self._result = ctypes.c_int64 if returns is None else np.ctypeslib.as_ctypes_type(returns)
        self._gives = returns is not None
        self._engine = load_object(code)
        address = self._engine.get_function_address(symbol)
        # Without types of arguments, which are looked up word by word: all words have their own.
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32)(address)

    def __call__(self, *values: Any) -> Any:
        words: list[Any] = []
        for argument, value in zip(self._arguments, values, strict=True):
            if isinstance(argument, ArrayOf):
                given = value if isinstance(value, FixedArray) else FixedArray(value)
                words += given.words(argument)
            else:
                words.append(np.ctypeslib.as_ctypes_type(argument)(value))
        result, raised = self._result(), ctypes.c_int64()
        if self._call(ctypes.byref(result), ctypes.byref(raised), *words):
            raise ToolError(f"the compiled function {self._name} has failed")
        return result.value if self._gives else None


def _key(function: FunctionType, returns: Scalar | None, kinds: Sequence[ArrayOf | Scalar]) -> str:
    """What the machine code of a function depends on."""
    import llvmlite

    from kernelcast.execution.engine.jit import host  # loads LLVM

    types = [None if returns is None else returns.descr]
    layouts = [
        (k.element.descr, k.dimensions) if isinstance(k, ArrayOf) else k.descr for k in kinds
    ]
    made_by = (sys.version, _numba_version(), llvmlite.__version__, *host())
    return content_key(repr(made_by), repr(types), repr(layouts), *_content(function, set()))


@cache
def _numba_version() -> str:
    """What Numba says of its version, in a file that can be read without loading Numba."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        raise ToolError("numba is not installed", hint="pip install numba")
    return Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8")


def _content(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """Bytecode and constants of a function and of those it calls, and fields of its tuples."""
    seen.add(function)
    yield from _bytecode(function.__code__)
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, Source):
            yield f"{name} {value.is_inlined}"
            if value.function not in seen:
                yield from _content(value.function, seen)
        elif isinstance(value, type) and issubclass(value, tuple):
            yield f"{name} {getattr(value, '_fields', ())!r}"
        elif isinstance(value, (int, float, str, tuple, np.generic, Primitive)):
            yield f"{name} {value!r}"


def _bytecode(code: CodeType) -> Iterator[str]:
    yield from (code.co_code.hex(), repr(code.co_names), repr(code.co_varnames))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _bytecode(constant)
        else:
            yield repr(constant)
