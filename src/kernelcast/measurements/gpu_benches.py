"""The plain tables that the programs of RRZE-HPC/gpu-benches print, as typed rows.

A table does not name its GPU; its program is recognised by what its lines look like. What a column
means is what the program's source says, not its heading: gpu-stream prints its threads under the
heading of its blocks. Rates are of the program's own counting: every array once, nothing of caches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from kernelcast.errors import InputError, ParseError

_KB = 1024
_GIGA, _MEGA = 1e9, 1e6
_LARGEST_BLOCK = 1024
_WORD_BYTES = 8
_HEAD_LINES = 500
"""A table's first line of numbers is among these: some begin with what a compiler said."""


@dataclass(frozen=True, slots=True)
class ChaseRow:
    """gpu-latency: threads that do all the same follow pointers in random order, 128 bytes apart.

    `cycles` is the median of the repeats: seconds a hop times `clock_hz`, which the program
    measured once, at its start. Loads are cached by L1.
    """

    hops: int
    clock_hz: float
    footprint_bytes: float
    cycles: float


@dataclass(frozen=True, slots=True)
class CacheRead:
    """gpu-cache: one block on each SM reads the same array again and again; the best repeat."""

    footprint_bytes: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class SharedRead:
    """gpu-l2-cache: many blocks read one array, a part each; the best repeat."""

    part_bytes: float
    footprint_bytes: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Streams:
    """gpu-stream: arrays of a gigabyte and more, 8 bytes a thread; medians, in byte/s.

    `init` writes, `read` reads, `scale` reads as much as it writes, `triad` reads more. `threads`
    are those that run at once, on all `sms`.
    """

    sms: int
    threads: int
    init: float
    read: float
    scale: float
    triad: float


@dataclass(frozen=True, slots=True)
class ShortStreams:
    """gpu-l2-stream: the same over arrays of `length`, in a unit of the program's own."""

    sms: int
    threads: int
    length: int
    read: float
    scale: float
    triad: float
    init: float


@dataclass(frozen=True, slots=True)
class SmallKernel:
    """gpu-small-kernels: queued launches of which each thread reads and writes 8 bytes.

    The table holds whole GB/s: of a launch that moves 64 KiB in 2.6 us that is one in 25.
    """

    block: int
    elements: int
    bytes_per_s: float

    @property
    def launch_s(self) -> float:
        """Seconds from one launch to the next."""
        return 2 * _WORD_BYTES * self.elements / self.bytes_per_s

    @property
    def blocks_per_s(self) -> float:
        """Blocks that the GPU began in a second."""
        return self.elements / self.block / self.launch_s


@dataclass(frozen=True, slots=True)
class Intensity:
    """gpu-roofline: single precision; a launch that reads and computes on what it has read.

    `clock_hz` is the median over the first two seconds, `watts` the most.
    """

    fma_per_element: int
    bytes_per_s: float
    flops: float
    clock_hz: float
    watts: float


@dataclass(frozen=True, slots=True)
class Strided:
    """gpu-strides: one block of 1024 threads on one SM loads from L1, lanes `stride` words apart.

    For `shape` block, `stride` is the width of a block whose rows lie far apart.
    """

    word: str
    shape: str
    stride: int
    cycles_per_load: float
    bytes_per_cycle: float


Row = TypeVar("Row", covariant=True)


@dataclass(frozen=True)
class BenchmarkTable(Generic[Row]):
    """What a file holds.

    `clock_hz` is the clock that the program had measured at last when it began, None where it did
    not say. `is_cut` tells that the last line was incomplete and is left out: a run that ended.
    """

    program: str
    file: str
    rows: tuple[Row, ...]
    clock_hz: float | None = None
    is_cut: bool = False


@dataclass(frozen=True)
class LineFormat:
    """A program's lines: those with numbers, how a match becomes rows, and those without."""

    line: re.Pattern[str]
    rows: Callable[[re.Match[str]], Iterable[object]]
    other: re.Pattern[str] = re.compile("(?!)")


def is_table(path: str) -> bool:
    """Whether a file is one of these tables; False also where it cannot be read."""
    try:
        return _program(Path(path).read_text(encoding="utf-8").splitlines()) is not None
    except (OSError, ValueError):
        return False


