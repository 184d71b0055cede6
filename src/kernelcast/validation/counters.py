"""What a profiler's counters should read after a launch, by what an execution of it shows.

Names and meanings are those of NVIDIA's Nsight Compute ("Kernel Profiling Guide", Metrics
Reference), which knows chips of compute capability 7.0 and later. Counts are of the machine's own
code: a case that was executed as PTX, or as code of another chip, answers none of them. What
passes the caches is estimated and bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kernelcast.hierarchy.caches.counts import AccessCounts
from kernelcast.hierarchy.traffic import BoundedBytes, bound_traffic
from kernelcast.ir import CacheState, Instruction, OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.isas.assembly import is_machine_code
from kernelcast.models.terms.base import Case
from kernelcast.models.terms.bus import host_sectors
from kernelcast.profiling.profile import AccessProfile
from kernelcast.validation.profiler_classes import (
    CLASSES,
    OPERATIONS,
    PLAIN,
    classes_of,
    is_settled,
)


@dataclass(frozen=True, slots=True)
class ExpectedCount:
    """The value of a counter, and the least and the most that it can be.

    A count follows from the code, its launch and its data alone: any other value is wrong.
    """

    value: float
    low: float
    high: float
    is_count: bool = False


def expectations(case: Case) -> Mapping[str, ExpectedCount]:
    """The values of all counters that a case answers, by Nsight Compute's names, with bounds."""
    if case.machine.get("sm.profiler_counters") != 1:
        return {}
    found = ((name, row(case)) for name, row in COUNTERS.items())
    return {name: expected for name, expected in found if expected is not None}


Answer = Callable[[Case], ExpectedCount | None]
"""A row of the table; None where a case cannot tell."""


def _count(value: float) -> ExpectedCount:
    return ExpectedCount(value, value, value, is_count=True)


# --- instructions ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _ExecutedCounts:
    """How often warps executed an instruction, with how many threads, of which so many acted."""

    instruction: Instruction
    warps: float
    threads: float
    active: float


def _is_own_code(case: Case) -> bool:
    major, minor = case.machine.compute_capability
    target = case.kernel.target.removeprefix("sm_").rstrip("af")
    return is_machine_code(case.kernel) and target == f"{major}{minor}"


def _executed(case: Case) -> Iterator[_ExecutedCounts]:
    """The instructions of the machine that were executed.

    A copy is a load and a store in a kernel, and one instruction of the machine.
    """
    profile = case.profile
    active = profile.instruction_active
    seen: set[int] = set()
    for i in case.kernel.instructions:
        warps = float(profile.instruction_warps[i.index])
        at = -1 - i.index if i.code_offset is None else i.code_offset
        if warps and at not in seen:
            seen.add(at)
            acted = float(active[i.index]) if len(active) else math.nan
            yield _ExecutedCounts(i, warps, float(profile.instruction_threads[i.index]), acted)


def _instructions(figure: Callable[[_ExecutedCounts], float], *, per_warp: bool = False) -> Answer:
    """A figure of every instruction, added up, or divided by the instructions of all warps."""

    def answer(case: Case) -> ExpectedCount | None:
        if not _is_own_code(case):
            return None
        every = list(_executed(case))
        total = sum(map(figure, every))
        if per_warp:
            total /= sum(e.warps for e in every)
        return None if math.isnan(total) else _count(total)

    return answer


def _class(name: str) -> Answer:
    """Threads that executed instructions of a class, those that a guard switched off left out."""

    def answer(case: Case) -> ExpectedCount | None:
        if not _is_own_code(case):
            return None
        total = 0.0
        for e in _executed(case):
            opcode = e.instruction.opcode
            if name in classes_of(opcode):
                if not is_settled(opcode):
                    return None
                total += e.active
        return None if math.isnan(total) else _count(total)

    return answer


def _operations(weights: Mapping[str, int]) -> Answer:
    """Operations of threads, by how many an instruction has. A file has them as a rate, of another
    pass of the profiler than its time, so only nearly."""

    def operations(e: _ExecutedCounts) -> float:
        return e.active * weights.get(e.instruction.opcode, 0)

    counted = _instructions(operations)

    def answer(case: Case) -> ExpectedCount | None:
        found = counted(case)
        if found is None:
            return None
        return ExpectedCount(
            found.value, found.value * (1 - _RATE_ERROR), found.value * (1 + _RATE_ERROR)
        )

    return answer


_RATE_ERROR = 1e-3


# --- accesses -------------------------------------------------------------------------------------
def _plain_accesses(case: Case, space: Space, op_class: OpClass) -> Iterator[AccessProfile]:
    for access in case.profile.accesses:
        opcode = case.kernel.instructions[access.instruction].opcode
        if access.space is space and opcode in PLAIN[space, op_class]:
            yield access


