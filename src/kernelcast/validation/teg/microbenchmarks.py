"""Section 3 of the paper: its microbenchmarks, played, beside what it says of them.

J. Lai, A. Seznec: TEG: GPU Performance Estimation Using a Timing Model. INRIA, RR-7804, 2011.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.machines.machine import Machine
from kernelcast.models.teg import Played
from kernelcast.traces.written.program import WrittenTrace
from kernelcast.traces.written.reader import parse_written
from kernelcast.validation.paper_numbers import PaperNumber
from kernelcast.validation.teg.play import issue_events, paper_machine, played

_FADDS = 21
_WARPS = 16
_TIMES = 6
_HALF_WARP = WARP_LANES // 2
_RANGE_SLACK = 0.005


@dataclass(frozen=True, slots=True)
class _InstructionRow:
    """A row of Table 1: an instruction that needs the result of the one before, and one that does
    not; `{0}` stands for the result of the latter."""

    name: str
    chained: str
    free: str
    latency: int
    across: int
    same: int


_TABLE_1 = (
    _InstructionRow("Integer ADD", "IADD32 R4, R4, R2", "IADD32 R{0}, R2, R3", 24, 4, 8),
    _InstructionRow(
        "Integer MUL (16bit)", "IMUL.U16 R4, R4, R2", "IMUL.U16 R{0}, R2, R3", 24, 4, 8
    ),
    _InstructionRow(
        "Integer MAD (16bit)", "IMAD.U16 R4, R4, R2, R3", "IMAD.U16 R{0}, R2, R3, R2", 24, 4, 8
    ),
    _InstructionRow("Float ADD", "FADD32 R4, R4, R2", "FADD32 R{0}, R2, R3", 24, 4, 8),
    _InstructionRow("Float MUL", "FMUL32 R4, R4, R2", "FMUL32 R{0}, R2, R3", 24, 2, 8),
    _InstructionRow("Float MAD", "FMAD R4, R4, R2, R3", "FMAD R{0}, R2, R3, R2", 24, 4, 8),
    _InstructionRow("Double ADD", "DADD R4, R4, R2", "DADD R{0}, R2, R2", 48, 32, 32),
    _InstructionRow("Double MUL", "DMUL R4, R4, R2", "DMUL R{0}, R2, R2", 48, 32, 32),
    _InstructionRow("Double FMA", "DFMA R4, R4, R2, R2", "DFMA R{0}, R2, R2, R2", 48, 32, 32),
)


def section_3() -> tuple[PaperNumber, ...]:
    """Every number of section 3 that the simulation can find."""
    machine = paper_machine()
    return (
        _clock_reads(),
        *(number for row in _TABLE_1 for number in _table_1(row)),
        *_loads(),
        *_shared_operands(),
        *_in_flight(machine),
        *_scattered(),
        *_masked(),
    )


def _trace(code: Sequence[str], warps: int = 1, condition: str = "") -> WrittenTrace:
    """A block of so many warps that executes instructions, in some lanes or all."""
    body = "\n".join(code)
    path = f"when {condition}\nbody\nend" if condition else "body"
    # A branch around the body, for lanes that stay away.
    return parse_written(
        f"written trace 1\ntarget sm_13\nkernel benchmark\ngrid 1\nblock {32 * warps}\n"
        f"registers 32\nshared 8192\narray a f32 1 << 20\ncode\nstart:\nBRA C0.NE, finish\n"
        f"body:\n{body}\nfinish:\nEXIT\npath\nstart\n{path}\nfinish\n",
        "benchmark",
    )


def _between(trace: WrittenTrace) -> float:
    """Cycles from one issue to the next, in the middle of the body's instructions."""
    events = issue_events(trace)
    body = events[(events["instruction"] >= 1) & (events["instruction"] < _end(trace))]
    return float(np.median(np.diff(np.sort(body["cycle"]))))


def _end(trace: WrittenTrace) -> int:
    """The place of the last instruction."""
    return len(trace.kernel.instructions) - 1


def _clock_reads() -> PaperNumber:
    """21 dependent additions between two clock reads: 20 x 24 + 8 + 28 cycles (Listing 3)."""
    adds = ["FADD32 R4, R4, R2"] * _FADDS
    code = ["S2R R3, SR1", "SHL R3, R3, 0x1", *adds, "S2R R4, SR1", "SHL R4, R4, 0x1"]
    events = issue_events(_trace(code))
    reads = [int(e["cycle"]) for e in events if e["instruction"] in (1, _FADDS + 3)]
    says = "21 dependent FADD32 between two clock reads: 20 x 24 + 8 + 28"
    return PaperNumber("3.2.1", says, "cycles", 516, 516, reads[1] - reads[0])


