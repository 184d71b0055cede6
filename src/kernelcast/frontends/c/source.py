"""A C file as a tree: preprocessed here, parsed by pycparser, function by function.

The preprocessor is the one that reads CUDA C++ (`frontends/source`). System headers are not read:
their types are declared, and their functions are known by name. What does not parse is left out
with its reason, and the rest is parsed again, so that one bad function does not hide the others.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelcast.errors import ToolError
from kernelcast.frontends.c.nodes import Node, Place, kind
from kernelcast.frontends.c.refusals import RefusedLoop
from kernelcast.frontends.source.header_folders import HeaderFolders
from kernelcast.frontends.source.macros import Macro, defined_macro
from kernelcast.frontends.source.preprocess import SourceView, source_view
from kernelcast.frontends.source.words import Lexeme

_SYSTEM_HEADERS = frozenset(
    {
        *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
        *("locale", "malloc", "math", "omp", "setjmp", "signal", "stdarg", "stdbool", "stddef"),
        *("stdint", "stdio", "stdlib", "string", "strings", "sys/time", "sys/types", "tgmath"),
        *("time", "unistd"),
    }
)
"""Headers of ISO C, POSIX and OpenMP, without their `.h`."""

_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
_TYPES = "".join(
    f"typedef {sign}{name} {prefix}int{bits}_t; "
    for bits, name in _INTEGERS.items()
    for sign, prefix in (("signed ", ""), ("unsigned ", "u"))
)
_PRELUDE = (
    f"{_TYPES} typedef unsigned long size_t; typedef long ssize_t; typedef long ptrdiff_t; "
    "typedef long intptr_t; typedef unsigned long uintptr_t; typedef void FILE; "
    "typedef long time_t; typedef long clock_t; typedef void *va_list; "
)
"""Types of system headers, as on Linux with 64 bits."""

_MACROS = (
    *("__STDC__=1", "__STDC_VERSION__=199901L", "__STDC_HOSTED__=1", "__linux__=1", "__unix__=1"),
    *("__x86_64__=1", "__LP64__=1", "__restrict=restrict", "__restrict__=restrict", "bool=_Bool"),
    *("__inline=inline", "__inline__=inline", "__const=const", "__extension__=", "true=1"),
    *("__volatile__=volatile", "false=0", "NULL=0", "M_PI=3.14159265358979323846", "register="),
    *("M_PI_2=1.57079632679489661923", "M_E=2.7182818284590452354", "INT_MAX=2147483647"),
    *("M_SQRT2=1.41421356237309504880", "FLT_MAX=3.40282346638528859811704183484516925e+38F"),
    *("DBL_MAX=1.79769313486231570814527423731704357e+308", "FLT_EPSILON=1.1920928955078125e-07F"),
    *("DBL_EPSILON=2.220446049250313080847e-16", "INT_MIN=(-2147483647 - 1)"),
)
"""What gcc on Linux defines, and what the system headers would."""

_ERROR = re.compile(r"(?P<file>.*?):(?P<line>\d+):(?:\d+:)? ?(?P<what>.*)", re.DOTALL)
_MOST_REFUSED = 50
"""Functions of a file that may fail to parse before it is taken for something else than C."""


@dataclass(frozen=True)
class CFile:
    """A parsed file: functions by name, variables at file level, what could not be read."""

    name: str
    text: str = field(repr=False)
    functions: Mapping[str, Node]
    variables: Mapping[str, Node]
    typedefs: Mapping[str, Node]
    refusals: tuple[RefusedLoop, ...] = ()


def read_c(
    text: str, name: str, defines: Sequence[str] = (), include_dirs: Sequence[Path] = ()
) -> CFile:
    """Parse a C99 file.

    `defines` are `NAME` or `NAME=VALUE`, as for a compiler. Raises ToolError where the parser is
    not installed, and InputError where macros or files have no end.
    """
    folders = HeaderFolders(tuple(include_dirs))
    macros = {m.name: m for m in map(defined_macro, (*_MACROS, *defines))}
    macros["__attribute__"] = Macro("__attribute__", (), ("x",), is_variadic=True)
    view = source_view(text, name, find=folders.find, has_header=_is_system, macros=macros)
    chunks = list(_chunks(_preprocessed(view)))
    refusals = list(_missing_headers(view))
    tree = _parsed(chunks, name, refusals)
    return _sorted(tree, name, text, refusals)


def _is_system(header: str) -> bool:
    return header.removesuffix(".h") in _SYSTEM_HEADERS


def _missing_headers(view: SourceView) -> Iterator[RefusedLoop]:
    for include in view.includes:
        if include.target is None and not _is_system(include.header):
            file = view.files[include.file]
            line = file.text.count("\n", 0, include.begin) + 1
            yield RefusedLoop(
                Place(file.path, line),
                "",
                f"the header {include.header} is not there",
                "give its directory with -I",
            )


def _preprocessed(view: SourceView) -> list[tuple[Place, str]]:
    """The words of a file and what it includes, and its pragmas, each with its place."""
    pragmas = [
        (file.text.count("\n", 0, each.begin) + 1, each.begin, number, each)
        for number, file in enumerate(view.files)
        for each in file.directives
        if each.name == "pragma" and not any(a <= each.begin < b for a, b in file.skipped)
    ]
    pending = {number: [p for p in pragmas if p[2] == number] for number in range(len(view.files))}
    lines = _LineNumbers(view)
    found: list[tuple[Place, str]] = []
    for word in view.words:
        waiting = pending[word.file]
        while waiting and waiting[0][1] < word.begin:
            line, _, number, directive = waiting.pop(0)
            said = " ".join(each.text for each in directive.words)
            found.append((Place(view.files[number].path, line), f"#pragma {said}"))
        # The tokens of C++ leave every `>` alone, for the sake of templates.
        if found and found[-1][1] in (">", ">>") and word.text in (">", "="):
            found[-1] = (found[-1][0], found[-1][1] + word.text)
        else:
            found.append((Place(view.files[word.file].path, lines.of(word)), word.text))
    return found


class _LineNumbers:
    """The lines of words, most of which come in order."""

    def __init__(self, view: SourceView) -> None:
        self._ends = [
            [at for at, character in enumerate(file.text) if character == "\n"]
            for file in view.files
        ]

    def of(self, word: Lexeme) -> int:
        return bisect_left(self._ends[word.file], word.begin) + 1


_PlacedWords = list[tuple[Place, str]]


def _chunks(words: Sequence[tuple[Place, str]]) -> Iterator[_PlacedWords]:
    """Declarations at file level, one after the other; a pragma between them belongs to none."""
    chunk: _PlacedWords = []
    depth = 0
    is_function = False
    for at, (where, text) in enumerate(words):
        if text.startswith("#pragma") and depth == 0:
            continue
        chunk.append((where, text))
        if text == "{":
            is_function |= depth == 0 and len(chunk) > 1 and chunk[-2][1] == ")"
            depth += 1
        elif text == "}":
            depth -= 1
        ends = text == ";" or (text == "}" and is_function)
        # A brace too many would hide all that follows: a function begins at a new line's start.
        if (depth <= 0 and ends) or at == len(words) - 1:
            yield chunk
            chunk, depth, is_function = [], 0, False


def _written(chunk: _PlacedWords) -> str:
    """A chunk as text, with marks that say which line of which file follows."""
    parts: list[str] = []
    at: Place | None = None
    for where, text in chunk:
        if at != where or text.startswith("#pragma"):
            parts.append(f'\n# {where.line} "{where.file}"\n')
        parts.append(text + " ")
        at = None if text.startswith("#pragma") else where
    return "".join(parts)


def _parsed(chunks: list[_PlacedWords], name: str, refusals: list[RefusedLoop]) -> list[Node]:
    """The trees of all chunks that parse; those that do not are refused."""
    parser_of, parse_error = _parser()
    kept = list(chunks)

    def tree_of(some: list[_PlacedWords]) -> list[Node] | Exception:
        text = f'# 1 "<prelude>"\n{_PRELUDE}' + "".join(map(_written, some))
        try:
            tree: list[Node] = parser_of().parse(text, name).ext
        except parse_error as error:
            return error
        return tree

    while True:
        found = tree_of(kept)
        if not isinstance(found, Exception):
            return found
        bad = _place_of(str(found))
        at = next((i for i, chunk in enumerate(kept) if bad and _covers(chunk, bad)), -1)
        if at < 0:
            # The error says no place: it is in the first declaration that makes the text fail.
            counts = range(1, len(kept) + 1)
            at = bisect_left(counts, True, key=lambda n: isinstance(tree_of(kept[:n]), Exception))
            bad = None
        guilty = kept.pop(at)
        where, reason = bad or guilty[0][0], _reason(str(found))
        refusals.append(RefusedLoop(where, _named(guilty), reason, "correct the source"))
        if len(refusals) > _MOST_REFUSED:
            return []


def _covers(chunk: _PlacedWords, at: Place) -> bool:
    lines = [where.line for where, _ in chunk if where.file == at.file]
    return bool(lines) and min(lines) <= at.line <= max(lines)


def _named(chunk: _PlacedWords) -> str:
    """The name before the first bracket of a function's definition."""
    texts = [text for _, text in chunk]
    opening = texts.index("(") if "(" in texts else 0
    return texts[opening - 1] if opening else ""


