"""Capacities of caches: where a chase or reading takes longer, simulated and measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from kernelcast.calibration.levels import levels
from kernelcast.errors import InputError, UnsupportedError
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import LaunchFlags, read_workload
from kernelcast.hierarchy.caches.counts import AccessCounts
from kernelcast.ir import CacheState, OpClass
from kernelcast.machines.machine import Machine
from kernelcast.measurements.gpu_benches import CacheRead, ChaseRow, SharedRead, read_table
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Case
from kernelcast.profiling.run import Sampling

_ENOUGH = 2
"""Footprints beyond this many times the L2 cache tell nothing more."""
_ENOUGH_SHARED = 4
"""Where blocks read parts of an array, the L2 cache is of use to them for longer."""
_ENOUGH_L1 = 4
"""Beyond so many times the L1 cache nothing is told of that."""
_LEAST_READ = 32 * 1024
"""gpu-cache reads less by smaller blocks."""
_LINE_BYTES = 128
_PASSES = 3
_READ_BYTES = 8e6
"""What a block reads altogether: passes enough that the first, which fills the cache, is few."""
_PART_BYTES = 512 * 1024
"""What a block reads of an array that many share, and"""
_ROUNDS = 3
"""how often it is read."""
_MACROS = ("footprint",)
"""Names that a workload's loops are unrolled by."""


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
    """Every rise of a table beside that of the simulated caches.

    Tables are of gpu-latency, whose loads take longer; of gpu-cache, which reads from an L1 cache
    more slowly, and of gpu-l2-cache, from the L2 cache. `workload` is a chase with the names
    `footprint` and `passes`; blocks that read with these and `sms`; or such with `parts` and
    `blocks`. InputError where the table is of another program or shows no capacity;
    UnsupportedError where no caches are simulated.
    """
    curve = _curve(table, chip)
    found = knees(list(curve.times), list(curve.times.values()))
    measured = [size for size in found if size <= curve.most]
    if not measured:
        raise InputError("shows no capacity", where=table)
    work = _Work(workload, chip, build)
    sizes = [size for size in curve.times if curve.least <= size <= curve.most]
    simulated = []
    for at, size in enumerate(sizes):
        simulated.append(curve.simulate(size, work))
        if progress:
            progress((at + 1) / len(sizes))
    return _side_by_side(measured, knees(sizes, simulated))


@dataclass(frozen=True, slots=True)
class _Work:
    """What is simulated, and on what."""

    file: Path
    chip: Machine
    build: Build | None

    def case(self, names: Mapping[str, int], *, exact: bool = False, warm: bool = False) -> Case:
        """The only launch of the workload with names of these values, which are macros, too."""
        build = self.build or Build()
        defines = tuple(f"{name}={value}" for name, value in names.items() if name in _MACROS)
        options = replace(build.options, defines=(*build.options.defines, *defines))
        work = read_workload(self.file, LaunchFlags(parameters=names))
        (case,) = cases_of_workload(
            work,
            [self.chip],
            build=replace(build, options=options),
            sampling=Sampling(exact=exact),
            caches=CacheState.WARM if warm else None,
        )
        return case


@dataclass(frozen=True, slots=True)
class _FootprintCurve:
    """What a table shows by footprint, as times; of those up to `most` bytes capacities are sought,
    by times that `simulate` gives for the footprints between `least` and that."""

    times: Mapping[float, float]
    simulate: Callable[[float, _Work], float]
    most: float
    least: float = 0.0


def _curve(table: str, chip: Machine) -> _FootprintCurve:
    rows = read_table(table).rows
    l2 = chip.number("l2.size")
    if chase := [row for row in rows if isinstance(row, ChaseRow)]:
        return _FootprintCurve({r.footprint_bytes: r.cycles for r in chase}, _latency, _ENOUGH * l2)
    if shared := [row for row in rows if isinstance(row, SharedRead)]:
        rates = {r.footprint_bytes: 1 / r.bytes_per_s for r in shared}
        return _FootprintCurve(rates, _shared_time, _ENOUGH_SHARED * l2)
    if read := [row for row in rows if isinstance(row, CacheRead)]:
        rates = {r.footprint_bytes: 1 / r.bytes_per_s for r in read}
        return _FootprintCurve(rates, _read_time, _ENOUGH_L1 * chip.number("l1.size"), _LEAST_READ)
    raise InputError("no table of gpu-latency, gpu-cache or gpu-l2-cache", where=table)


def _read_time(size: float, work: _Work) -> float:
    """Cycles for a byte, by the timing simulation, where one block on every SM reads an array."""
    passes = max(2, int(_READ_BYTES / size))
    sms = int(work.chip.number("sm.count"))
    case = work.case({"footprint": int(size), "passes": passes, "sms": sms})
    return Teg(sms="1", late_fills=True, uneven_waits=True).play(case).time.cycles / (size * passes)


def _side_by_side(measured: Sequence[float], simulated: Sequence[float]) -> tuple[Capacity, ...]:
    """Each with the nearest, as a ratio."""

    def nearest(size: float) -> float | None:
        return min(simulated, key=lambda s: abs(math.log(s / size)), default=None)

    return tuple(Capacity(size, nearest(size)) for size in measured)


def _shared_time(size: float, work: _Work) -> float:
    """The same where all SMs read one array, which the L2 cache has read before."""
    parts = max(1, round(size / _PART_BYTES))
    blocks = max(_ROUNDS * parts, 2 * _ROUNDS * int(work.chip.number("sm.count")))
    case = work.case({"parts": parts, "blocks": blocks}, warm=True)
    return Teg(late_fills=True, uneven_waits=True).play(case).time.cycles / (_PART_BYTES * blocks)


def _latency(size: float, work: _Work) -> float:
    """Mean cycles of a load after the first pass."""
    first, all_passes = (list(_found(size, n, work)) for n in (1, _PASSES))
    again = [later - once for once, later in zip(first, all_passes, strict=True)]
    steps = [work.chip.number(f"latency.{level}") for level in ("l1", "l2", "dram")]
    return sum(n * step for n, step in zip(again, steps, strict=True)) / sum(again)


def _found(size: float, passes: int, work: _Work) -> Iterator[float]:
    """Sectors that loads find in the L1 cache, in the L2 cache and in the DRAM."""
    names = {"footprint": int(size) // _LINE_BYTES * _LINE_BYTES, "passes": passes}
    counts = work.case(names, exact=True).cache_counts
    if counts is None:
        raise UnsupportedError(f"the caches of {work.chip.name} are not simulated")
    loads: list[AccessCounts] = [a for a in counts.accesses if a.op_class is OpClass.LOAD]
    yield sum(a.l1.hits for a in loads)
    yield sum(a.l2.hits for a in loads)
    yield sum(a.l2.misses for a in loads)
