"""A table of gpu-benches' gpu-roofline: rates by how much is computed on what is read.

    0 864 blocks     1 its      0.500 Fl/B       1368 GB/s       684 GF/s   1410 Mhz   230 W   48 C

The first number is that of one of several GPUs of a kind, which work at the same time; lines that
hold a single number, or begin with `--`, are between the tables of two runs.
"""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Sequence

from kernelcast.measurements.observation import Measurements, Observation
from kernelcast.measurements.rows import begins_with, squeezed_rows, usable_rows

_LENGTH = 4000
_THREADS = 256
_WORD_BYTES = 4
_ARRAYS = 2
"""The program reads two arrays of single precision, so many elements of each with every thread."""
_ROW = re.compile(
    r"(\d+) (\d+) blocks (\d+) its [\d.]+ Fl/B ([\d.]+) GB/s [\d.]+ GF/s (\d+) Mhz [\d.]+ W .*"
)
_BETWEEN = re.compile(r"\d+$|--")
_GB, _MHZ = 1e9, 1e6


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return begins_with(head, _ROW, _BETWEEN)


def read(text: str) -> Measurements:
    """One observation for each intensity, whose repeats are the GPUs and runs: its time is that of
    the bytes at their rate, its clock the median. The file does not name its device."""
    single, damaged = usable_rows(squeezed_rows(text, _BETWEEN), _observation)
    alike: dict[tuple[object, ...], list[Observation]] = defaultdict(list)
    for one in single:
        alike[tuple(one.parameters.values())].append(one)
    return Measurements("unnamed GPU", tuple(map(_together, alike.values())), damaged=damaged)


def _observation(line: str) -> list[Observation]:
    found = _ROW.fullmatch(line)
    if found is None:
        raise ValueError(f"no row of gpu-roofline: {line}")
    _, blocks, products, rate, clock = found.groups()
    size_bytes = _ARRAYS * int(blocks) * _THREADS * _LENGTH * _WORD_BYTES
    return [
        Observation(
            kernel="gpu-roofline",
            parameters={"blocks": int(blocks), "products": int(products)},
            seconds=(size_bytes / (float(rate) * _GB),),
            grid=(int(blocks), 1, 1),
            block=(_THREADS, 1, 1),
            clock_hz=float(clock) * _MHZ,
        )
    ]


def _together(rows: Sequence[Observation]) -> Observation:
    first = rows[0]
    clocks = [row.clock_hz for row in rows if row.clock_hz is not None]
    return Observation(
        kernel=first.kernel,
        parameters=first.parameters,
        seconds=tuple(time for row in rows for time in row.seconds),
        grid=first.grid,
        block=first.block,
        clock_hz=statistics.median(clocks),
    )
