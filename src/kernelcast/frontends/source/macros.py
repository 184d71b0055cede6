"""Macros and what they expand to (C++17, [cpp.replace])."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelcast.errors import InputError
from kernelcast.frontends.source.tokens import TokenKind, tokens
from kernelcast.frontends.source.words import Directive, Lexeme

_MAX_WORDS = 1_000_000
"""Words that one macro may expand to."""
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro; `parameters` is None where it takes none, and the last of them holds all further
    arguments where it `is_variadic`."""

    name: str
    body: tuple[Lexeme, ...]
    parameters: tuple[str, ...] | None = None
    is_variadic: bool = False


def read_macro(directive: Directive) -> Macro | None:
    """The macro of a `#define`; None where there is no name."""
    words = directive.words
    if not words or words[0].kind is not TokenKind.NAME:
        return None
    name = words[0].text
    if not directive.is_called:
        return Macro(name, words[1:])
    closing = next((at for at, word in enumerate(words) if word.text == ")"), len(words))
    names = [word.text for word in words[2:closing] if word.text != ","]
    is_variadic = "..." in names
    if is_variadic:
        names = names[:-1] if len(names) > 1 and words[closing - 2].text != "," else names
        names[-1] = "__VA_ARGS__" if names[-1] == "..." else names[-1]
    return Macro(name, words[closing + 1 :], tuple(names), is_variadic)


def defined_macro(text: str) -> Macro:
    """The macro of a compiler's option: `NAME` or `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    body = tuple(
        Lexeme(token.kind, token.text, 0, 0, 0)
        for token in tokens(value if equals else "1")
        if token.kind is not TokenKind.SPACE
    )
    return Macro(name.strip(), body)


def _closing_bracket(words: Sequence[Lexeme], opening: int) -> int:
    """The place of the bracket that closes the one at `opening`; -1 where none does."""
    depth = 0
    for at in range(opening, len(words)):
        text = words[at].text
        if text == "(":
            depth += 1
        elif text == ")":
            depth -= 1
            if depth == 0:
                return at
    return -1


def _call_arguments(words: Sequence[Lexeme], opening: int, closing: int) -> list[list[Lexeme]]:
    """The arguments between two brackets."""
    found: list[list[Lexeme]] = [[]]
    depth = 0
    for word in words[opening + 1 : closing]:
        depth += (word.text == "(") - (word.text == ")")
        if word.text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(word)
    return found


def expand(
    words: Sequence[Lexeme],
    macros: Mapping[str, Macro],
    hidden: frozenset[str] = frozenset(),
    depth: int = 0,
) -> list[Lexeme]:
    """The words with every macro replaced, but those that are `hidden`.

    InputError where they expand to more than a million words.
    """
    found: list[Lexeme] = []
    pending = list(reversed(words))
    while pending:
        word = pending.pop()
        macro = macros.get(word.text) if word.kind is TokenKind.NAME else None
        if macro is None or word.text in hidden or depth > _MAX_DEPTH:
            found.append(word)
            continue
        call = _call(macro, word, pending)
        if call is None:
            found.append(word)
            continue
        arguments, last = call
        made = _substituted(macro, arguments, macros, hidden, depth)
        made = expand(made, macros, hidden | {macro.name}, depth + 1)
        made = [Lexeme(w.kind, w.text, word.file, word.begin, last.end) for w in made]
        found += made
        if pending and made and _is_called(made[-1], macros, pending[-1]):
            pending.append(found.pop())
        if len(found) > _MAX_WORDS:
            raise InputError(f"the macro {macro.name} expands to too much")
    return found


def _is_called(word: Lexeme, macros: Mapping[str, Macro], following: Lexeme) -> bool:
    """Whether the last word of an expansion is a macro whose arguments stand behind it."""
    macro = macros.get(word.text)
    return macro is not None and macro.parameters is not None and following.text == "("


def _call(
    macro: Macro, name: Lexeme, pending: list[Lexeme]
) -> tuple[Mapping[str, list[Lexeme]], Lexeme] | None:
    """Arguments of a call, taken off `pending`, and its last word; None where it is no call."""
    if macro.parameters is None:
        return {}, name
    if not pending or pending[-1].text != "(":
        return None
    reverse = pending[::-1] if len(pending) < 64 else _call_words(pending)
    closing = _closing_bracket(reverse, 0)
    if closing < 0:
        return None
    given = _call_arguments(reverse, 0, closing)
    del pending[len(pending) - closing - 1 :]
    return _bound(macro, given), reverse[closing]


def _call_words(pending: list[Lexeme]) -> list[Lexeme]:
    """The words of a call whose first bracket is the last of `pending`."""
    depth = 0
    for at in range(len(pending) - 1, -1, -1):
        depth += (pending[at].text == "(") - (pending[at].text == ")")
        if depth == 0:
            return pending[at:][::-1]
    return pending[::-1]


def _bound(macro: Macro, given: list[list[Lexeme]]) -> Mapping[str, list[Lexeme]]:
    """Arguments by parameter; those that are missing are empty."""
    names = macro.parameters or ()
    if macro.is_variadic and len(given) > len(names) > 0:
        rest = given[len(names) - 1]
        for more in given[len(names) :]:
            comma = Lexeme(TokenKind.SYMBOL, ",", 0, 0, 0)
            rest = [*rest, comma, *more]
        given = [*given[: len(names) - 1], rest]
    padded = [*given, *([] for _ in range(len(names) - len(given)))]
    return dict(zip(names, padded, strict=False))


def _substituted(
    macro: Macro,
    arguments: Mapping[str, list[Lexeme]],
    macros: Mapping[str, Macro],
    hidden: frozenset[str],
    depth: int,
) -> list[Lexeme]:
    """The body with its parameters replaced, `#` and `##` applied."""
    made: list[Lexeme] = []
    body = macro.body
    at = 0
    while at < len(body):
        word = body[at]
        following = body[at + 1].text if at + 1 < len(body) else ""
        if word.text == "#" and following in arguments:
            made.append(_quoted(arguments[following]))
            at += 1
        elif word.text == "##" and made and following:
            right = arguments.get(following, [body[at + 1]])
            made[-1:] = _pasted(made[-1], right)
            at += 1
        elif word.text in arguments:
            is_pasted = following == "##"
            given = arguments[word.text]
            made += given if is_pasted else expand(given, macros, hidden, depth + 1)
            if is_pasted and not given:
                made.append(Lexeme(TokenKind.NAME, "", 0, 0, 0))
        else:
            made.append(word)
        at += 1
    return [word for word in made if word.text]


def _quoted(words: Sequence[Lexeme]) -> Lexeme:
    text = " ".join(word.text for word in words).replace("\\", "\\\\").replace('"', '\\"')
    return Lexeme(TokenKind.TEXT, f'"{text}"', 0, 0, 0)


def _pasted(left: Lexeme, right: Sequence[Lexeme]) -> list[Lexeme]:
    """The words of two that become one, and what follows the second."""
    if not right:
        return [left]
    text = left.text + right[0].text
    kind = next(tokens(text)).kind if text else left.kind
    return [Lexeme(kind, text, left.file, left.begin, left.end), *right[1:]]
