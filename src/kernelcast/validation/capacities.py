"""Capacities of caches: where the latency of a chase rises, simulated and measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kernelcast.calibration.levels import levels
from kernelcast.errors import InputError, UnsupportedError
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import LaunchFlags, read_workload
from kernelcast.hierarchy.caches.counts import AccessCounts
from kernelcast.ir import OpClass
from kernelcast.machines.machine import Machine
from kernelcast.measurements.gpu_benches import ChaseRow, read_table
from kernelcast.profiling.run import Sampling

_ENOUGH = 2
"""Footprints beyond this many times the L2 cache tell nothing more."""
_LINE_BYTES = 128
_PASSES = 3


@dataclass(frozen=True, slots=True)
class Capacity:
    """A footprint that a cache no longer holds, as measured and as simulated; the latter is the
    nearest, None where the simulated latency rises nowhere."""

    measured_bytes: float
    simulated_bytes: float | None

    @property
    def error(self) -> float:
        """|simulated - measured| / measured."""
        simulated = self.simulated_bytes
        return math.inf if simulated is None else abs(simulated / self.measured_bytes - 1)


def knees(sizes: Sequence[float], latencies: Sequence[float]) -> tuple[float, ...]:
    """The sizes at which the latency is halfway, as a ratio, from one level to the next.

    Between two points, log(size) is taken to go with log(latency).
    """
    found = levels(sizes, latencies)
    curve = sorted(zip(sizes, latencies, strict=True))
    return tuple(
        _crossing(
            [c for c in curve if below.sizes[-1] <= c[0] <= above.sizes[0]],
            math.sqrt(below.values[-1] * above.values[0]),
        )
        for below, above in pairwise(found)
        if above.values[0] > below.values[-1]
    )


def _crossing(curve: Sequence[tuple[float, float]], latency: float) -> float:
    """Where a curve that begins below a latency and ends above it first reaches it."""
    for (size, low), (next_size, high) in pairwise(curve):
        if low <= latency <= high:
            part = math.log(latency / low) / math.log(high / low)
            return size * math.exp(part * math.log(next_size / size))
    return curve[-1][0]


def validate_capacities(
    table: str,
    workload: Path,
    chip: Machine,
    *,
    build: Build | None = None,
    progress: Progress | None = None,
) -> tuple[Capacity, ...]:
    """Every rise of a gpu-latency table beside that of the simulated caches.

    `workload` is a chase with the names `footprint` and `passes`. InputError where the table is of
    another program or shows no capacity; UnsupportedError where no caches are simulated.
    """
    rows = [row for row in read_table(table).rows if isinstance(row, ChaseRow)]
    if not rows:
        raise InputError("no table of gpu-latency", where=table)
    most = _ENOUGH * chip.number("l2.size")
    curve = {r.footprint_bytes: r.cycles for r in rows if r.footprint_bytes <= most}
    measured = knees([r.footprint_bytes for r in rows], [r.cycles for r in rows])
    if not measured:
        raise InputError("shows no capacity", where=table)
    simulated = []
    for at, size in enumerate(curve):
        simulated.append(_latency(size, workload, chip, build))
        if progress:
            progress((at + 1) / len(curve))
    return _side_by_side(measured, knees(list(curve), simulated))


def _side_by_side(measured: Sequence[float], simulated: Sequence[float]) -> tuple[Capacity, ...]:
    """Each with the nearest, as a ratio."""

    def nearest(size: float) -> float | None:
        return min(simulated, key=lambda s: abs(math.log(s / size)), default=None)

    return tuple(Capacity(size, nearest(size)) for size in measured)


def _latency(size: float, workload: Path, chip: Machine, build: Build | None) -> float:
    """Mean cycles of a load after the first pass."""
    first, all_passes = (list(_found(size, n, workload, chip, build)) for n in (1, _PASSES))
    again = [later - once for once, later in zip(first, all_passes, strict=True)]
    steps = [chip.number(f"latency.{level}") for level in ("l1", "l2", "dram")]
    return sum(n * step for n, step in zip(again, steps, strict=True)) / sum(again)


def _found(
    size: float, passes: int, workload: Path, chip: Machine, build: Build | None
) -> Iterator[float]:
    """Sectors that loads find in the L1 cache, in the L2 cache and in the DRAM."""
    names = {"footprint": int(size) // _LINE_BYTES * _LINE_BYTES, "passes": passes}
    work = read_workload(workload, LaunchFlags(parameters=names))
    (case,) = cases_of_workload(work, [chip], build=build, sampling=Sampling(exact=True))
    counts = case.cache_counts
    if counts is None:
        raise UnsupportedError(f"the caches of {chip.name} are not simulated")
    loads: list[AccessCounts] = [a for a in counts.accesses if a.op_class is OpClass.LOAD]
    yield sum(a.l1.hits for a in loads)
    yield sum(a.l2.hits for a in loads)
    yield sum(a.l2.misses for a in loads)
