"""What a simulation reads without some bottlenecks (`removals`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.profiling.layout import GLOBAL, SHARED
from kernelcast.simulation import layout
from kernelcast.simulation.misses import without_misses
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.regrouping import regrouped
from kernelcast.simulation.removals import Removal, Removals
from kernelcast.simulation.results import LaunchTime
from kernelcast.simulation.rewriting import (
    Requests,
    coalesced,
    touched_sectors,
    without_atomic_conflicts,
    without_bank_conflicts,
    without_l1_misses,
    without_passes,
)
from kernelcast.simulation.simulate import SimulationInput
from kernelcast.simulation.streams import LINE_SHIFT, WarpStreams

_ENDLESS = 1e30
"""A rate that nothing is held up by."""
_AMPLE = 1 << 14
"""Entries of a queue, and miss registers, of which there are always some."""


def without(given: SimulationInput, removed: Removals) -> SimulationInput:
    """The same without some bottlenecks; those of the launch are `resident_blocks`' and
    `without_tail`'s."""
    for removal in Removal:
        if removal in removed and removal in _CHANGES:
            given = _CHANGES[removal](given)
    return given


def is_changed(given: SimulationInput, removal: Removal, executed: NDArray[np.bool_]) -> bool:
    """Whether a removal changes anything of instructions that are `executed`."""
    if removal not in _CHANGES or not _is_asked(given, removal):
        return False
    left = _CHANGES[removal](given)
    return not (
        np.array_equal(left.code.table[executed], given.code.table[executed])
        and np.array_equal(left.streams.words, given.streams.words)
        and np.array_equal(left.hardware, given.hardware)
        and np.array_equal(left.rows, given.rows)
    )


def _is_asked(given: SimulationInput, removal: Removal) -> bool:
    """Whether anybody asks for what a removal makes faster, where only numbers change."""
    if removal is Removal.TLB_MISSES:
        return _pages(given) > int(given.hardware["tlb_entries"][0])
    if removal is not Removal.SHARED_MEMORY_LATENCY:
        return True
    return bool((Requests.of(given.streams).spaces == SHARED).any())


def _pages(given: SimulationInput) -> int:
    """Of global memory, as the TLB has them, that requests touch."""
    asked = Requests.of(given.streams)
    places, _ = asked.line_places(asked.spaces == GLOBAL)
    lines = given.streams.words[places] >> LINE_SHIFT
    return len(np.unique(lines >> given.hardware["tlb_shift"][0]))


def resident_blocks(limits: Mapping[str, int], removed: Removals) -> int:
    """Blocks of an SM at a time, by the resources that limit them."""
    lifted = {
        name
        for removal, name in (
            (Removal.REGISTER_LIMIT, "registers"),
            (Removal.SHARED_MEMORY_LIMIT, "shared memory"),
        )
        if removal in removed
    }
    return min(limit for name, limit in limits.items() if name not in lifted)


def without_tail(time: LaunchTime, plan: DetailedSms, sms: int) -> LaunchTime:
    """The time if all of `sms` SMs had as many blocks, and each block took its share of a full SM.

    Of a grid that no block follows another in, the share of an SM is that of the whole time.
    """
    each = time.block_cycles or time.cycles / plan.busiest
    return LaunchTime(min(time.cycles, plan.of / sms * each), 0.0, time.block_cycles)


def _change_table(
    given: SimulationInput, change: Callable[[NDArray[np.void]], None]
) -> SimulationInput:
    table = given.code.table.copy()
    change(table)
    return replace(given, code=replace(given.code, table=table))


def _without_pipe(*pipes: int) -> Callable[[SimulationInput], SimulationInput]:
    def change(table: NDArray[np.void]) -> None:
        table["interval"][np.isin(table["pipe"], pipes)] = 0.0

    return lambda given: _change_table(given, change)


def _without_barriers(table: NDArray[np.void]) -> None:
    table["kind"][np.isin(table["kind"], (layout.SYNCHRONISE, layout.ARRIVE))] = layout.ARITHMETIC


def _without_tries(table: NDArray[np.void]) -> None:
    table["swap"][table["swap"] == layout.TRIES] = layout.FETCHES