def _accesses(space: Space, op_class: OpClass, figure: Callable[[AccessProfile], float]) -> Answer:
    def answer(case: Case) -> ExpectedCount | None:
        if not _is_own_code(case):
            return None
        return _count(sum(map(figure, _plain_accesses(case, space, op_class))))

    return answer


def _wavefronts(op_class: OpClass) -> Answer:
    """Passes over the banks; what else holds the data stage busy meanwhile comes on top."""
    passes = _accesses(Space.SHARED, op_class, lambda a: a.passes)

    def answer(case: Case) -> ExpectedCount | None:
        found = passes(case)
        return None if found is None else ExpectedCount(found.value, found.value, math.inf)

    return answer


# --- caches and memory ----------------------------------------------------------------------------
def _sectors(accesses: Iterable[AccessProfile], op_class: OpClass) -> float:
    spaces = (Space.GLOBAL, Space.LOCAL)
    return sum(a.sectors for a in accesses if a.op_class is op_class and a.space in spaces)


def _l2_read(case: Case) -> ExpectedCount:
    """What the L1 caches lack; where they are not simulated, every block reads a sector into them
    once. The least is that blocks share that cache as well; nothing bounds it above, because
    instructions and constants are read through the L2 cache too."""
    read = [f for f in case.profile.footprints if f.read]
    counts = case.cache_counts
    if counts is None:
        asked = _sectors(case.profile.accesses, OpClass.LOAD)
        value = min(asked, sum(f.block_sectors for f in read))
    else:
        value = sum(a.l2.sectors for a in counts.accesses if a.op_class is OpClass.LOAD)
    return ExpectedCount(value, min(value, sum(f.distinct_sectors for f in read)), math.inf)


def _l2_write(case: Case) -> ExpectedCount:
    """Stores pass the L1 cache one by one; at the least, those to one sector go on together. What
    others than the kernel write meanwhile comes on top."""
    stored = _sectors(case.profile.accesses, OpClass.STORE)
    return ExpectedCount(stored, min(stored, _written(case)), math.inf)


def _looked_up(space: Space | None, figure: Callable[[AccessCounts], float]) -> Answer:
    """A figure of the simulated caches, of all loads or of those from `space`. Nothing bounds it
    that is known of their order."""

    def answer(case: Case) -> ExpectedCount | None:
        if case.cache_counts is None:
            return None
        loads = (a for a in case.cache_counts.accesses if a.op_class is OpClass.LOAD)
        found = sum(figure(a) for a in loads if space in (None, a.space))
        return ExpectedCount(found, 0.0, math.inf)

    return answer


def _written(case: Case) -> float:
    return sum(f.distinct_written_sectors for f in case.profile.footprints)


def _dram_read(case: Case) -> ExpectedCount:
    """The traffic of the DRAM that is no writing back, in the bounds that no cache can change."""
    dram, written = bound_traffic(case.profile, case.machine).dram, _written(case)
    low, value, high = (max(0.0, b / SECTOR_BYTES - written) for b in _three(dram))
    if counts := case.cache_counts:
        # Sectors written in parts are read besides, which no count of requests shows.
        value = counts.dram_read_sectors - _later(case, counts.unfilled_sectors)
    of_host, _ = host_sectors(case.profile)
    return _without(of_host, ExpectedCount(value, min(low, value), max(high, value)))


def _dram_write(case: Case) -> ExpectedCount:
    """Every written sector once, but for those that are in the L2 cache alone when the launch ends;
    at the least, it keeps as much of them as it holds."""
    written = _written(case)
    kept = (case.machine.get("l2.size") or 0.0) / SECTOR_BYTES
    stored = _sectors(case.profile.accesses, OpClass.STORE)
    value = written - kept * (case.machine.get("l2.dirty_share") or 0.0)
    if counts := case.cache_counts:
        value = counts.dram_written_sectors - _later(case, counts.dirty_sectors)
    _, of_host = host_sectors(case.profile)
    count = ExpectedCount(max(0.0, value), max(0.0, written - kept), max(written, stored))
    return _without(of_host, count)


def _without(sectors: float, count: ExpectedCount) -> ExpectedCount:
    """Without those of the host's arrays, which cross the bus."""
    value, low, high = (max(0.0, bound - sectors) for bound in _bounds(count))
    return ExpectedCount(value, low, high)


def _dram(case: Case) -> ExpectedCount:
    """What is read and what is written."""
    both = _dram_read(case), _dram_write(case)
    value, low, high = (sum(values) for values in zip(*map(_bounds, both), strict=True))
    return ExpectedCount(value, low, high)


def _bounds(count: ExpectedCount) -> tuple[float, float, float]:
    return count.value, count.low, count.high


def _later(case: Case, sectors: float) -> float:
    """Sectors that move after the launch ended: a profiler does not see them."""
    return 0.0 if case.caches is CacheState.FLUSHED else sectors


