"""A table of gpuFLOPBench (`profiling-data.csv`): launches of HeCBench's programs that Nsight
Compute timed and counted, of every kernel the first two.

"Kernel Name","traffic","dpAI","spAI","dpPerf","spPerf","xtime","Block Size","Grid Size",...
"""

from __future__ import annotations

import csv
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kernelcast.measurements.observation import Extent, Measurements, Observation
from kernelcast.measurements.rows import usable_rows

_HEAD = '"Kernel Name","traffic","dpAI","spAI","dpPerf","spPerf","xtime",'
_EXTENT = re.compile(r"\((\d+), (\d+), (\d+)\)")
_OPERATIONS: Mapping[str, str] = {"flop_count_sp": "spPerf", "flop_count_dp": "dpPerf"}
"""Counters by the columns that hold them per second."""
_INTEGER = "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return head.startswith(_HEAD)


def read(text: str) -> Measurements:
    """Launches by program and kernel, such as `heat-cuda/zero`; those of one kernel that were asked
    for alike are repeats, of which counters are the mean; of the bytes of the DRAM they are the
    least, because what else moved there meanwhile is among them. ValueError where there are several
    devices."""
    lines = csv.DictReader(text.splitlines())
    rows = [(f"line {lines.line_num}", row) for row in lines]
    (device,) = {row["device"] for _, row in rows}
    good: list[Mapping[str, str]] = []

    def try_row(row: Mapping[str, str]) -> Iterable[Observation]:
        """Whether a row can be read is told by reading it alone."""
        yield from _observations([row])
        good.append(row)

    _, damaged = usable_rows(rows, try_row)
    return Measurements(device, tuple(_observations(good)), damaged=damaged)


class _LaunchKey(NamedTuple):
    """What a launch was asked for: rows that have it in common are repeats."""

    kernel: str
    signature: str
    arguments: str
    grid: Extent
    block: Extent


def _observations(rows: Sequence[Mapping[str, str]]) -> Iterator[Observation]:
    repeats: dict[_LaunchKey, list[Mapping[str, str]]] = {}
    for row in rows:
        repeats.setdefault(_key(row), []).append(row)
    for key, alike in repeats.items():
        yield Observation(
            key.kernel,
            {"arguments": key.arguments} if key.arguments else {},
            tuple(map(_seconds, alike)),
            grid=key.grid,
            block=key.block,
            counters=_counters(key, alike),
            signature=key.signature,
        )


def _key(row: Mapping[str, str]) -> _LaunchKey:
    return _LaunchKey(
        f"{row['targetName']}/{row['kernelName']}",
        row["Kernel Name"],
        row["exeArgs"],
        _extent(row["Grid Size"]),
        _extent(row["Block Size"]),
    )


def _counters(key: _LaunchKey, alike: Sequence[Mapping[str, str]]) -> Mapping[str, float]:
    """Sizes of the launch and what was counted in its repeats."""
    operations = {
        name: statistics.fmean(float(row[column]) * _seconds(row) for row in alike)
        for name, column in _OPERATIONS.items()
    }
    return {
        "launch__grid_size": math.prod(key.grid),
        "launch__block_size": math.prod(key.block),
        _INTEGER: statistics.fmean(float(row["intops"]) for row in alike),
        "dram__bytes.sum": min(float(row["traffic"]) * _seconds(row) for row in alike),
        **operations,
    }


def _seconds(row: Mapping[str, str]) -> float:
    return float(row["xtime"]) * 1e-9


def _extent(text: str) -> Extent:
    match = _EXTENT.fullmatch(text)
    if match is None:
        raise ValueError(f"no extent: {text!r}")
    x, y, z = map(int, match.groups())
    return x, y, z