def _without_holds(table: NDArray[np.void]) -> None:
    table["holds"] = 0


def _without_arithmetic_latency(table: NDArray[np.void]) -> None:
    table["latency"][np.isin(table["kind"], (layout.ARITHMETIC, layout.SHUFFLE))] = 0.0
    table["stall"] = np.minimum(table["stall"], 1)


def _without_constant_latency(table: NDArray[np.void]) -> None:
    table["latency"][table["kind"] == layout.CONSTANT] = 0.0


def _change_hardware(**numbers: float) -> Callable[[SimulationInput], SimulationInput]:
    def change(given: SimulationInput) -> SimulationInput:
        hardware = given.hardware.copy()
        for name, number in numbers.items():
            hardware[name] = number
        return replace(given, hardware=hardware)

    return change


def _sooner(level: str, *beyond: str) -> Callable[[SimulationInput], SimulationInput]:
    """A level and those `beyond` it answer sooner, by what it takes longer than the one before."""

    def change(given: SimulationInput) -> SimulationInput:
        hardware = given.hardware.copy()
        before = {"l1": 0.0, "l2": hardware["l1_latency"], "dram": hardware["l2_latency"]}
        sooner = hardware[f"{level}_latency"] - before[level]
        for name in (level, *beyond):
            hardware[f"{name}_latency"] -= sooner
        if level != "l1":
            hardware[f"{level}_spread"] = 0.0
        return replace(given, hardware=hardware)

    return change


def _change_rows(*names: str) -> Callable[[SimulationInput], SimulationInput]:
    """Rows in which some numbers are zero."""

    def change(given: SimulationInput) -> SimulationInput:
        rows = given.rows.copy()
        for name in names:
            rows[name] = 0.0
        return replace(given, rows=rows)

    return change


def _without_l1_bandwidth(given: SimulationInput) -> SimulationInput:
    at_once = dict.fromkeys(
        (
            "tag_cycles",
            "store_first",
            "store_further",
            "store_narrow",
            "store_whole",
            "miss_cycles",
            "atomic_line",
        ),
        0.0,
    )
    faster = _change_hardware(l1_rate=_ENDLESS, **at_once)(given)
    return replace(faster, streams=without_passes(given.streams, given.code.table, shared=False))


def _without_uncoalesced_access(given: SimulationInput) -> SimulationInput:
    """The DRAM moves as many sectors as before, but for those that nobody asks the L2 cache for.

    Requests for several fields of an array of structures are each other's sectors: what DRAM moves
    for all of the requests that touch fewer sectors now is shared out among them evenly.
    """
    given = replace(given, streams=without_misses(given.streams))
    left = replace(given, streams=coalesced(given.streams, given.code.table))
    rows = given.rows.copy()
    is_store = _is_store(given)
    before, after = _sectors_by_row(given), _sectors_by_row(left)
    for chosen in (is_store, ~is_store):
        fewer = chosen & (after < before)
        if fewer.any():
            moved = (before * rows["dram"])[fewer].sum()
            rows["dram"][fewer] = min(1.0, moved / after[fewer].sum())
    return replace(left, rows=rows)


def _is_store(given: SimulationInput) -> NDArray[np.bool_]:
    """By row."""
    asked = Requests.of(given.streams)
    stored = given.code.table["kind"][asked.instructions] == layout.STORE
    return np.bincount(asked.rows(given.code.table)[stored], minlength=len(given.rows)) > 0


def _sectors_by_row(given: SimulationInput) -> NDArray[np.float64]:
    """Sectors that requests touch."""
    asked = Requests.of(given.streams)
    touched = touched_sectors(given.streams, asked)
    sums = np.bincount(asked.rows(given.code.table), touched, len(given.rows))
    return sums.astype(np.float64)


def _without_l1_misses(given: SimulationInput) -> SimulationInput:
    """Of L1 caches that are simulated; of others, which miss by a share, that is none."""
    rows = given.rows.copy()
    rows["l1_miss"][rows["l1_miss"] < 1.0] = 0.0
    streams = given.streams
    if given.hardware["has_l1"][0]:
        streams = without_l1_misses(streams, given.code.table, given.rows)
    return replace(given, streams=streams, rows=rows)


