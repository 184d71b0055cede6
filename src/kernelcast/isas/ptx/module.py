"""A PTX module: its functions, variables and files (PTX ISA 9.0, section 11)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelcast.errors import ParseError
from kernelcast.ir import Dim3
from kernelcast.isas.ptx.declarations import Declaration, parse_variables
from kernelcast.isas.ptx.lexer import PtxStatement, scan, split_arguments
from kernelcast.isas.ptx.locations import parse_file

_HEADER = re.compile(
    r"(?P<linkage>(?:\.\w+\s+)*?)\.(?P<kind>entry|func)\b\s*"
    r"(?:\.attribute\s*\([^)]*\)+\s*)?"
    r"(?:\((?P<results>[^()]*)\)\s*)?"
    r"(?P<name>[A-Za-z_$%][\w$]*)\s*"
    r"(?:\((?P<formals>[^()]*)\)\s*)?"
    r"(?P<directives>(?:\.\w+[^;.]*)*)(?P<prototype>;?)\s*",
    re.DOTALL,
)
_COMMENTS = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_THREADS = re.compile(r"\.(?:maxntid|reqntid)\s+(\d[\d\s,]*)")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+(\d[\d\s,]*)")
_VARIABLE_HEADS = frozenset(
    (".global", ".const", ".shared", ".local", ".visible", ".extern", ".weak", ".common")
)
_IGNORED_HEADS = frozenset((".pragma", ".alias"))


@dataclass(frozen=True, slots=True)
class PtxFunction:
    """A kernel or device function; `body` is None where it is only declared."""

    name: str
    line: int
    is_kernel: bool
    results: tuple[Declaration, ...]
    formals: tuple[Declaration, ...]
    body: tuple[PtxStatement, ...] | None
    max_threads: int | None = None
    cluster: Dim3 = (1, 1, 1)


@dataclass(frozen=True)
class Module:
    """What one PTX text declares; `source` names the text in errors."""

    source: str
    version: str
    target: str
    address_bits: int
    functions: Mapping[str, PtxFunction]
    variables: Mapping[str, Declaration]
    files: dict[int, str]


@dataclass
class _ModuleBuilder:
    source: str
    version: str = ""
    target: str = ""
    address_bits: int = 64
    functions: dict[str, PtxFunction] = field(default_factory=dict)
    variables: dict[str, Declaration] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)

    def where(self, line: int) -> str:
        return f"{self.source}:{line}"


def read_module(text: str, source: str) -> Module:
    """Read the declarations of a PTX text and cut the functions' bodies into statements.

    Raises ParseError with file and line where the text does not follow the grammar. What stands
    between the commas of an instruction is read when a kernel is made of it.
    """
    builder = _ModuleBuilder(source)
    if not text.startswith(".version", start := _end_of_comments(text)):
        line = 1 + text.count("\n", 0, start)
        raise ParseError("expected '.version' at the start", where=builder.where(line))
    statements = scan(text, source)
    at = 0
    while at < len(statements):
        statement = statements[at]
        at += 1
        if statement.head == ".function":
            at = _read_function(builder, statements, at)
        else:
            _read_directive(builder, statement)
    return Module(
        source=source,
        version=builder.version,
        target=builder.target,
        address_bits=builder.address_bits,
        functions=builder.functions,
        variables=builder.variables,
        files=builder.files,
    )


def _end_of_comments(text: str) -> int:
    found = _COMMENTS.match(text)
    return found.end() if found else 0


def _read_directive(builder: _ModuleBuilder, statement: PtxStatement) -> None:
    head, text, where = statement.head, statement.arguments, builder.where(statement.line)
    if head in _VARIABLE_HEADS:
        for declaration in parse_variables(f"{head} {text}", statement.line, where):
            known = builder.variables.get(declaration.name)
            if known is None or known.is_extern:
                builder.variables[declaration.name] = declaration
    elif head == ".version":
        builder.version = text.strip()
    elif head == ".target":
        builder.target = text.split(",")[0].strip()
    elif head == ".address_size":
        builder.address_bits = _integer(text, where)
    elif head == ".file":
        index, path = parse_file(text, where)
        builder.files[index] = path
    elif head not in _IGNORED_HEADS:
        raise ParseError(
            f"expected a directive or a function, found {head + ' ' + text[:30]!r}", where=where
        )


def _read_function(builder: _ModuleBuilder, statements: list[PtxStatement], at: int) -> int:
    """Read the function whose header stands before index `at`; return the index behind it."""
    header = statements[at - 1]
    where = builder.where(header.line)
    found = _HEADER.fullmatch(header.arguments)
    if found is None:
        raise ParseError("expected a name, parameters and directives of a function", where=where)
    body = None
    if not found["prototype"]:
        end = _closing_brace(statements, at, builder)
        body = tuple(statements[at + 1 : end])
        at = end + 1
    function = PtxFunction(
        name=found["name"],
        line=header.line,
        is_kernel=found["kind"] == "entry",
        results=_formals(found["results"], header.line, where),
        formals=_formals(found["formals"], header.line, where),
        body=body,
        max_threads=_product(_THREADS, found["directives"]),
        cluster=_extents(_CLUSTER, found["directives"]) or (1, 1, 1),
    )
    # A prototype may stand before or after its definition.
    known = builder.functions.get(function.name)
    if known is None or known.body is None:
        builder.functions[function.name] = function
    elif body is not None:
        raise ParseError(f"function {function.name!r} is defined twice", where=where)
    return at


def _closing_brace(statements: list[PtxStatement], at: int, builder: _ModuleBuilder) -> int:
    """Index of the brace that closes the one at `at`."""
    opening = statements[at] if at < len(statements) else None
    if opening is None or opening.head != "{":
        line = statements[at - 1].line
        raise ParseError(
            "expected '{' or ';' after the function's header", where=builder.where(line)
        )
    depth = 0
    for index in range(at, len(statements)):
        head = statements[index].head
        if head == "{":
            depth += 1
        elif head == "}":
            depth -= 1
            if depth == 0:
                return index
    raise ParseError("expected '}' for this '{'", where=builder.where(opening.line))


def _formals(text: str | None, line: int, where: str) -> tuple[Declaration, ...]:
    pieces = split_arguments(text or "")
    return tuple(d for piece in pieces for d in parse_variables(piece, line, where))


def _extents(directive: re.Pattern[str], directives: str) -> Dim3 | None:
    """The extents that a directive gives, those left out being 1; None where it is not there."""
    found = directive.search(directives)
    if found is None:
        return None
    x, y, z, *_ = (*map(int, re.findall(r"\d+", found[1])), 1, 1, 1)
    return x, y, z


def _product(directive: re.Pattern[str], directives: str) -> int | None:
    extents = _extents(directive, directives)
    return None if extents is None else math.prod(extents)


def _integer(text: str, where: str) -> int:
    if not text.strip().isdigit():
        raise ParseError(f"expected a number, found {text.strip()[:30]!r}", where=where)
    return int(text)
