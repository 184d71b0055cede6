"""The tokens of CUDA C++ as its preprocessor sees them, each at its place in the text.

Every character of a text belongs to one token: joined, they are the text (C++17, [lex.phases] and
[lex.pptoken]). A backslash at the end of a line goes on with the next line, also within a token.
A `>` is a token of its own always, since only a parser can tell `>>>` of a launch from the end of
nested template arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


class TokenKind(StrEnum):
    """The kinds of tokens."""

    SPACE = "space"
    NEWLINE = "newline"
    COMMENT = "comment"
    NAME = "name"
    NUMBER = "number"
    TEXT = "text"
    CHARACTER = "character"
    SYMBOL = "symbol"


class Token(NamedTuple):
    """A token; `text` is as written, `at` its first character."""

    kind: TokenKind
    text: str
    at: int

    @property
    def end(self) -> int:
        """The character after its last."""
        return self.at + len(self.text)


_SPLICE = r"\\\r?\n"
_TOKEN = re.compile(
    rf"""
    (?P<space>(?:[ \t\f\v]|{_SPLICE}|\r(?!\n))+)
  | (?P<newline>\r?\n)
  | (?P<comment>//(?:{_SPLICE}|[^\n\\]|\\)*+|/\*.*?(?:\*/|\Z))
  | (?P<text>
        (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{{0,16}})\(.*?(?:\)(?P=delimiter)"|\Z)
      | (?:u8|[uUL])?"(?:{_SPLICE}|\\.|[^"\\\n])*+(?:"|(?=\n)|\Z|\\\Z))
  | (?P<character>(?:u8|[uUL])?'(?:{_SPLICE}|\\.|[^'\\\n])*+(?:'|(?=\n)|\Z|\\\Z))
  | (?P<name>[^\W\d](?:\w|{_SPLICE}(?=\w))*+)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.]|{_SPLICE}(?=[\w.]))*+)
  | (?P<symbol><<<|<<=|\.\.\.|->\*|[-+*/%&|^=!<]=|\#\#|::|->|\+\+|--|<<|&&|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = {kind.value: kind for kind in TokenKind}
_SPLICES = re.compile(_SPLICE)


def tokens(text: str) -> Iterator[Token]:
    """All tokens of a text, in order."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        yield Token(_KINDS[kind], match[0], match.start())


def without_splices(text: str) -> str:
    """The text of a token in one line."""
    return _SPLICES.sub("", text) if "\\" in text else text


def blanked(text: str) -> str:
    """Spaces in place of a text; its lines stay."""
    return _NOT_LINE_END.sub(" ", text)


_NOT_LINE_END = re.compile(r"[^\r\n]")
