"""A table of kernels in CSV, one row each: `kernel`, `mean_ms`, and the sizes it was run with."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping

from kernelcast.measurements.observation import Measurements, Observation, ParameterValue
from kernelcast.measurements.rows import usable_rows

_KERNEL = "kernel"
_TIME = "mean_ms"
_DEVICE = "gpu_device_name"
_SIZES = ("N", "rows", "cols", "iters", "block")
_MS = 1e-3


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    columns = head.split("\n", 1)[0].split(",")
    return columns[0] == _KERNEL and _TIME in columns


def read(text: str) -> Measurements:
    """Every row with a time; its parameters are the sizes that it has.

    `regs` and `grid_blocks` are not read: the first is typed by hand, the second derived from the
    sizes, not from the launch.
    """
    lines = csv.DictReader(text.splitlines())
    rows = [(f"line {lines.line_num}", row) for row in lines]
    good = [(place, row) for place, row in rows if (row[_TIME] or "").strip()]
    observations, damaged = usable_rows(good, _observations)
    return Measurements(rows[0][1][_DEVICE], observations, len(rows) - len(good), damaged)


def _observations(row: Mapping[str, str]) -> Iterable[Observation]:
    yield Observation(row[_KERNEL], _parameters(row), (float(row[_TIME]) * _MS,))


def _parameters(row: Mapping[str, str]) -> Mapping[str, ParameterValue]:
    """A size that a kernel has not is empty or 0."""
    return {name: int(row[name]) for name in _SIZES if int(row[name] or 0)}
