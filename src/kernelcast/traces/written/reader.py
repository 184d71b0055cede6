"""Reads a written trace: a head, the section `code`, and the section `path` (docs/traces.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kernelcast.errors import InputError, NotFoundError, ParseError
from kernelcast.execution import address_map
from kernelcast.execution.memory import Region
from kernelcast.ir import Dim3, Kernel, Launch, Resources
from kernelcast.ir.launch import ELEMENT_BYTES
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.assembly import MACHINE_CODE
from kernelcast.traces.recognise import WRITTEN_MAGIC
from kernelcast.traces.written.code import CodeReader, check_code
from kernelcast.traces.written.expressions import Expression, ThreadValues
from kernelcast.traces.written.program import (
    PathBranch,
    PathLoop,
    PathStatement,
    PathStep,
    WrittenTrace,
)

_MOST_BYTES = 1 << 20
_MOST_DEPTH = 16
_MOST_THREADS = 1024
_MOST_BLOCKS = 1 << 31
_MOST_NUMBER = 1 << 40
_VERSION = "1"
_THREAD_NAMES = ("thread", "lane", "warp", "x", "y", "z", "block", "bx", "by", "bz")
_TARGET = re.compile(r"sm_1[0-3]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_KEYWORDS = ("repeat", "when", "end")


def read_written(path: Path, numbers: Mapping[str, int] | None = None) -> WrittenTrace:
    """The trace in a file; `numbers` take the place of those that it gives with `let`.

    Raises InputError, with file and line, where it is none.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", where=str(path), hint="check the path"
        ) from None
    if len(data) > _MOST_BYTES:
        raise InputError(f"a written trace of more than {_MOST_BYTES} bytes", where=str(path))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ParseError("not UTF-8 text", where=str(path)) from None
    return parse_written(text, str(path), numbers)


def parse_written(text: str, where: str, numbers: Mapping[str, int] | None = None) -> WrittenTrace:
    """The same of a text; `where` names it."""
    return _TextReader(where, dict(numbers or {})).trace(text)


@dataclass
class _TextReader:
    """Reads line by line; what has been read so far is its state."""

    where: str
    given: dict[str, int]
    names: dict[str, int] = field(default_factory=dict)
    head: dict[str, str] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    code: CodeReader = field(default_factory=CodeReader)

    def trace(self, text: str) -> WrittenTrace:
        lines = self._lines(text)
        self._check_version(*next(lines, ("", self.where)))
        for line, at in lines:
            if line == "code":
                break
            self._take_head(line, at)
        for line, at in lines:
            if line == "path":
                break
            self.code.take(line, at)
        check_code(self.code, self.where)
        if unknown := set(self.given) - set(self.names):
            raise NotFoundError("number", min(unknown), self.names, where=self.where)
        blocks = self.code.blocks()
        labels = tuple(self.code.starts)
        path = _PathReader(lines, labels, self.where).statements(0)
        kernel = Kernel(
            name=self._word("kernel"),
            isa=MACHINE_CODE,
            target=self._target(),
            parameters=(),
            instructions=tuple(self.code.instructions),
            blocks=blocks,
            resources=Resources(
                registers=self._number("registers", 1, 128),
                static_shared_bytes=self._number("shared", 0, 1 << 20)
                if "shared" in self.head
                else 0,
                source="the trace",
            ),
            source=self.where,
        )
        return WrittenTrace(
            kernel=kernel,
            launch=Launch(self._grid(), self._block(), {}, 0, kernel.name, 1),
            labels=labels,
            accesses=self.code.accesses,
            path=path,
            names=self.names,
            regions=tuple(self.regions),
            where=self.where,
        )

    def _lines(self, text: str) -> Iterator[tuple[str, str]]:
        """Lines that are not empty, without comments, and where they stand."""
        for number, line in enumerate(text.splitlines(), 1):
            content = line.partition("#")[0].strip()
            if content:
                yield content, f"{self.where}:{number}"

    def _check_version(self, line: str, at: str) -> None:
        magic = WRITTEN_MAGIC.decode()
        if not line.startswith(magic):
            raise InputError("not a written trace", where=at, hint=f"begin with `{magic} 1`")
        if (version := line.removeprefix(magic).strip()) != _VERSION:
            raise InputError(
                f"a written trace of version {version or 'unknown'}",
                where=at,
                hint=f"this one reads version {_VERSION}",
            )

    def _take_head(self, line: str, at: str) -> None:
        key, _, rest = line.partition(" ")
        takers: dict[str, Callable[[str, str], None]] = {"let": self._let, "array": self._array}
        if key in takers:
            takers[key](rest.strip(), at)
        elif key not in _FIELDS:
            raise NotFoundError("line", key, (*_FIELDS, "let", "array", "code"), where=at)
        elif key in self.head:
            raise ParseError(f"a second line {key!r}", where=at)
        else:
            self.head[key] = rest.strip()
            self.head[f"{key} at"] = at

    def _let(self, text: str, at: str) -> None:
        name, separator, value = (part.strip() for part in text.partition("="))
        self._check_name(name, at)
        if not separator:
            raise ParseError("no value", where=at, hint="write `let name = number`")
        self.names[name] = self.given.get(name, self._value(value, at, -_MOST_NUMBER, _MOST_NUMBER))

    def _array(self, text: str, at: str) -> None:
        """`name type elements`: arrays lie as far apart as those of launches do."""
        name, kind, elements = (*text.split(None, 2), "", "", "")[:3]
        self._check_name(name, at)
        if kind not in ELEMENT_BYTES:
            raise NotFoundError("type", kind, ELEMENT_BYTES, where=at)
        size_bytes = ELEMENT_BYTES[kind] * self._value(elements, at, 1, _MOST_NUMBER)
        start = address_map.GLOBAL_BASE
        if self.regions:
            start = self.regions[-1].end + address_map.GUARD_BYTES
            start += -start % address_map.ARRAY_ALIGN_BYTES
        self.regions.append(Region(name, start, size_bytes, kind))
        self.names[name] = start

    def _check_name(self, name: str, at: str) -> None:
        if not _NAME.fullmatch(name):
            raise ParseError(f"{name!r} is no name", where=at)
        if name in self.names or name in _THREAD_NAMES:
            raise ParseError(f"{name!r} is known already", where=at)

    def _value(self, text: str, at: str, low: int, high: int) -> int:
        names = {name: np.asarray(value, np.int64) for name, value in self.names.items()}
        value = Expression.read(text, at).number(names)
        if not low <= value <= high:
            raise ParseError(f"{value} is out of range", where=at, hint=f"give {low} to {high}")
        return value

    def _word(self, key: str) -> str:
        if not self.head.get(key):
            raise ParseError(f"no line {key!r}", where=self.where, hint=f"write `{key} ...`")
        return self.head[key]

    def _number(self, key: str, low: int, high: int) -> int:
        return self._value(self._word(key), self.head[f"{key} at"], low, high)

    def _target(self) -> str:
        target = self._word("target")
        if not _TARGET.fullmatch(target):
            raise InputError(
                f"a listing for {target}", where=self.head["target at"], hint="give sm_10 to sm_13"
            )
        return target

    def _sizes(self, key: str, most: int) -> Dim3:
        at = self.head.get(f"{key} at", self.where)
        parts = self._word(key).split()
        if len(parts) > 3:
            raise ParseError(f"{key} has {len(parts)} sizes", where=at, hint="give 1 to 3")
        x, y, z = (self._value(part, at, 1, most) for part in (*parts, "1", "1")[:3])
        if x * y * z > most:
            raise ParseError(f"{key} has {x * y * z}", where=at, hint=f"give {most} at most")
        return x, y, z

    def _grid(self) -> Dim3:
        return self._sizes("grid", _MOST_BLOCKS)

    def _block(self) -> Dim3:
        return self._sizes("block", _MOST_THREADS)


