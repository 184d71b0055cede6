"""A source file as its preprocessor reads it: words, and lines that are directives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kernelcast.frontends.source.tokens import Token, TokenKind, tokens, without_splices

_SKIPPED = frozenset({TokenKind.SPACE, TokenKind.COMMENT})


class Lexeme(NamedTuple):
    """A token that means something, and the range of characters it comes from.

    `file` numbers the files of a view. A word that a macro made comes from where the macro was
    called.
    """

    kind: TokenKind
    text: str
    file: int
    begin: int
    end: int


Lexemes = tuple[Lexeme, ...]
"""Words that belong together, such as those of an argument."""


def as_words(text: str) -> Lexemes:
    """The words of a text that stands in no file."""
    skipped = {*_SKIPPED, TokenKind.NEWLINE}
    return tuple(Lexeme(t.kind, t.text, 0, 0, 0) for t in tokens(text) if t.kind not in skipped)


@dataclass(frozen=True, slots=True)
class Directive:
    """A line that begins with `#`: its name, such as `define`, and what follows.

    `begin` is the place of the `#`, `end` that of the line's end. `is_called` where a bracket
    follows the first word at once, as after the name of a macro with parameters.
    """

    name: str
    words: tuple[Lexeme, ...]
    begin: int
    end: int
    is_called: bool


def read_words(text: str, file: int) -> list[Lexeme | Directive]:
    """The words and directives of a file, in order, without spaces and comments."""
    found: list[Lexeme | Directive] = []
    stream = tokens(text)
    at_line_start = True
    for token in stream:
        if token.kind is TokenKind.NEWLINE:
            at_line_start = True
        elif token.kind not in _SKIPPED:
            if at_line_start and token.text == "#":
                found.append(_directive(token, stream, file))
            else:
                found.append(_word(token, file))
                at_line_start = False
    return found


def included_headers(text: str) -> tuple[str, ...]:
    """The headers that a source includes by their names, in any branch."""
    directives = (item for item in read_words(text, 0) if isinstance(item, Directive))
    named = ("".join(w.text for w in each.words) for each in directives if each.name == "include")
    return tuple(header.strip('<>"') for header in named)


def _directive(start: Token, stream: Iterator[Token], file: int) -> Directive:
    line = list(_to_line_end(stream))
    spelled = [token for token in line if token.kind not in _SKIPPED]
    words = tuple(_word(token, file) for token in spelled)
    end = line[-1].end if line else start.end
    name = words[0].text if words else ""
    is_called = len(words) > 2 and words[2].text == "(" and words[2].begin == words[1].end
    return Directive(name, words[1:], start.at, end, is_called)


def _to_line_end(stream: Iterator[Token]) -> Iterable[Token]:
    for token in stream:
        if token.kind is TokenKind.NEWLINE:
            return
        yield token


def _word(token: Token, file: int) -> Lexeme:
    return Lexeme(token.kind, without_splices(token.text), file, token.at, token.end)
