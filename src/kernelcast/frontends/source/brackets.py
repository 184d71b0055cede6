"""Words among brackets: where one closes, and what stands outside of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Lexeme

OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
CHANGING = frozenset({"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="})
"""Assignments that change what was there."""
_NOT_IN_TEMPLATE = frozenset({";", ")", "]", "}", "&&", "||", "<<<"}) | CHANGING
"""What does not stand among template arguments: before it a `<` compares."""
_TELLS_OF_TEMPLATE = _NOT_IN_TEMPLATE | {"<", ">"}


def matching(words: Sequence[Lexeme], opening: int) -> int:
    """The place of the bracket, of any kind, that closes the one at `opening`; -1 without one."""
    depth = 0
    for at in range(opening, len(words)):
        text = words[at].text
        depth += (text in OPENING) - (text in CLOSING)
        if depth == 0 and text in CLOSING:
            return at
    return -1


def first_outside(words: Sequence[Lexeme], begin: int, stops: Collection[str]) -> int:
    """The first of some words, from a place on, that stands outside brackets; as many as there are
    words without one, and where a bracket is not closed."""
    at = begin
    while at < len(words) and words[at].text not in stops:
        closing = matching(words, at) if words[at].text in OPENING else at
        if closing < 0:
            return len(words)
        at = closing + 1
    return min(at, len(words))


def template_end(words: Sequence[Lexeme], opening: int) -> int:
    """The `>` that closes the template arguments opened at a `<`; -1 where it opens none."""
    depth, at = 0, opening
    while (at := first_outside(words, at, _TELLS_OF_TEMPLATE)) < len(words):
        text = words[at].text
        depth += (text == "<") - (text == ">")
        if depth == 0 or text in _NOT_IN_TEMPLATE:
            return at if text == ">" else -1
        at += 1
    return -1


def split_words(words: Sequence[Lexeme], separator: str = ",") -> list[tuple[Lexeme, ...]]:
    """Words split at the separators outside brackets and template arguments."""
    parts: list[list[Lexeme]] = [[]]
    at = 0
    while at < len(words):
        word = words[at]
        end = at
        if word.text in OPENING:
            end = matching(words, at)
        elif word.text == "<" and at and words[at - 1].kind is TokenKind.NAME:
            end = template_end(words, at)
        if end > at:
            parts[-1] += words[at : end + 1]
            at = end + 1
            continue
        if word.text == separator:
            parts.append([])
        else:
            parts[-1].append(word)
        at += 1
    return [tuple(part) for part in parts] if len(words) else []
