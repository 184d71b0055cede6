"""Conditions of `#if` (C++17, [cpp.cond])."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernelcast.frontends.source.c_expressions import (
    Binary,
    Conditional,
    Constant,
    Tree,
    Unary,
    read_expression,
)
from kernelcast.frontends.source.macros import Macro, expand
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Lexeme

_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << min(max(b, 0), 64),
    ">>": lambda a, b: a >> min(max(b, 0), 64),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
}
_SIGNS: Mapping[str, Callable[[int], int]] = {
    "+": lambda a: a,
    "-": lambda a: -a,
    "!": lambda a: int(not a),
    "~": lambda a: ~a,
}
_QUESTIONS = ("__has_include", "__has_include_next")


def holds(
    words: Sequence[Lexeme], macros: Mapping[str, Macro], has_header: Callable[[str], bool]
) -> bool:
    """Whether a condition holds; names that are no macros are 0, as is what is not understood."""
    answered = _answered(words, macros, has_header)
    return bool(_value(read_expression(expand(answered, macros))))


def _answered(
    words: Sequence[Lexeme], macros: Mapping[str, Macro], has_header: Callable[[str], bool]
) -> list[Lexeme]:
    """The words with `defined X` and `__has_include(X)` replaced by 1 or 0."""
    found: list[Lexeme] = []
    at = 0
    while at < len(words):
        word = words[at]
        is_question = word.text == "defined" or word.text in _QUESTIONS
        if not is_question or at + 1 >= len(words):
            found.append(word)
            at += 1
            continue
        is_bracketed = words[at + 1].text == "("
        texts = [w.text for w in words[at + 1 :]]
        last = texts.index(")") if is_bracketed and ")" in texts else 0
        asked = "".join(texts[1:last]) if is_bracketed else texts[0]
        known = asked in macros if word.text == "defined" else has_header(asked.strip('<>"'))
        found.append(Lexeme(TokenKind.NUMBER, str(int(known)), word.file, word.begin, word.end))
        at += last + 2
    return found


def _value(tree: Tree) -> int:
    match tree:
        case Constant(value=int() as number):
            return number
        case Unary(operator=operator, operand=operand) if operator in _SIGNS:
            return _SIGNS[operator](_value(operand))
        case Binary(operator=operator, left=left, right=right) if operator in _OPERATIONS:
            return _OPERATIONS[operator](_value(left), _value(right))
        case Conditional(condition=condition, yes=yes, no=no):
            return _value(yes) if _value(condition) else _value(no)
    return 0