def _three(moved: BoundedBytes) -> tuple[float, float, float]:
    return moved.low, moved.central, moved.high


def _times(factor: float, row: Callable[[Case], ExpectedCount]) -> Answer:
    def answer(case: Case) -> ExpectedCount:
        found = row(case)
        return ExpectedCount(factor * found.value, factor * found.low, factor * found.high)

    return answer


# --- launch and occupancy -------------------------------------------------------------------------
def _registers(case: Case) -> ExpectedCount | None:
    registers = case.kernel.resources.registers
    return None if registers is None or not _is_own_code(case) else _count(registers)


def _theoretical(case: Case) -> ExpectedCount:
    """Warps that an SM can hold, in percent of the most of any kernel."""
    return _count(100 * case.occupancy.relative)


def _achieved(case: Case) -> ExpectedCount:
    """The theoretical occupancy, which no execution exceeds; how far it falls short, while blocks
    come and go and some SMs wait for the last one, is not known."""
    most = 100 * case.occupancy.relative
    return ExpectedCount(most, 0.0, most)


def _warps(e: _ExecutedCounts) -> float:
    return e.warps


def _threads(e: _ExecutedCounts) -> float:
    return e.threads


def _active(e: _ExecutedCounts) -> float:
    return e.active


def _table() -> dict[str, Answer]:
    rows: dict[str, Answer] = {
        # The launch, and the registers of the code: where these differ, all else may.
        "launch__grid_size": lambda case: _count(case.launch.blocks),
        "launch__block_size": lambda case: _count(case.launch.threads_per_block),
        "launch__registers_per_thread": _registers,
        # Instructions of warps, whether or not a guard let them act.
        "smsp__inst_executed.sum": _instructions(_warps),
        "sm__inst_executed.sum": _instructions(_warps),
        # Their threads: those that came to them, and those for which the guard held.
        "smsp__thread_inst_executed.sum": _instructions(_threads),
        "smsp__thread_inst_executed_per_inst_executed.ratio": _instructions(
            _threads, per_warp=True
        ),
        "smsp__thread_inst_executed_pred_on.sum": _instructions(_active),
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio": _instructions(
            _active, per_warp=True
        ),
        # Floating-point operations.
        **{name: _operations(weights) for name, weights in OPERATIONS.items()},
        # Shared memory: passes over its banks.
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": _wavefronts(OpClass.LOAD),
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": _wavefronts(OpClass.STORE),
        # Sectors of 32 B (bytes) between the L1 caches and the L2 cache, and beyond that.
        "lts__t_sectors_op_read.sum": _l2_read,
        "lts__t_sectors_op_write.sum": _l2_write,
        "dram__sectors_read.sum": _dram_read,
        "dram__sectors_write.sum": _dram_write,
        "dram__bytes_read.sum": _times(SECTOR_BYTES, _dram_read),
        "dram__bytes_write.sum": _times(SECTOR_BYTES, _dram_write),
        "dram__bytes.sum": _times(SECTOR_BYTES, _dram),
        # Warps of an SM, in percent of the most: possible ones, and the mean of a launch.
        "sm__maximum_warps_per_active_cycle_pct": _theoretical,
        "sm__warps_active.avg.pct_of_peak_sustained_active": _achieved,
    }
    # Sectors that loads look up in the L1 caches, and in the L2 cache on behalf of these.
    l1, l2 = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld", "lts__t_sectors_srcunit_tex_op"
    rows[f"{l1}_lookup_hit.sum"] = _looked_up(Space.GLOBAL, lambda a: a.l1.hits)
    rows[f"{l1}_lookup_miss.sum"] = _looked_up(Space.GLOBAL, lambda a: a.l1.misses)
    rows[f"{l2}_read.sum"] = _l2_read
    rows[f"{l2}_read_lookup_hit.sum"] = _looked_up(None, lambda a: a.l2.hits)
    rows[f"{l2}_read_lookup_miss.sum"] = _looked_up(None, lambda a: a.l2.misses)
    rows[f"{l2}_write.sum"] = _l2_write
    # Threads by class of instruction, those left out that a guard switched off.
    for name in CLASSES:
        rows[f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"] = _class(name)
    # Warps' accesses with at least one thread, and the distinct sectors of each.
    for space in (Space.GLOBAL, Space.LOCAL):
        for op, op_class in (("ld", OpClass.LOAD), ("st", OpClass.STORE)):
            where = f"pipe_lsu_mem_{space}_op_{op}.sum"
            rows[f"l1tex__t_requests_{where}"] = _accesses(space, op_class, lambda a: a.requests)
            rows[f"l1tex__t_sectors_{where}"] = _accesses(space, op_class, lambda a: a.sectors)
    return rows


COUNTERS: Mapping[str, Answer] = _table()
"""Every counter with the function that answers it."""