def read_table(path: str) -> BenchmarkTable[object]:
    """Read a table. InputError where the file is none, ParseError for a damaged line."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", where=path) from None
    except UnicodeDecodeError:
        raise ParseError("not UTF-8 text", where=path) from None
    program = _program(lines)
    if program is None:
        raise InputError("no table of gpu-benches", where=path, hint=f"known: {', '.join(FORMATS)}")
    form, last = FORMATS[program], max(i for i, line in enumerate(lines) if line.strip())
    rows: list[object] = []
    width, is_cut, clock_hz = 0, False, None
    for i, line in enumerate(lines):
        if clock := _CLOCK.match(line):
            clock_hz = float(clock["last"]) * _MEGA
        elif match := form.line.match(line):
            found = list(form.rows(match))
            width = width or len(found)
            is_cut = len(found) < width and i == last
            if len(found) != width and not is_cut:
                raise _damaged(path, i, program)
            rows += [] if is_cut else found
        elif line.strip() and not form.other.match(line):
            is_cut = i == last
            if not is_cut:
                raise _damaged(path, i, program)
    return BenchmarkTable(program, Path(path).name, tuple(rows), clock_hz, is_cut)


def _damaged(path: str, index: int, program: str) -> ParseError:
    return ParseError(f"no line of {program}", where=f"{path}:{index + 1}", hint="fetch it again")


def _program(lines: list[str]) -> str | None:
    for line in lines[:_HEAD_LINES]:
        for name, form in FORMATS.items():
            if form.line.match(line):
                return name
    return None


def _chase(m: re.Match[str]) -> Iterable[ChaseRow]:
    hops, mhz, kib, cycles = int(m[1]), float(m[2]), float(m[3]), float(m[4])
    yield ChaseRow(hops, mhz * _MEGA, kib * _KB, cycles)


def _cache_read(m: re.Match[str]) -> Iterable[CacheRead]:
    yield CacheRead(float(m[1]) * _KB, float(m[2]) * _GIGA)


def _shared_read(m: re.Match[str]) -> Iterable[SharedRead]:
    yield SharedRead(float(m[1]) * _KB, float(m[2]) * _KB, float(m[3]) * _GIGA)


def _streams(m: re.Match[str]) -> Iterable[Streams]:
    rates = [float(rate) * _GIGA for rate in m["rates"].split()[:4]]
    yield Streams(_sms(m), int(m["threads"]), *rates)


def _short_streams(m: re.Match[str]) -> Iterable[ShortStreams]:
    """Of every kernel the best, the median and the worst repeat."""
    medians = [float(rate) * _GIGA for rate in m["rates"].split()[1::3]]
    yield ShortStreams(_sms(m), int(m["threads"]), int(m["length"]), *medians)


def _sms(m: re.Match[str]) -> int:
    """Of the threads at once each SM has `blocks`; an older table counts those of one block."""
    return int(m["threads"]) // (int(m["block"]) * int(m["blocks"] or 1))


def _small_kernels(m: re.Match[str]) -> Iterable[SmallKernel]:
    """One column for every size of block, each twice the one before, up to the largest."""
    rates = [float(rate) * _GIGA for rate in m["rates"].split()]
    for i, rate in enumerate(reversed(rates)):
        yield SmallKernel(_LARGEST_BLOCK >> i, int(m["elements"]), rate)


def _intensity(m: re.Match[str]) -> Iterable[Intensity]:
    _device, fma, gbs, gflops, mhz, watts = (int(number) for number in m.groups())
    yield Intensity(fma, gbs * _GIGA, gflops * _GIGA, mhz * _MEGA, watts)


def _strided(m: re.Match[str]) -> Iterable[Strided]:
    yield Strided(m[1], m[2], int(m[3]), float(m[4]), float(m[5]))


def _line(pattern: str) -> re.Pattern[str]:
    """A pattern of a whole line, where N is a number without sign and a space is any blank."""
    spaced = pattern.replace("  ", r"\s*").replace(" ", r"\s+")
    return re.compile(rf"\s*{spaced}\s*$".replace("N", r"\d+(?:\.\d+)?"))


_CLOCK = _line("clock:(?: N)* (?P<last>N)")
FORMATS: Mapping[str, LineFormat] = {
    "gpu-latency": LineFormat(_line(r"(\d+) (N) (N) N N (N) N N"), _chase),
    "gpu-cache": LineFormat(
        _line("(N) kB N  ms N  % (N) GB/s N GB/s N GB/s N GB/s N GB/s"),
        _cache_read,
        re.compile(r"\s+data set.*DRAM"),
    ),
    "gpu-l2-cache": LineFormat(
        _line("(N) kB (N) kB N  ms N  % (N) GB/s N GB/s N GB/s N GB/s N GB/s"),
        _shared_read,
        re.compile(r"\s+data set"),
    ),
    "gpu-stream": LineFormat(
        _line(
            r"(?P<block>\d+) (?P<threads>\d+)(?: (?P<blocks>\d+))? N  % \| "
            r"GB/s:(?P<rates>(?: N){6})"
        ),
        _streams,
        re.compile(r"block"),
    ),
    "gpu-l2-stream": LineFormat(
        _line(
            r"(?P<block>\d+) (?P<blocks>\d+) (?P<threads>\d+) (?P<length>\d+) N  % \| "
            r"GB/s:(?P<rates>(?: N){12})"
        ),
        _short_streams,
    ),
    "gpu-small-kernels": LineFormat(
        _line(r"(?P<elements>\d+) \d+kB(?P<rates>(?: N)+)"), _small_kernels
    ),
    "gpu-roofline": LineFormat(
        _line(r"(\d+) \d+ blocks (\d+) its N Fl/B (\d+) GB/s (\d+) GF/s (\d+) Mhz (\d+) W \d+°C"),
        _intensity,
        re.compile(r"\d+$|-- "),
    ),
    "gpu-strides": LineFormat(
        _line(r"(float|double) (block|stride) (\d+) \d+ (N) (N) N N N"), _strided
    ),
}
"""The programs' lines. No line is of two of them."""