def _place_of(message: str) -> Place | None:
    match = _ERROR.match(message)
    return Place(match["file"], int(match["line"])) if match else None


def _reason(message: str) -> str:
    match = _ERROR.match(message)
    what = (match["what"] if match else message.rpartition(": ")[2]).strip()
    if what.startswith("before:"):
        return f"not C99: a mistake before {what.removeprefix('before:').strip()!r}"
    return f"not C99: {what[:1].lower()}{what[1:]}"


def _parser() -> tuple[Any, type[Exception]]:
    try:
        from pycparser.c_parser import CParser, ParseError
    except ImportError:
        raise ToolError(
            "pycparser is not installed, which reads C",
            hint='install it: pip install "kernelcast[c]"',
        ) from None
    return CParser, ParseError


def _sorted(tree: Sequence[Node], name: str, text: str, refusals: list[RefusedLoop]) -> CFile:
    functions: dict[str, Node] = {}
    variables: dict[str, Node] = {}
    typedefs: dict[str, Node] = {}
    for node in tree:
        if kind(node) == "FuncDef":
            functions[node.decl.name] = node
        elif kind(node) == "Typedef":
            typedefs[node.name] = node.type
        elif kind(node) == "Decl" and node.name and kind(node.type) != "FuncDecl":
            variables[node.name] = node
    found = tuple(sorted(refusals, key=lambda r: (r.where.file != name, r.where.line)))
    return CFile(name, text, functions, variables, typedefs, found)
