"""What host compilers take and a compiler of device code does not: spelled otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from kernelcast.frontends.source.blanking import Range
from kernelcast.frontends.source.preprocess import SourceView
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.top_level import DeclarationKind, SourceDeclaration
from kernelcast.frontends.source.words import Directive, Lexeme

_BEFORE_VALUE = frozenset({"return", "=", "(", ",", "{", "+", "-", "*", "/", "?", ":", ";", "}"})

_NO_NUMBER = frozenset({"constexpr", "extern", "__device__", "__constant__", "__managed__"})
_POINTERS = frozenset({"*", "&", "("})
_NUMBERS = frozenset({"bool", "char", "short", "int", "long", "unsigned", "float", "double"})


def compound_literals(view: SourceView) -> Iterator[Range]:
    """The brackets of `(T){a, b}`, which is C: blanked, it is C++."""
    for number, file in enumerate(view.files):
        yield from _literals(file.words)
        for directive in file.directives:
            if directive.name == "define":
                for each in _literals(_replacement(directive)):
                    yield Range(number, each.begin, each.end, " ")


def constants(
    words: Sequence[Lexeme], declarations: Iterable[SourceDeclaration]
) -> Iterator[Range]:
    """The `const` of numbers, as `constexpr`.

    Host compilers compute `const float inverse = 1 / step;` where it stands, a compiler of device
    code only what is declared a constant expression.
    """
    for each in declarations:
        if each.kind is not DeclarationKind.VARIABLE or not each.marks.isdisjoint(_NO_NUMBER):
            continue
        declared = takewhile(lambda word: word.text != "=", words[each.begin : each.end])
        head = {word.text: word for word in declared}
        if "const" in head and head.keys().isdisjoint(_POINTERS) and head.keys() & _NUMBERS:
            word = head["const"]
            yield Range(word.file, word.begin, word.end, "constexpr")


def _replacement(directive: Directive) -> Sequence[Lexeme]:
    """What a macro stands for: the words behind its name and its parameters."""
    words = directive.words
    if not directive.is_called:
        return words[1:]
    end = next((at for at, word in enumerate(words) if word.text == ")"), len(words))
    return words[end + 1 :]


def has_designators(words: Sequence[Lexeme]) -> bool:
    """Whether members are given by name, as in `{.x = 1}`, which is C++20."""
    return any(
        word.text == "."
        and words[at - 1].text in ("{", ",")
        and words[at + 1].kind is TokenKind.NAME
        and words[at + 2].text == "="
        for at, word in enumerate(words[:-2])
        if at
    )


def _literals(words: Sequence[Lexeme]) -> Iterator[Range]:
    for at, word in enumerate(words[:-3]):
        if word.text != "(" or words[at + 2].text != ")" or words[at + 3].text != "{":
            continue
        before = words[at - 1] if at else None
        is_value = before is None or before.text in _BEFORE_VALUE
        if is_value and words[at + 1].kind is TokenKind.NAME:
            yield Range(word.file, word.begin, word.end, " ")
            yield Range(word.file, words[at + 2].begin, words[at + 2].end, " ")
