"""PTX text cut into statements, each with its line (PTX ISA 9.0, section 4).

One regular expression finds the end of a statement and its parts at once; operands stay text until
a kernel is built, because what a name means depends on its scope.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kernelcast.errors import ParseError


class PtxStatement(NamedTuple):
    """One statement.

    `head` is the instruction's full name, a directive with its dot, `{`, `}`, or `:` for a label
    (whose name is then `arguments`). A function's head is `.function` with its header as
    `arguments`, followed by `;` where it has no body.
    """

    line: int
    head: str
    arguments: str
    guard: str = ""


_COMMENT_OR_STRING = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

_BODY = r"([^;{}]*+(?:\{(?:[^{}]++|\{[^{}]*+\})*+\}[^;{}]*+)*+);"

_STATEMENT = re.compile(
    rf"""\s*+(?:
      (?:@\s*(!?\s*[\w$%]+)\s+)?+ ([a-z][\w.]*+(?:::[\w.]++)*+) (?!\s*:) \s*+ {_BODY}   # 1, 2, 3
    | ([A-Za-z_$%][\w$]*+) \s*+ :                                                       # 4
    | ([{{}}])                                                                          # 5
    | (\.(?:loc|file|version|target|address_size)\b) \s*+ ([^\n;]*+)                    # 6, 7
    | \.section\s[^{{}};]*+\{{[^{{}}]*+\}}
    | ((?:\.(?:visible|extern|weak|common)\s+)*+\.(?:entry|func)\b[^;{{]*+;?)           # 8
    | (\.[a-z_]\w*+) \s*+ {_BODY}                                                       # 9, 10
    )""",
    re.VERBOSE,
)


def scan(text: str, source: str) -> list[PtxStatement]:
    """Cut PTX text into statements; sections of debugging data are left out.

    Raises ParseError at the first text that is no statement; `source` names the file in it.
    """
    text = _without_comments(text)
    statements: list[PtxStatement] = []
    match = _STATEMENT.match
    count = text.count
    position = counted = 0
    line = 1
    # Lines are counted from one statement to the next, so that every character is seen once.
    while found := match(text, position):
        guard, name, operands, label, brace, directive, rest, header, keyword, body = found.groups()
        if name is not None:
            start = found.start(2)
            line += count("\n", counted, start)
            statements.append(PtxStatement(line, name, operands, guard or ""))
        else:
            start = found.start(found.lastindex or 0)
            if label is not None:
                head, arguments = ":", label
            elif brace is not None:
                head, arguments = brace, ""
            elif directive is not None:
                head, arguments = directive, rest
                start = found.start(6)
            elif header is not None:
                head, arguments = ".function", header
            elif keyword is not None:
                head, arguments = keyword, body
                start = found.start(9)
            else:
                # A section of debugging data.
                position = found.end()
                continue
            line += count("\n", counted, start)
            statements.append(PtxStatement(line, head, arguments))
        counted = start
        position = found.end()
    # Text is left over: the pattern stopped at what is no statement.
    if rest := text[position:].lstrip():
        line += count("\n", counted, len(text) - len(rest))
        raise ParseError(_expectation(rest), where=f"{source}:{line}")
    return statements


def _without_comments(text: str) -> str:
    """Comments become blanks, line breaks inside them stay."""

    def blank(found: re.Match[str]) -> str:
        piece = found.group()
        return piece if piece[0] == '"' else " " + "\n" * piece.count("\n")

    return _COMMENT_OR_STRING.sub(blank, text)


def _expectation(rest: str) -> str:
    """Say what should stand where `rest` begins."""
    found = rest.split("\n", 1)[0].strip()[:40]
    if re.match(r"(@\s*!?\s*[\w$%]+\s+)?\.?[a-z]", rest):
        return f"expected ';' at the end of {found!r}"
    return f"expected an instruction, a label or a directive, found {found!r}"


def split_arguments(text: str) -> list[str]:
    """Split at the commas that stand outside brackets and braces; pieces are stripped."""
    if not text or text.isspace():
        return []
    if "{" not in text and "(" not in text:
        return [piece.strip() for piece in text.split(",")]
    pieces = []
    depth = start = 0
    for at, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            pieces.append(text[start:at].strip())
            start = at + 1
    pieces.append(text[start:].strip())
    return pieces
