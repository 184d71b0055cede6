"""Expressions of C++ as trees: those of `#if`, of launches, and of what they depend on.

A tolerant reader: what it does not know is a tree of its own kind, `Unknown`, with its words.
Precedence is that of C++17, [expr].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelcast.frontends.source.brackets import (
    CHANGING,
    matching,
    split_words,
    template_end,
)
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Lexeme


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Name:
    """A name, qualified as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator before its operand."""

    operator: str
    operand: Tree


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands; `.`, `->`, `[` and `=` are among them."""

    operator: str
    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition ? yes : no`."""

    condition: Tree
    yes: Tree
    no: Tree


@dataclass(frozen=True, slots=True)
class Call:
    """A call or a construction, `f<a>(b)` or `dim3{x}`; `template` is the words of `<a>`."""

    function: Tree
    arguments: tuple[Tree, ...]
    template: tuple[Lexeme, ...] = ()


@dataclass(frozen=True, slots=True)
class Cast:
    """A value as another type."""

    type: str
    operand: Tree


@dataclass(frozen=True, slots=True)
class SizeOf:
    """The size of a type or of a value."""

    words: tuple[Lexeme, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """What is not read."""

    words: tuple[Lexeme, ...]


Tree = Constant | Name | Unary | Binary | Conditional | Call | Cast | SizeOf | Unknown

_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_PRECEDENCE = {operator: level for level, names in enumerate(_LEVELS) for operator in names}
_ASSIGNMENTS = CHANGING | {"="}
_TYPE_WORDS = frozenset(
    [
        "const",
        "volatile",
        "unsigned",
        "signed",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "bool",
        "void",
        "struct",
        "size_t",
        "int8_t",
        "int16_t",
        "int32_t",
        "int64_t",
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "uint",
        "ulong",
        "ushort",
        "uchar",
        "half",
        "__half",
        "auto",
    ]
)
_NAMED_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"})
_MAX_DEPTH = 120
_SUFFIX = "uUlLfFzZ"


class _UnreadError(Exception):
    """The words are no expression that is read here."""


def read_expression(words: Sequence[Lexeme]) -> Tree:
    """The tree of all the words; `Unknown` where they are no expression that is read."""
    reader = _Reader(words)
    try:
        tree = reader.assignment()
        if reader.at != len(words):
            raise _UnreadError
    except (_UnreadError, RecursionError):
        return Unknown(tuple(words))
    return tree


def _read_number(text: str) -> int | float | None:
    """The value of a C++ number; None where it is none."""
    plain = text.replace("'", "")
    body = plain.lower()
    try:
        if body.startswith("0x") and "p" not in body and "." not in body:
            return int(body.rstrip("ulz"), 16)
        if body.startswith("0b"):
            return int(body.rstrip("ulz"), 2)
        if "p" in body:
            return float.fromhex(body.rstrip("fl"))
        if any(mark in body for mark in ".e") or body.endswith("f"):
            return float(body.rstrip("fl"))
        digits = body.rstrip("ulz")
        return int(digits, 8 if len(digits) > 1 and digits.startswith("0") else 10)
    except ValueError:
        return None


class _Reader:
    def __init__(self, words: Sequence[Lexeme]) -> None:
        self.words = words
        self.at = 0
        self._depth = 0

    def assignment(self) -> Tree:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _UnreadError
        left = self._conditional()
        if self._text() in _ASSIGNMENTS:
            operator = self._take()
            left = Binary(operator, left, self.assignment())
        self._depth -= 1
        return left

    def _conditional(self) -> Tree:
        condition = self._binary(0)
        if self._text() != "?":
            return condition
        self._take()
        yes = self.assignment()
        self._expect(":")
        return Conditional(condition, yes, self.assignment())

    def _binary(self, level: int) -> Tree:
        left = self._unary()
        while True:
            operator, width = self._operator()
            precedence = _PRECEDENCE.get(operator, -1)
            if precedence < level:
                return left
            self.at += width
            left = Binary(operator, left, self._binary(precedence + 1))

    def _operator(self) -> tuple[str, int]:
        """The operator here and how many words it takes: `>` is one word at a time."""
        if self._text() != ">":
            return self._text(), 1
        word = self.words[self.at]
        following = self.words[self.at + 1] if self.at + 1 < len(self.words) else None
        is_joined = following is not None and following.begin in (word.end, word.begin)
        if following is not None and is_joined and following.text in (">", "="):
            return f">{following.text}", 2
        return ">", 1

    def _unary(self) -> Tree:
        text = self._text()
        if text in ("+", "-", "!", "~", "*", "&", "++", "--"):
            self._take()
            return Unary(text, self._unary_operand())
        if text == "sizeof":
            return self._size_of()
        if text == "(" and (cast := self._cast()) is not None:
            return cast
        return self._postfix(self._primary())

    def _unary_operand(self) -> Tree:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _UnreadError
        operand = self._unary()
        self._depth -= 1
        return operand

    def _size_of(self) -> Tree:
        self._take()
        if self._text() == "(":
            closing = matching(self.words, self.at)
            inside = self.words[self.at + 1 : closing]
            self.at = closing + 1
            return SizeOf(tuple(inside))
        start = self.at
        self._unary()
        return SizeOf(tuple(self.words[start : self.at]))

    def _cast(self) -> Tree | None:
        """`(type) value`, where what stands in the brackets can only be a type."""
        closing = matching(self.words, self.at)
        inside = self.words[self.at + 1 : closing]
        if closing < 0 or not inside or not _is_type(inside):
            return None
        self.at = closing + 1
        return Cast(type_text(inside), self._unary_operand())

    def _primary(self) -> Tree:
        if self.at >= len(self.words):
            raise _UnreadError
        word = self.words[self.at]
        if word.kind is TokenKind.NUMBER:
            self.at += 1
            value = _read_number(word.text)
            return Unknown((word,)) if value is None else Constant(value)
        if word.kind is TokenKind.CHARACTER:
            self.at += 1
            return Constant(ord(word.text[1])) if len(word.text) == 3 else Unknown((word,))
        if word.kind is TokenKind.TEXT:
            self.at += 1
            return Unknown((word,))
        if word.text in ("(", "{"):
            return self._bracketed(word.text)
        if word.text in _NAMED_CASTS:
            return self._named_cast()
        if word.kind is TokenKind.NAME or word.text == "::":
            return self._name()
        raise _UnreadError

    def _bracketed(self, opening: str) -> Tree:
        inside = self._inside()
        if opening == "{":
            return Call(Name(""), tuple(map(read_expression, split_words(inside))))
        return read_expression(inside)

    def _named_cast(self) -> Tree:
        self._take()
        end = template_end(self.words, self.at)
        if end < 0:
            raise _UnreadError
        type_ = type_text(self.words[self.at + 1 : end])
        self.at = end + 1
        if self._text() != "(":
            raise _UnreadError
        return Cast(type_, self._bracketed("("))

    def _name(self) -> Tree:
        parts: list[str] = []
        while self.at < len(self.words):
            word = self.words[self.at]
            is_next = word.kind is TokenKind.NAME and (not parts or parts[-1] == "::")
            if not is_next and word.text != "::":
                break
            parts.append(word.text)
            self.at += 1
        if parts[0] in _TYPE_WORDS:  # `unsigned int(x)`
            while self._text() in _TYPE_WORDS:
                parts += [" ", self._take()]
        return Name("".join(parts).removeprefix("::"))

    def _postfix(self, tree: Tree) -> Tree:
        while True:
            text = self._text()
            if text in ("(", "{") and not isinstance(tree, Constant):
                tree = _called(tree, tuple(map(read_expression, split_words(self._inside()))))
            elif text == "[":
                tree = Binary("[", tree, read_expression(self._inside()))
            elif text in (".", "->"):
                self._take()
                tree = Binary(".", tree, Name(self._take()))
            elif text in ("++", "--"):
                tree = Unary(self._take(), tree)
            elif text == "<" and isinstance(tree, Name) and self._is_template():
                template = self._template()
                given = tuple(map(read_expression, split_words(self._inside())))
                tree = Call(tree, given, template)
            else:
                return tree

    def _inside(self) -> Sequence[Lexeme]:
        """What stands between the bracket here and that which closes it."""
        closing = matching(self.words, self.at)
        if closing < 0:
            raise _UnreadError
        inside = self.words[self.at + 1 : closing]
        self.at = closing + 1
        return inside

    def _template(self) -> tuple[Lexeme, ...]:
        end = template_end(self.words, self.at)
        words = self.words[self.at + 1 : end]
        self.at = end + 1
        return tuple(words)

    def _is_template(self) -> bool:
        """Whether the `<` here opens template arguments: a call follows their end."""
        end = template_end(self.words, self.at)
        return 0 <= end < len(self.words) - 1 and self.words[end + 1].text in ("(", "{")

    def _text(self) -> str:
        return self.words[self.at].text if self.at < len(self.words) else ""

    def _take(self) -> str:
        if self.at >= len(self.words):
            raise _UnreadError
        self.at += 1
        return self.words[self.at - 1].text

    def _expect(self, text: str) -> None:
        if self._take() != text:
            raise _UnreadError


def _called(tree: Tree, arguments: tuple[Tree, ...]) -> Tree:
    """A call; one of a type is a cast."""
    if isinstance(tree, Name) and len(arguments) == 1 and _is_type_name(tree.text):
        return Cast(tree.text, arguments[0])
    return Call(tree, arguments)


def _is_type_name(text: str) -> bool:
    return all(part in _TYPE_WORDS for part in text.removeprefix("std::").split())


def _is_type(words: Sequence[Lexeme]) -> bool:
    """Whether the words in brackets can only be a type."""
    texts = [word.text for word in words]
    if texts[-1] in ("*", "&") and words[0].kind is TokenKind.NAME:
        return True
    return all(_is_type_name(text) for text in texts if text not in ("::", "std", "*"))


def type_text(words: Sequence[Lexeme]) -> str:
    """A type as one text, without `const`, and with `*` for every pointer."""
    kept = [word.text for word in words if word.text not in ("const", "volatile", "struct")]
    return " ".join(kept).replace(" :: ", "::").replace(" *", "*").removeprefix("std::")
