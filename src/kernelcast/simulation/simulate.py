"""Play warp streams through some SMs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ExecutionError
from kernelcast.hierarchy.caches.layout import LINE_BITS
from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.hierarchy.caches.simulation import l1_caches
from kernelcast.simulation import layout
from kernelcast.simulation.code import IssueTables
from kernelcast.simulation.fetch import NEVER_SEEN, NOT_KEPT
from kernelcast.simulation.layout import BLOCK, CLOCK, EVENT, FLIGHT, IN_FLIGHT, SWAPPED, WARP
from kernelcast.simulation.loop import CONTRADICTION, DEADLOCK, run_sms
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.simulated import Simulated
from kernelcast.simulation.streams import BLOCK_MASK, BLOCK_SHIFT, ENTER, KIND_MASK, WarpStreams

_WORD_BYTES = 4
_SWAPPED_WORDS = 1024


@dataclass(frozen=True)
class SimulationInput:
    """What some SMs are simulated with: code, what warps did, a record of `layout.HARDWARE`, and
    one of `layout.ROW` for every access in every space."""

    code: IssueTables
    streams: WarpStreams
    hardware: NDArray[np.void]
    rows: NDArray[np.void]


def simulate(
    given: SimulationInput,
    plan: DetailedSms,
    system: MemorySystem | None,
    *,
    most_issued: int,
    most_events: int = 0,
) -> Simulated:
    """Play the blocks of a plan, which the streams given hold, through its SMs.

    Parameters
    ----------
    system:
        The caches, of which the L1 caches are simulated; None where there are none.
    most_issued:
        Instructions after which to stop.
    most_events:
        How many issued instructions to note.

    Raises ExecutionError where warps wait at a barrier for ever, or the streams do not fit the
    code.
    """
    code, streams, rows = given.code, given.streams, given.rows
    one = given.hardware[0]
    sms, schedulers, places = (int(one[n]) for n in ("sms", "schedulers", "places"))
    warps = sms * schedulers * places
    clocks = np.zeros(1, CLOCK)
    clocks["limit"], clocks["most_events"] = most_issued, most_events
    order, taken = _orders(streams, plan)
    issued = np.zeros(len(code.table), np.int64)
    stalls = np.zeros((len(code.table), layout.REASONS), np.int64)
    busy = np.zeros(layout.PIPES)
    events = np.zeros(max(1, most_events), EVENT)
    times = np.full((len(streams.blocks), 2), -1, np.int64)
    asked = np.zeros(2, np.int64)
    slots = np.zeros(warps, WARP)
    blocks = np.zeros((sms, int(one["resident"])), BLOCK)
    ended = run_sms(
        streams.words,
        streams.starts,
        code.table,
        code.bounds,
        code.operands,
        slots,
        np.full(warps, layout.FAR_OFF, np.int64),
        np.full(warps, layout.NO_PIPE, np.int64),
        np.zeros(warps, np.int64),
        np.full((sms, schedulers + 1), layout.FAR_OFF, np.int64),
        np.zeros((sms, schedulers), np.int64),
        np.full((sms, schedulers), -1, np.int64),
        np.zeros((warps, max(1, code.registers))),
        np.zeros((warps, max(1, code.registers)), np.int8),
        np.zeros((sms, schedulers, layout.BANKS)),
        np.zeros((sms, schedulers, 2), np.int64),
        np.zeros(sms, np.int64),
        blocks,
        order,
        taken,
        np.full((*blocks.shape, int(one["warps"])), -1, np.int64),
        np.zeros(warps, np.int64),
        np.zeros((*blocks.shape, _swapped_words(code)), SWAPPED),
        times,
        issued,
        stalls,
        busy,
        events,
        *_stages(one, rows),
        *_fetched(one, code, streams, asked),
        *_constants(one),
        *_l1(code, system, sms),
        given.hardware,
        clocks,
    )
    clock = clocks[0]
    busy[one["of_sm"] != 0] *= schedulers
    if ended in (DEADLOCK, CONTRADICTION):
        raise _broken(code, slots, clock, ended)
    stopped = clock["issued"] >= most_issued
    return Simulated(
        sms=sms,
        schedulers=schedulers,
        cycles=int(clock["now"] if stopped else clock["end"]),
        is_cut=bool(stopped) or streams.is_cut,
        full_until=int(clock["full_until"]),
        issued_full=int(clock["issued_full"]),
        issued=issued,
        repeated=int(clock["repeated"]),
        stalls=stalls,
        busy=busy,
        times=times,
        warp_cycles=float(clock["resident_cycles"]),
        shared_busy=float(clock["shared_busy"]),
        l1_busy=float(clock["l1_busy"]),
        l2_busy=float(max(clock[f"l2_{part}busy"] for part in ("", "slices_"))),
        dram_busy=float(clock["dram_busy"]),
        l1_sectors=int(clock["l1_sectors"]),
        l1_hits=int(clock["l1_hits"]),
        lines=int(asked[0]),
        lines_from_l2=int(asked[1]),
        events=events[: int(clock["events"])],
    )


def _swapped_words(code: IssueTables) -> int:
    """How many words of shared memory are watched that lanes try to swap; 0 where none do."""
    return _SWAPPED_WORDS if (code.table["swap"] == layout.TRIES).any() else 0


def _orders(streams: WarpStreams, plan: DetailedSms) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By SM, the places of its blocks in the streams; how many have begun, and of how many."""
    places = {int(block): at for at, block in enumerate(streams.blocks)}
    held = [[places[b] for b in blocks if b in places] for blocks in plan.blocks]
    order = np.zeros((len(held), max(1, *map(len, held), 1)), np.int64)
    for row, own in zip(order, held, strict=True):
        row[: len(own)] = own
    return order, np.array([(0, len(own)) for own in held], np.int64)


