"""Containers of the host that tell how long arrays are: `std::vector`, and those of Thrust.

An argument such as `thrust::raw_pointer_cast(v.data())` is an array as long as `v`, and programs
allocate `v.size() * sizeof(float)` bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kernelcast.frontends.source.brackets import (
    first_outside,
    matching,
    split_words,
    template_end,
)
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Lexeme, Lexemes, as_words

CONTAINERS = frozenset({"vector", "device_vector", "host_vector", "universal_vector"})
"""Templates whose elements lie one behind the other, as many as `size()` says."""
CHANGES = frozenset({"push_back", "emplace_back", "pop_back", "insert", "erase", "clear", "swap"})
"""What leaves another number of elements, nobody knows how many."""
_GIVES_COUNT = frozenset({"resize", "assign"})


def declared_containers(
    words: Sequence[Lexeme], opening: int, known: Collection[str]
) -> Iterator[tuple[str, Lexemes, Lexemes]]:
    """The containers of a declaration, from the `<` of its template arguments on: their names,
    the type of their elements and how many there are, of which no words where that is not said.

    `known` names containers that were declared before.
    """
    closing = template_end(words, opening)
    at = closing + 1
    if closing < 0:
        return
    element = split_words(words[opening + 1 : closing])[0]
    while at + 1 < len(words) and words[at].kind is TokenKind.NAME:
        yield words[at].text, element, _count_given(words, at + 1, known)
        at = first_outside(words, at + 1, ",;")
        if at >= len(words) or words[at].text != ",":
            return
        at += 1


def count_changed(words: Sequence[Lexeme], at: int, known: Collection[str]) -> Lexemes:
    """How many elements a container is given by `c.resize(n)` or `c.assign(n, x)`, at the name of
    what it does."""
    if words[at].text not in _GIVES_COUNT:
        return ()
    given = split_words(words[at + 2 : matching(words, at + 1)])
    return count_of(given[0], known) if given else ()


def bytes_of_elements(count: Lexemes, element: Lexemes) -> Lexemes:
    """The words of how many bytes so many elements of a type have."""
    return (*as_words("sizeof ("), *element, *as_words(") * ("), *count, *as_words(")"))


def _count_given(words: Sequence[Lexeme], at: int, known: Collection[str]) -> Lexemes:
    """How many elements a container begins with, by the brackets behind its name."""
    text = words[at].text
    if text not in ("(", "{"):
        return ()
    given = split_words(words[at + 1 : matching(words, at)])
    if text == "{" or not given:
        return as_words(str(len(given)))
    return count_of(given[0], known)


def count_of(words: Lexemes, known: Collection[str]) -> Lexemes:
    """How many elements something has that a container is made of: as many as another one, as the
    list has, or a number of them."""
    if not words:
        return ()
    if words[0].text == "{":
        return as_words(str(len(split_words(words[1:-1]))))
    is_begin = len(words) > 2 and words[1].text in (".", "->") and "begin" in words[2].text
    if is_begin or (len(words) == 1 and words[0].text in known):
        return (words[0], *as_words(". size ( )"))
    return words
