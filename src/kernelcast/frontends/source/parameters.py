"""Parameters of functions and templates, as they are declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelcast.frontends.source.brackets import split_words, template_end
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.top_level import SourceDeclaration
from kernelcast.frontends.source.words import Lexeme, Lexemes

_DROPPED = frozenset(
    {
        *("const", "volatile", "struct", "class", "enum", "typename", "__restrict__", "__restrict"),
        *("restrict", "__grid_constant__", "static", "extern", "inline", "register"),
    }
)
_BUILT_IN = frozenset(
    ["bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "void"]
)


@dataclass(frozen=True, slots=True)
class WrittenParameter:
    """A parameter as written; `type` is without `const`, with `*` for every pointer. `default` is
    what it holds where a call gives nothing, empty where one must."""

    name: str
    type: str
    default: Lexemes = ()


def read_parameters(
    words: Sequence[Lexeme], function: SourceDeclaration
) -> tuple[WrittenParameter, ...]:
    """The parameters of a function."""
    if function.parameters is None:
        return ()
    parts = split_words(words[slice(*function.parameters)])
    return tuple(found for part in parts if (found := _parameter(part)) is not None)


def template_parameters(words: Sequence[Lexeme], function: SourceDeclaration) -> tuple[str, ...]:
    """The names of a template's parameters, in order; empty where one has none."""
    if function.template is None:
        return ()
    found = []
    for part in split_words(words[slice(*function.template)]):
        names = [w.text for w in _declaration(part) if w.kind is TokenKind.NAME]
        found.append(names[-1] if names else "")
    return tuple(found)


def spelled(words: Sequence[Lexeme]) -> str:
    """Words as one text, with spaces where C++ needs them, and after commas."""
    text = ""
    for word in words:
        both = text[-1:].isidentifier() or text[-1:].isdigit()
        is_apart = both and (word.text[:1].isidentifier() or word.text[:1].isdigit())
        text += f" {word.text}" if is_apart or text.endswith(",") else word.text
    return text


def _declaration(words: Sequence[Lexeme]) -> Sequence[Lexeme]:
    """What stands before a default value."""
    stop = next((at for at, word in enumerate(words) if word.text == "="), len(words))
    return words[:stop]


def _parameter(words: Sequence[Lexeme]) -> WrittenParameter | None:
    declared = _declaration(words)
    kept = [word for word in declared if word.text not in _DROPPED]
    brackets = next((at for at, word in enumerate(kept) if word.text == "["), len(kept))
    outside = list(_outside_templates(kept[:brackets]))
    stars = sum(word.text == "*" for word in outside) + (brackets < len(kept))
    kept = [w for w in kept[:brackets] if w.text not in ("*", "&", "&&") or w not in outside]
    if not kept or (len(kept) == 1 and kept[0].text == "void" and not stars):
        return None
    is_named = len(kept) > 1 and kept[-1].kind is TokenKind.NAME
    if is_named and (kept[-2].text == "::" or kept[-1].text in _BUILT_IN):
        is_named = False
    type_ = spelled(kept[:-1] if is_named else kept)
    default = tuple(words[len(declared) + 1 :])
    return WrittenParameter(kept[-1].text if is_named else "", type_ + "*" * stars, default)


def _outside_templates(words: Sequence[Lexeme]) -> Iterator[Lexeme]:
    at = 0
    while at < len(words):
        end = template_end(words, at) if words[at].text == "<" else -1
        if end < 0:
            yield words[at]
        at = max(end, at) + 1
