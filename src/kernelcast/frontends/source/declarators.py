"""Variables and fields as they are declared: `const float *p, q[2][N];` are two of type `float`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelcast.frontends.source.brackets import matching, split_words, template_end
from kernelcast.frontends.source.parameters import spelled
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Lexeme, Lexemes

_QUALIFIERS = frozenset(
    {
        *("const", "volatile", "static", "extern", "inline", "mutable", "constexpr", "typename"),
        *("struct", "class", "union", "enum", "__restrict__", "__restrict", "restrict"),
        *("__constant__", "__device__", "__managed__", "__shared__", "typedef", "register"),
        "__host__",
    }
)
_ALIGNING = frozenset({"__align__", "alignas", "__attribute__"})


@dataclass(frozen=True, slots=True)
class Declarator:
    """A name that is declared. `type` is spelled without qualifiers, `pointers` counts the stars
    behind it, `bounds` are those of an array, None where one is left open, and `alignment` the
    words of `alignas(...)`; `is_bits` where it is a field of single bits."""

    name: str
    type: str
    pointers: int
    bounds: tuple[Lexemes, ...] = ()
    alignment: Lexemes | None = None
    is_bits: bool = False


def read_declarators(words: Sequence[Lexeme]) -> tuple[Declarator, ...]:
    """What the words of a declaration without a body declare."""
    kept, alignment = _without_attributes(words)
    parts = [_before_value(part) for part in split_words(kept)]
    if not parts or not parts[0]:
        return ()
    type_ = _type_words(parts[0])
    rests = [parts[0][len(type_) :], *parts[1:]]
    spelled_type = spelled(type_)
    return tuple(
        found for rest in rests if (found := _declarator(rest, spelled_type, alignment)) is not None
    )


def alignment_of(words: Sequence[Lexeme]) -> Lexemes | None:
    """The words of the first `alignas(...)` or `__align__(...)` among words."""
    return _without_attributes(words)[1]


def _without_attributes(words: Sequence[Lexeme]) -> tuple[list[Lexeme], Lexemes | None]:
    """The words of types, names and bounds, and those of an alignment."""
    kept: list[Lexeme] = []
    alignment: Lexemes | None = None
    at = 0
    while at < len(words):
        word = words[at]
        if word.text in _ALIGNING and at + 1 < len(words) and words[at + 1].text == "(":
            end = matching(words, at + 1)
            inside = tuple(words[at + 2 : end])
            alignment = _of_attribute(inside) if word.text == "__attribute__" else inside
            at = end
        elif word.text not in _QUALIFIERS and word.text != ";":
            kept.append(word)
        at += 1
    return kept, alignment


def _of_attribute(words: Lexemes) -> Lexemes | None:
    """The alignment in `((aligned(16)))`."""
    for at, word in enumerate(words[:-1]):
        if word.text in ("aligned", "__aligned__") and words[at + 1].text == "(":
            return tuple(words[at + 2 : matching(words, at + 1)])
    return None


def _before_value(part: Sequence[Lexeme]) -> list[Lexeme]:
    """A declarator without its value; the colon of single bits and what follows stays."""
    for at, word in enumerate(part):
        if word.text in ("=", "{"):
            return list(part[:at])
    return list(part)


def _type_words(part: Sequence[Lexeme]) -> list[Lexeme]:
    """The words of the type: all before the name, stars apart."""
    stop = 0
    while stop < len(part) and part[stop].text not in ("*", "&", "(", "[", ":"):
        closing = template_end(part, stop) if part[stop].text == "<" else -1
        stop = max(closing, stop) + 1
    is_named = stop == len(part) or part[stop].text in ("[", ":")
    return list(part[: stop - 1 if is_named else stop])


def _declarator(rest: Sequence[Lexeme], type_: str, alignment: Lexemes | None) -> Declarator | None:
    bounded = next((at for at, word in enumerate(rest) if word.text == "["), len(rest))
    head = rest[:bounded]
    names = [word.text for word in head if word.kind is TokenKind.NAME]
    if any(word.text == "(" for word in head):  # a pointer to a function, `(*name)(int)`
        return Declarator(names[0], "void", 1, (), alignment) if names else None
    if not names or not type_:
        return None
    stars = sum(word.text in ("*", "&") for word in head)
    is_bits = any(word.text == ":" for word in head)
    return Declarator(names[0], type_, stars, tuple(_bounds(rest[bounded:])), alignment, is_bits)


def _bounds(words: Sequence[Lexeme]) -> Iterator[Lexemes]:
    at = 0
    while at < len(words) and words[at].text == "[":
        end = matching(words, at)
        if end < 0:
            return
        yield tuple(words[at + 1 : end])
        at = end + 1