_FIELDS = ("target", "kernel", "grid", "block", "registers", "shared")


@dataclass(frozen=True)
class _PathReader:
    """Reads the statements of a path."""

    lines: Iterator[tuple[str, str]]
    labels: tuple[str, ...]
    where: str

    def statements(self, depth: int) -> tuple[PathStatement, ...]:
        """Those up to the `end` of this depth; at depth 0, up to the end of the file."""
        found: list[PathStatement] = []
        for line, at in self.lines:
            if depth > _MOST_DEPTH:
                raise ParseError("nested too deeply", where=at, hint=f"{_MOST_DEPTH} at most")
            if line == "end":
                if depth == 0:
                    raise ParseError("`end` of nothing", where=at)
                return tuple(found)
            found.append(self._statement(line, at, depth))
        if depth:
            raise ParseError("an `end` is missing", where=self.where)
        if not found:
            raise InputError("no path", where=self.where, hint="write a section `path`")
        return tuple(found)

    def _statement(self, line: str, at: str, depth: int) -> PathStatement:
        key, _, rest = line.partition(" ")
        if key == "when":
            return PathBranch(Expression.read(rest, at), self.statements(depth + 1))
        if key == "repeat":
            first, _, second = rest.strip().partition(" ")
            is_named = bool(second.strip()) and _NAME.fullmatch(first) is not None
            name, count = (first, second) if is_named else ("", rest)
            if name in _THREAD_NAMES:
                raise ParseError(f"{name!r} is known already", where=at)
            return PathLoop(name, Expression.read(count, at), self.statements(depth + 1))
        if line not in self.labels:
            raise NotFoundError("label", line, (*self.labels, *_KEYWORDS), where=at)
        return PathStep(self.labels.index(line), at)


def thread_names(launch: Launch, block: int) -> dict[str, ThreadValues]:
    """Names whose values are those of the threads of a block, by warp and lane."""
    x, y, z = launch.block
    grid_x, grid_y, _ = launch.grid
    thread = np.arange(launch.warps_per_block * WARP_LANES).reshape(-1, WARP_LANES)
    values = (
        thread,
        thread % WARP_LANES,
        thread // WARP_LANES,
        thread % x,
        thread // x % y,
        thread // (x * y),
        np.asarray(block),
        np.asarray(block % grid_x),
        np.asarray(block // grid_x % grid_y),
        np.asarray(block // (grid_x * grid_y)),
    )
    assert z >= 1
    return dict(zip(_THREAD_NAMES, values, strict=True))
