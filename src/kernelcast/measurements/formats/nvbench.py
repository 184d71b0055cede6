"""A table of NVBench (`--csv`): a benchmark, its axes, and what NVBench measured and counted.

A file of several benchmarks holds the columns of all of them: the axes of the first come before
`Skipped`, those that later ones add follow at the end.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence

from kernelcast.measurements.observation import Measurements, Observation, ParameterValue
from kernelcast.measurements.rows import usable_rows

_BENCHMARK = "Benchmark"
_DEVICE = "Device Name"
_SKIPPED = "Skipped"
_SAMPLES = "Samples"
_TIME = "GPU Time (sec)"
_POWER_OF_TWO = "(pow2)"
"""An axis of powers of two is written twice: as `2^9` under this, and as 512."""
_SUMMARY = re.compile(r"Samples|Noise|BWUtil|.*\((sec|.*/sec)\)")
"""What NVBench writes of every benchmark from `Samples` on."""


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    first = head.split("\n", 1)[0]
    return first.startswith(_BENCHMARK) and _TIME in first


def read(text: str) -> Measurements:
    """The benchmarks that were not skipped, with their axes as identifiers: `Num Threads` is
    num_threads. The time is the mean of what the GPU took, its L2 cache flushed before each."""
    lines = csv.reader(text.splitlines())
    header, *rows = ((f"line {lines.line_num}", row) for row in lines if row)
    names = header[1]
    axes = _axes(names)
    failed = 0

    def read_row(row: Sequence[str]) -> Iterable[Observation]:
        nonlocal failed
        if row[names.index(_SKIPPED)] != "No":
            failed += 1
            return
        yield Observation(
            kernel=row[names.index(_BENCHMARK)],
            parameters=_parameters(row, axes),
            seconds=(float(row[names.index(_TIME)]),),
        )

    observations, damaged = usable_rows(rows, read_row)
    device = rows[0][1][names.index(_DEVICE)]
    return Measurements(device, observations, failed, damaged)


def _axes(header: Sequence[str]) -> Mapping[int, str]:
    """The columns that hold axes, with the names of these as identifiers."""
    first, skipped = header.index(_DEVICE) + 1, header.index(_SKIPPED)
    later = range(header.index(_SAMPLES), len(header))
    places = [*range(first, skipped), *(at for at in later if not _SUMMARY.fullmatch(header[at]))]
    return {
        at: re.sub(r"\W+", "_", header[at]).strip("_").lower()
        for at in places
        if not header[at].endswith(_POWER_OF_TWO)
    }


def _parameters(row: Sequence[str], axes: Mapping[int, str]) -> Mapping[str, ParameterValue]:
    """The axes of the row's own benchmark; it leaves those of others empty."""
    return {name: _value(row[at]) for at, name in axes.items() if at < len(row) and row[at]}


def _value(text: str) -> ParameterValue:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