def _table_1(row: _InstructionRow) -> Iterator[PaperNumber]:
    """Latency, issue in one warp, and issue across warps."""
    free = [row.free.format(6 + 2 * k) for k in range(_TIMES)]
    found = (
        ("latency", row.latency, _between(_trace([row.chained] * _TIMES))),
        ("issue across warps", row.across, _between(_trace(free, _WARPS))),
        ("issue in one warp", row.same, _between(_trace(free))),
    )
    for what, stated, cycles in found:
        yield PaperNumber("Table 1", f"{row.name}, {what}", "cycles", stated, stated, cycles)


def _loads() -> Iterator[PaperNumber]:
    load = "GLD.U32 R{0}, global14[R2] @ a + 4*thread"
    one = _between(_trace([load.format(6 + k) for k in range(_TIMES)]))
    yield PaperNumber("3.2.2", "GLD.U32, issue in one warp", "cycles", 60, 60, one)
    events = issue_events(_trace([load.format(6)], 2))
    first, second = sorted(int(e["cycle"]) for e in events if e["instruction"] == 1)
    yield PaperNumber("3.2.2", "GLD.U32, issue of another warp", "cycles", 4, 4, second - first)


def _shared_operands() -> Iterator[PaperNumber]:
    for says, stride, cycles in (("no conflict", 4, 74), ("a half-warp on one bank", 64, 266)):
        add = f"FADD32 R2, g[A1+0xb], R2 @ {stride}*(lane % 16)"
        found = _between(_trace([add] * _TIMES))
        says = f"FADD32 with an operand in shared memory, {says}"
        yield PaperNumber("3.3.3", says, "cycles", cycles, cycles, found)


def _in_flight(machine: Machine) -> Iterator[PaperNumber]:
    """C_mem = B latency / (TPCs warp size element clock), of doubles."""
    ways = machine.number("sm.count") / machine.number("sm.memory_group")
    per_cycle = machine.number("dram.bandwidth") / machine.number("clock.sm")
    for latency, stated in ((436, 18.40), (443, 18.69)):
        found = per_cycle * latency / (ways * WARP_LANES * 8)
        low, high = stated - _RANGE_SLACK, stated + _RANGE_SLACK
        says = f"C_mem of doubles at {latency} cycles, which the paper takes for 18"
        yield PaperNumber("3.2.4", says, "transactions", low, high, found)
    loads = [f"GLD.U64 R2, global14[R4] @ a + 8*(thread + 512*{k})" for k in range(8)]
    given = played(_trace(loads, _WARPS)).given.hardware[0]
    held = float(given["in_flight"]) * SECTOR_BYTES / (8 * WARP_LANES)
    yield PaperNumber("3.2.4", "transactions of doubles of a TPC", "transactions", 18, 18, held)


def _moved_bytes(of: Played) -> float:
    """Bytes that went between the SMs and memory."""
    return of.found.l2_busy * float(of.given.hardware[0]["l2_rate"])


def _scattered() -> Iterator[PaperNumber]:
    load = "GLD.U32 R2, global14[R4] @ a + 256*thread"
    moved = _moved_bytes(played(_trace([load], condition=f"lane < {_HALF_WARP}")))
    says = "transactions of 32 bytes of a scattered half-warp"
    yield PaperNumber("3.3.4", says, "transactions", 16, 16, moved / SECTOR_BYTES)
    wasted = 100 * (1 - 4 * _HALF_WARP / moved)
    yield PaperNumber("3.3.4", "bandwidth that it wastes", "%", 87.5, 87.5, wasted)


def _masked() -> Iterator[PaperNumber]:
    """Lanes that are switched off: arithmetic takes the same time, a load less bandwidth."""
    half = f"lane < {_HALF_WARP}"
    adds = ["FADD32 R2, R2, R4"] * _TIMES
    time = [_between(_trace(adds, condition=c)) for c in ("", half)]
    says = "time of a masked FADD32 over that of all lanes"
    yield PaperNumber("3.2.3", says, "1", 1, 1, time[1] / time[0])
    load = "GLD.U32 R2, global14[R4] @ a + 4*thread"
    moved = [_moved_bytes(played(_trace([load], condition=c))) for c in ("", half)]
    says = "bytes of a load of half the lanes over those of all"
    yield PaperNumber("3.2.3", says, "1", 0.5, 0.5, moved[1] / moved[0])
