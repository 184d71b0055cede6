"""The source's name of a mangled kernel: `_Z5tiledILi16EEviPKfS1_Pf` is `tiled<16>`.

The C++ library demangles (`__cxa_demangle` of the Itanium C++ ABI); return type, parameter list,
anonymous namespaces and ABI tags, such as Numba's, are left out.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache

_LIBRARIES = ("libstdc++.so.6", "libc++.1.dylib")
"""The first is there wherever NumPy and llvmlite are: they are linked with it."""
_MAX_CHARACTERS = 1 << 14
"""The library reads names recursively; longer ones than any compiler makes are left alone."""
_KEPT_NAMES = 1 << 16

_LEFT_OUT = re.compile(r"\(anonymous namespace\)::|\[abi:[^\[\]]*\]")
_BRACKET = re.compile("[()]")
_CLOSING = re.compile(r"> (?=>)")


@lru_cache(_KEPT_NAMES)
def source_name(mangled: str) -> str:
    """The qualified name with template arguments; the mangled name itself where unreadable."""
    if not mangled.startswith("_Z") or len(mangled) > _MAX_CHARACTERS:
        return mangled
    read = _demangled(mangled)
    if read is None:
        return mangled
    return _without_parameters(_CLOSING.sub(">", _LEFT_OUT.sub("", read))) or mangled


def name_matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a source's name fits a pattern.

    `*` stands for any characters and `?` for one; without them the pattern may stand anywhere in
    the name.
    """
    if not set("*?") & set(pattern):
        return lambda name: pattern in name
    parts = re.split(r"([*?])", pattern)
    wild = {"*": ".*", "?": "."}
    whole = re.compile("".join(wild.get(part, re.escape(part)) for part in parts), re.DOTALL)
    return lambda name: whole.fullmatch(name) is not None


def base_name(name: str) -> str:
    """A source's name without name spaces and template arguments: `tiled` of `lib::tiled<a::b>`."""
    return name.partition("<")[0].rpartition("::")[2].strip()


def _without_parameters(text: str) -> str:
    """A function's name without its parameter list, and without `void` before templates."""
    if text.endswith(")"):
        depth = 0
        for bracket in reversed(list(_BRACKET.finditer(text))):
            depth += 1 if bracket[0] == ")" else -1
            if depth == 0:
                text = text[: bracket.start()]
                break
    return text.removeprefix("void ")


def _demangled(mangled: str) -> str | None:
    """What the C++ library makes of a name; None where it is none, or there is no library."""
    library = _library()
    if library is None:
        return None
    place = library.__cxa_demangle(mangled.encode("utf-8", "surrogateescape"), None, None, None)
    if not place:
        return None
    try:
        return ctypes.string_at(place).decode("utf-8", "replace")
    finally:
        library.free(place)


@cache
def _library() -> ctypes.CDLL | None:
    for name in _LIBRARIES:
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(name)
            library.__cxa_demangle.argtypes = [ctypes.c_char_p, *3 * [ctypes.c_void_p]]
            library.__cxa_demangle.restype = ctypes.c_void_p
            library.free.argtypes = [ctypes.c_void_p]
            return library
    return None