def _rewritten(
    rewrite: Callable[[SimulationInput], WarpStreams],
) -> Callable[[SimulationInput], SimulationInput]:
    return lambda given: replace(given, streams=rewrite(given))


_CHANGES: Mapping[Removal, Callable[[SimulationInput], SimulationInput]] = {
    Removal.BANK_CONFLICTS: _rewritten(lambda g: without_bank_conflicts(g.streams, g.code.table)),
    Removal.ATOMIC_CONFLICTS: lambda g: _change_rows("in_turn_cycles")(
        _change_table(
            replace(g, streams=without_atomic_conflicts(g.streams, g.code.table)), _without_tries
        )
    ),
    Removal.UNCOALESCED_ACCESS: _without_uncoalesced_access,
    Removal.DIVERGENCE: _rewritten(lambda g: regrouped(g.streams, g.code)),
    Removal.BARRIERS: lambda g: _change_table(g, _without_barriers),
    Removal.BLOCK_LAUNCH: _change_hardware(block_interval=0.0, replacement=0.0),
    Removal.L1_MISSES: _without_l1_misses,
    Removal.L2_MISSES: _change_rows("dram", "dram_noted"),
    Removal.TLB_MISSES: _change_hardware(tlb_entries=0),
    Removal.MISS_REGISTERS: _change_hardware(miss_registers=_AMPLE),
    Removal.INSTRUCTION_FETCH: _change_hardware(l0_lines=0),
    Removal.ISSUE_RATE: lambda g: _change_table(
        _change_hardware(issue_interval=0, jump_holds=0)(g), _without_holds
    ),
    Removal.REGISTER_BANKS: _change_hardware(read_cycles=0.0),
    Removal.FP32_PIPE: _without_pipe(*layout.FP32_PIPES),
    Removal.INT_PIPE: _without_pipe(layout.INT_PIPE),
    Removal.FP64_PIPE: _without_pipe(layout.FP64_PIPE),
    Removal.SFU_PIPE: _without_pipe(layout.SFU_PIPE),
    Removal.ADU_PIPE: _without_pipe(layout.ADU_PIPE),
    Removal.TENSOR_PIPE: _without_pipe(layout.TENSOR_PIPE),
    Removal.UNIFORM_PIPE: _without_pipe(layout.UNIFORM_PIPE),
    Removal.LSU_RATE: _change_hardware(
        queue=_AMPLE, address_cycles=0.0, shared_address_cycles=0.0, lsu_cycles=0.0
    ),
    Removal.SHARED_MEMORY_BANDWIDTH: _rewritten(
        lambda g: without_passes(g.streams, g.code.table, shared=True)
    ),
    Removal.L1_BANDWIDTH: _without_l1_bandwidth,
    Removal.L2_BANDWIDTH: _change_hardware(
        l2_rate=_ENDLESS, l2_write_first=0.0, l2_request_cycles=0.0, l2_change_cycles=0.0
    ),
    Removal.DRAM_BANDWIDTH: _change_rows("dram_cycles"),
    Removal.ARITHMETIC_LATENCY: lambda g: _change_table(g, _without_arithmetic_latency),
    Removal.CONSTANT_LATENCY: lambda g: _change_table(
        _change_hardware(constant_lines=0, constant_sets=0, constant_word_cycles=0.0)(g),
        _without_constant_latency,
    ),
    Removal.SHARED_MEMORY_LATENCY: _change_hardware(shared_latency=0.0, atomic_shared_latency=0.0),
    Removal.L1_LATENCY: _sooner("l1", "l2", "l2_far", "dram"),
    Removal.L2_LATENCY: lambda g: _sooner("l2", "l2_far", "dram")(
        _change_hardware(l2_all_sms=0.0)(g)
    ),
    Removal.DRAM_LATENCY: lambda g: _sooner("dram")(
        _change_hardware(dram_contention=0.0, dram_write_wait=0.0)(g)
    ),
}
