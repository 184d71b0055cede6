"""The source's name of a mangled kernel: `_Z5tiledILi16EEviPKfS1_Pf` is `tiled<16>`.

Reads the part of the Itanium C++ ABI's mangling that names of kernels use: nested names and
template arguments that are integers, booleans, types or names. The parameter list is left out.
"""

from __future__ import annotations

_BUILTIN_TYPES = {
    "v": "void",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "f": "float",
    "d": "double",
}
_QUALIFIERS = {"P": "*", "R": "&", "K": " const", "V": " volatile"}
_LITERAL_SUFFIXES = {"j": "u", "m": "ul", "l": "l", "x": "ll", "y": "ull"}
_MAX_DEPTH = 32


class _UnreadableError(Exception):
    """The name uses a part of the mangling that is not read here."""


def source_name(mangled: str) -> str:
    """The qualified name with template arguments; the mangled name itself where unreadable."""
    if not mangled.startswith("_Z"):
        return mangled
    try:
        return _NameReader(mangled).name()
    except _UnreadableError:
        return mangled


class _NameReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = len("_Z")
        self._depth = 0

    def name(self) -> str:
        parts: list[str] = []
        nested = self._take("N")
        while self._take("K") or self._take("V"):
            pass
        self._take("L")  # internal linkage
        while True:
            if self._peek().isdigit() and (nested or not parts):
                identifier = self._identifier()
                if not identifier.startswith("_GLOBAL__N_"):  # an anonymous namespace
                    parts.append(identifier)
            elif parts and self._take("I"):
                parts[-1] += f"<{', '.join(self._arguments())}>"
            elif nested and self._take("E"):
                break
            elif nested:
                raise _UnreadableError
            else:
                break
        if not parts:
            raise _UnreadableError
        return "::".join(parts)

    def _arguments(self) -> list[str]:
        found: list[str] = []
        while not self._take("E"):
            if self._take("J"):
                found += self._arguments()
            else:
                found.append(self._literal() if self._take("L") else self._type())
        return found

    def _literal(self) -> str:
        kind = self._next()
        end = self._text.find("E", self._at)
        digits = self._text[self._at : end]
        if kind not in _BUILTIN_TYPES or not digits.removeprefix("n").isdigit():
            raise _UnreadableError
        self._at = end + 1
        if kind == "b":
            return "true" if digits == "1" else "false"
        return digits.replace("n", "-") + _LITERAL_SUFFIXES.get(kind, "")

    def _type(self) -> str:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _UnreadableError
        try:
            head = self._peek()
            if head.isdigit() or head == "N":
                return self.name()
            self._at += 1
            if head in _QUALIFIERS:
                return self._type() + _QUALIFIERS[head]
            if head in _BUILTIN_TYPES:
                return _BUILTIN_TYPES[head]
            raise _UnreadableError
        finally:
            self._depth -= 1

    def _identifier(self) -> str:
        start = self._at
        while self._peek().isdigit():
            self._at += 1
        length = int(self._text[start : self._at])
        self._at += length
        if length == 0 or self._at > len(self._text):
            raise _UnreadableError
        return self._text[self._at - length : self._at]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        self._at += 1
        if self._at > len(self._text):
            raise _UnreadableError
        return self._text[self._at - 1]

    def _take(self, character: str) -> bool:
        taken = self._peek() == character
        self._at += taken
        return taken