def _stages(one: np.void, rows: NDArray[np.void]) -> tuple[NDArray[np.generic], ...]:
    """The stages of `memory.MemoryStages` before the L1 caches, all free."""
    sms, schedulers = int(one["sms"]), int(one["schedulers"])
    flying = np.zeros((sms, IN_FLIGHT), FLIGHT)
    flying["line"] = -1
    return (
        np.tile(-one["queued"], (sms, schedulers, 1)),
        np.zeros((sms, schedulers, int(one["queue"]))),
        np.zeros((sms, schedulers), np.int64),
        np.zeros((sms, schedulers)),
        np.zeros(sms),
        np.zeros(sms),
        np.zeros((sms, int(one["miss_registers"]))),
        np.zeros(sms, np.int64),
        flying,
        np.zeros((sms, IN_FLIGHT), FLIGHT),
        np.zeros((sms, 2), np.int64),
        np.zeros(int(one["channels"])),
        np.zeros(max(1, int(one["reading_channels"]))),
        np.zeros(sms),
        np.full((sms, max(1, int(one["store_lines"])), 2), -1, np.int64),
        *_tlb(one),
        np.zeros((max(1, len(rows)), 2)),
        rows,
    )


def _tlb(one: np.void) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Pages of global memory, and those in the TLB: none."""
    entries = int(one["tlb_entries"])
    pages = (1 << LINE_BITS >> int(one["tlb_shift"])) if entries else 1
    return np.full(pages, -1.0), np.full(max(1, entries), -1, np.int64)


def _fetched(
    one: np.void, code: IssueTables, streams: WarpStreams, asked: NDArray[np.int64]
) -> tuple[NDArray[np.generic], ...]:
    """Caches of instructions, as in `fetch.Fetched`: empty, but for code that an SM holds whole.

    Its first line comes anew with every launch: on an H100, warps of 45, 273 and 646 instructions
    (update_particles of nbody, gr_base and rdsmh_kernel of s3d) are without an instruction for 240,
    229 and 568 cycles.
    """
    sms, own, held = int(one["sms"]), int(one["schedulers"]), int(one["instruction_lines"])
    shift, caches_code = int(one["fetch_line"]), bool(one["l0_lines"])
    end = int(code.table["address"].max(initial=0)) if caches_code else 0
    arrives = np.full((sms, own + 1, (end >> shift) + 1), NOT_KEPT)
    kept = np.full((sms, own + 1, max(1, int(one["l0_lines"]), held)), -1, np.int64)
    place = np.zeros((sms, own + 1), np.int64)
    executed = _executed_lines(code, streams, shift) if caches_code else place[0, :0]
    if one["keeps_code"] and 0 < len(executed) <= held:
        there = executed[executed != code.table["address"][0] >> shift]
        arrives[:, own, there] = 0.0
        kept[:, own, : len(there)] = there
        place[:, own] = len(there) % held
    elif one["fetch_dram_interval"]:
        arrives[:, own] = NEVER_SEEN
    return (
        arrives,
        kept,
        place,
        np.full((sms, own + 1), -1, np.int64),
        np.zeros((sms, 2 + own)),
        asked,
    )


def _constants(one: np.void) -> tuple[NDArray[np.generic], ...]:
    """Caches of constants, as in `constants.ConstantCaches`, which a launch finds empty."""
    sms, own = int(one["sms"]), int(one["schedulers"])
    near = max(int(one["constant_lines"]), int(one["constant_told_lines"]))
    lines = max(1, near, int(one["constant_sets"] * one["constant_ways"]))
    kept = np.full((sms, 2 * own + 1, lines), -1, np.int64)
    return kept, np.zeros(kept.shape), np.zeros((sms, 2))


def _executed_lines(code: IssueTables, streams: WarpStreams, shift: int) -> NDArray[np.int64]:
    """Lines of instructions that hold what warps execute."""
    address = code.table["address"] >> shift
    entered = streams.words[streams.words & KIND_MASK == ENTER]
    bounds = code.bounds[np.unique(entered >> BLOCK_SHIFT & BLOCK_MASK)]
    spans = [address[start:end] for start, end in bounds if end > start]
    return np.unique(np.concatenate(spans)) if spans else np.zeros(0, np.int64)


def _l1(
    code: IssueTables, system: MemorySystem | None, sms: int
) -> tuple[NDArray[np.generic], ...]:
    nothing = MemorySystem(1, 1, None, CacheShape(1, 1))
    local_lines = (code.kernel.resources.local_bytes + _WORD_BYTES - 1) // _WORD_BYTES
    return l1_caches(system or nothing, sms, max(1, local_lines))


def _broken(
    code: IssueTables, slots: NDArray[np.void], clock: np.void, ended: int
) -> ExecutionError:
    """What went wrong, with warp, instruction and cycle."""
    warp = slots[int(clock["broken_warp"])]
    instruction = code.kernel.instructions[int(clock["broken_instruction"])]
    where = f"warp {int(warp['number'])}, instruction {instruction.index} ({instruction.name})"
    cycle = int(clock["now"])
    if ended == DEADLOCK:
        return ExecutionError(
            f"a barrier is never completed: {where} waits since cycle {int(warp['last'])}",
            hint="let all warps of the block reach the barrier",
        )
    return ExecutionError(
        f"the trace is not one of this code: {where}, cycle {cycle}, "
        "is followed by an access that it does not make"
    )
