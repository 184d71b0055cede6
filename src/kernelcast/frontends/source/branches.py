"""Under which conditions a word of a function is reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelcast.frontends.source.brackets import first_outside, matching
from kernelcast.frontends.source.words import Lexeme, Lexemes


def conditions_around(
    words: Sequence[Lexeme], begin: int, at: int
) -> Iterator[tuple[Lexemes, bool]]:
    """The conditions of every `if` around a word of the function whose body begins at `begin`, and
    whether each has to hold for the word to be reached, from outside inwards."""
    here = begin
    while here < at:
        if words[here].text != "if":
            here += 1
            continue
        opening = _opening(words, here)
        closing = matching(words, opening)
        if closing < 0 or closing >= at:
            return
        end = end_of_statement(words, closing + 1)
        condition = tuple(words[opening + 1 : closing])
        if end < 0 or at <= end:
            yield condition, True
            here = closing + 1
        elif _is_else(words, end + 1):
            last = _end_of_else(words, end + 1)
            if at <= last or last < 0:
                yield condition, False
                here = end + 2
            else:
                here = last + 1
        else:
            here = end + 1


def end_of_statement(words: Sequence[Lexeme], at: int) -> int:
    """Where a statement that begins at a word, a block or another, ends; -1 where it does not."""
    at = first_outside(words, at, ";{")
    return matching(words, at) if at < len(words) and words[at].text == "{" else at


def _opening(words: Sequence[Lexeme], at: int) -> int:
    """The bracket that the condition of an `if` begins with, which may be `constexpr`."""
    return at + 2 if words[at + 1].text == "constexpr" else at + 1


def _is_else(words: Sequence[Lexeme], at: int) -> bool:
    return at < len(words) and words[at].text == "else"


def _end_of_else(words: Sequence[Lexeme], at: int) -> int:
    """Where what stands behind an `else` ends, further branches with it."""
    while words[at + 1].text == "if":
        end = end_of_statement(words, matching(words, _opening(words, at + 1)) + 1)
        if end < 0 or not _is_else(words, end + 1):
            return end
        at = end + 1
    return end_of_statement(words, at + 1)
