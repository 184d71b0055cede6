"""Reads the text of an Accel-Sim trace: its head, and its instructions one by one."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernelcast.errors import InputError, ParseError
from kernelcast.ir import Dim3, Launch
from kernelcast.traces.recognise import XZ_MAGIC

_KEY = re.compile(r"-(\w[\w ]*?) = (.*)")
_DIM = re.compile(r"\((\d+),(\d+),(\d+)\)")
_BLOCK_NUMBERS = 4
"""Words before the pc in traces of a tracer older than version 3: block and warp."""

_FIRST_WITHOUT_NUMBERS = 3
_FIRST_WITH_COMMITS = 6
_START_BYTES = 4096
_MAX_WARPS = 32
_MAX_BLOCKS = 1 << 48


@dataclass(frozen=True, slots=True)
class Head:
    """What stands at the top of a trace; `first_word` is the place of the pc in its lines.

    Where it `has_commits`, a matrix product by a warp group has a word more than others.
    """

    name: str
    launch: Launch
    shared_bytes: int
    registers: int | None
    binary_version: int
    shared_base: int
    local_base: int
    has_lines: bool
    has_commits: bool
    first_word: int


@dataclass(frozen=True, slots=True)
class WarpIndex:
    """A warp of a block, by its linear index in the grid."""

    block: int
    warp: int


class TraceText:
    """The text of one launch, read from the top as often as wanted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._number = 0
        with self.opened() as file:
            self.head = self._head(file)

    def instructions(self) -> Iterator[tuple[WarpIndex, list[str]]]:
        """The words of every instruction with the warp that executed it: the same `WarpIndex` for
        all of one warp's, and a new one for the next warp's.

        ParseError where the text ends early or is no trace.
        """
        with self.opened() as file:
            self._head(file)
            block, place, left, is_open = -1, WarpIndex(-1, -1), 0, False
            for line in self._lines(file):
                words = line.split()
                if words[0] == "#BEGIN_TB":
                    is_open, block = True, -1
                elif words[0] == "#END_TB":
                    is_open = self._closed(is_open and not left)
                elif words[:2] == ["thread", "block"]:
                    block = self._block(line)
                elif words[0] == "warp":
                    place = self._warp(block, line, left)
                elif words[0] == "insts":
                    left = self._value(line)
                elif words[0] != "cluster":
                    if not is_open:
                        raise InputError(
                            "its instructions are not grouped by blocks",
                            where=str(self.path),
                            hint="run Accel-Sim's post-traces-processing on the list of its folder",
                        )
                    if not left:
                        raise self.error("an instruction more than its warp has")
                    left -= 1
                    yield place, words
            if is_open or left or block < 0:
                raise InputError("the trace is cut short", where=str(self.path), hint=_AGAIN)

    def error(self, what: str) -> ParseError:
        """What is wrong with the line that was read last."""
        return ParseError(what, where=f"{self.path}:{self._number}", hint=_AGAIN)

    @contextmanager
    def opened(self) -> Iterator[IO[str]]:
        """The text, unpacked where it is compressed; what is wrong with the file as InputError."""
        try:
            with open_text(self.path) as file:
                yield file
        except (lzma.LZMAError, EOFError):
            raise InputError(
                "the trace is damaged or cut short", where=str(self.path), hint=_AGAIN
            ) from None

    def _lines(self, file: IO[str]) -> Iterator[str]:
        """Lines that are not empty; `_number` counts them all."""
        for line in file:
            self._number += 1
            if not line.isspace():
                yield line

    def _head(self, file: IO[str]) -> Head:
        self._number = 0
        values: dict[str, str] = {}
        for line in self._lines(file):
            if line.startswith("#"):
                break
            found = _KEY.fullmatch(line.strip())
            if found is None:
                raise self.error("not a line of the head of an Accel-Sim trace")
            values[found[1]] = found[2].strip()
        try:
            return _head(values)
        except KeyError as missing:
            raise InputError(
                f"its head does not say the {missing.args[0]}", where=str(self.path), hint=_AGAIN
            ) from None
        except ValueError as error:
            raise InputError(
                f"its head cannot be read: {error}", where=str(self.path), hint=_AGAIN
            ) from None

    def _closed(self, is_complete: bool) -> bool:
        if not is_complete:
            raise self.error("a block ends that is not complete")
        return False

    def _block(self, line: str) -> int:
        grid = self.head.launch.grid
        try:
            position = [int(word) for word in line.partition("=")[2].split(",")]
            x, y, z = position
        except ValueError:
            raise self.error("not a block") from None
        if not all(0 <= p < extent for p, extent in zip(position, grid, strict=True)):
            raise self.error("a block outside the grid")
        return x + grid[0] * (y + grid[1] * z)

    def _warp(self, block: int, line: str, left: int) -> WarpIndex:
        if left or block < 0:
            raise self.error("a warp before the one before it is complete")
        warp = self._value(line)
        if warp >= self.head.launch.warps_per_block:
            raise self.error(f"warp {warp}, which the block has not")
        return WarpIndex(block, warp)

    def _value(self, line: str) -> int:
        value = line.partition("=")[2].strip()
        if not value.isdecimal():
            raise self.error("a number is missing")
        return int(value)


_AGAIN = "check that it is a .traceg of Accel-Sim, whole"


def open_text(path: Path) -> IO[str]:
    """A text file, unpacked where it is an .xz; InputError where there is none."""
    try:
        with path.open("rb") as file:
            start = file.read(_START_BYTES)
        if start.startswith(XZ_MAGIC):
            return lzma.open(path, "rt", encoding="latin-1")
        if b"\0" in start:
            raise InputError(
                "not text", where=str(path), hint="unpack a .tracez with Accel-Sim's traceDsm"
            )
        return path.open(encoding="latin-1")
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", where=str(path), hint="check the path"
        ) from None


def _head(values: Mapping[str, str]) -> Head:
    """KeyError and ValueError where something is missing or no number."""
    launch = Launch(_dim(values["grid dim"]), _dim(values["block dim"]))
    if not 0 < launch.warps_per_block <= _MAX_WARPS or not 0 < launch.blocks <= _MAX_BLOCKS:
        raise ValueError(f"no launch is {launch}")
    has_lines = values.get("enable lineinfo", "0") == "1"
    version = int(values.get("accelsim tracer version", "1"))
    return Head(
        name=values["kernel name"],
        launch=launch,
        shared_bytes=int(values.get("shmem", "0")),
        registers=int(values.get("nregs", "0")) or None,
        binary_version=int(values["binary version"]),
        shared_base=int(values.get("shmem base_addr", "0"), 16),
        local_base=int(values.get("local mem base_addr", "0"), 16),
        has_lines=has_lines,
        has_commits=version >= _FIRST_WITH_COMMITS,
        first_word=has_lines + (_BLOCK_NUMBERS if version < _FIRST_WITHOUT_NUMBERS else 0),
    )


def _dim(text: str) -> Dim3:
    found = _DIM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no extent")
    return int(found[1]), int(found[2]), int(found[3])
