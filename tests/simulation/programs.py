"""Small programs made by hand, and what the warps of a block do of them, for the simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.hierarchy.caches.memory_system import MemorySystem
from kernelcast.ir import (
    BasicBlock,
    Instruction,
    IssueControl,
    Kernel,
    LaneMatch,
    MbarrierUse,
    OpClass,
    Register,
    Space,
)
from kernelcast.ir.instruction import Traits
from kernelcast.machines.machine import Machine
from kernelcast.profiling.layout import SHARED
from kernelcast.simulation.code import IssueTables, issue_tables
from kernelcast.simulation.hardware import ChipShare, SmTimings, hardware_record
from kernelcast.simulation.layout import ROW
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.removals import NOTHING, Removals
from kernelcast.simulation.removing import without
from kernelcast.simulation.simulate import SimulationInput, simulate
from kernelcast.simulation.simulated import Simulated
from kernelcast.simulation.streams import (
    ACCESS,
    ARRIVALS_SHIFT,
    BLOCK_SHIFT,
    ENTER,
    ENTERED_LANES_SHIFT,
    IDEAL_SHIFT,
    INSTRUCTION_SHIFT,
    LANES_SHIFT,
    LINE,
    LINE_SHIFT,
    LINES_SHIFT,
    MBARRIER_SHIFT,
    PASSES_SHIFT,
    SECTORS_SHIFT,
    SPACE_SHIFT,
    WarpStreams,
)

MOST_EVENTS = 1 << 14
_PLAIN = {
    "l0_lines": 0,
    "read_cycles": 0.0,
    "jump_holds": 0,
    "constant_lines": 0,
    "constant_told_lines": 0,
    "constant_sets": 0,
    "constant_word_cycles": 0.0,
    "l2_all_sms": 0.0,
}


@dataclass(frozen=True)
class Op:
    """An instruction; `counter` is raised until its result is there, `waits` are waited for."""

    op_class: OpClass
    stall: int = 1
    counter: int | None = None
    waits: tuple[int, ...] = ()
    space: Space | None = None
    reads: str = ""
    writes: str = ""
    exits: bool = False
    is_copy: bool = False
    mbarrier: MbarrierUse | None = None
    offset: int | None = None
    match: LaneMatch | None = None
    width: int = 4


EXIT = Op(OpClass.BRANCH, exits=True)


def program(ops: Sequence[Op], lengths: Sequence[int] = (), *, control: bool = True) -> Kernel:
    """Basic blocks of these lengths, one behind the other; one block where none are given.

    Without `control`, warps wait for registers.
    """
    bounds = np.cumsum([0, *(lengths or [len(ops)])]).tolist()
    blocks = [BasicBlock(at, start, end, ()) for at, (start, end) in enumerate(pairwise(bounds))]
    return Kernel(
        name="program",
        isa="sass",
        target="sm_90",
        parameters=(),
        instructions=tuple(_instruction(at, op, control) for at, op in enumerate(ops)),
        blocks=tuple(blocks),
    )


def _instruction(index: int, op: Op, control: bool) -> Instruction:
    is_barrier = op.op_class is OpClass.BARRIER
    told = IssueControl(op.counter, None, 0.0, tuple((c, 0) for c in op.waits))
    return Instruction(
        index=index,
        opcode="bar" if is_barrier else str(op.op_class),
        modifiers=("sync",) if is_barrier else (),
        operands=(),
        op_class=op.op_class,
        reads=tuple(Register(name, "b32") for name in op.reads.split()),
        writes=tuple(Register(name, "b32") for name in op.writes.split()),
        space=op.space,
        access_bytes=op.width if op.space else 0,
        traits=Traits(exits=op.exits, is_copy=op.is_copy, mbarrier=op.mbarrier, match=op.match),
        code_offset=op.offset,
        issue_cycles=op.stall,
        control=told if control else None,
    )


def entering(block: int, lanes: int = 32) -> list[int]:
    """A warp enters a basic block."""
    return [ENTER | block << BLOCK_SHIFT | lanes << ENTERED_LANES_SHIFT]


def request(
    instruction: int, space: int, lines: Iterable[int] = (), *, passes: int = 1, sectors: int = 15
) -> list[int]:
    """A request of all lanes of a warp."""
    listed = list(lines)
    header = (
        ACCESS
        | len(listed) << LINES_SHIFT
        | instruction << INSTRUCTION_SHIFT
        | 32 << LANES_SHIFT
        | passes << PASSES_SHIFT
        | 1 << IDEAL_SHIFT
        | space << SPACE_SHIFT
    )
    return [header, *(LINE | sectors << SECTORS_SHIFT | line << LINE_SHIFT for line in listed)]


def at_mbarrier(instruction: int, barrier: int, arrivals: int) -> list[int]:
    """A request for a barrier in shared memory at which there have been so many arrivals."""
    told = LINE | barrier << MBARRIER_SHIFT | arrivals << ARRIVALS_SHIFT
    return [request(instruction, SHARED, [0])[0], told]


def streams(blocks: Sequence[Sequence[Sequence[int]]]) -> WarpStreams:
    """By block and warp, the words that it did."""
    warps = [np.array(words, np.int64) for block in blocks for words in block]
    return WarpStreams(
        of=len(blocks),
        warps=len(blocks[0]),
        blocks=np.arange(len(blocks)),
        starts=np.concatenate([[0], np.cumsum([len(w) for w in warps])]),
        words=np.concatenate(warps),
    )


@dataclass(frozen=True)
class Setting:
    """On what a program is played; `changed` are fields of the record of hardware, and the L1 cache
    is one of the `system` where there is one.

    Where it `is_plain`, pipes and register files are as wide as anybody asks, nothing holds up a
    scheduler, all instructions and constants are there, and latencies are whole cycles.
    """

    machine: Machine
    resident: int = 1
    sms: int = 1
    changed: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)
    is_plain: bool = False
    system: MemorySystem | None = None
    different_values: Mapping[int, float] = field(default_factory=dict)

    def code(self, kernel: Kernel) -> IssueTables:
        """The tables of a kernel."""
        control = all(i.control is not None for i in kernel.instructions)
        code = issue_tables(
            kernel,
            SmTimings(self.machine, self.different_values),
            same_warp_cycles=lambda _: 1,
            pairs={},
            obeys_control=control,
        )
        if self.is_plain:
            code.table["interval"], code.table["holds"] = 0.0, 0
            for name in ("latency", "sources_cycles"):
                code.table[name] = np.ceil(code.table[name])
        return code

    def hardware(self, code: IssueTables, warps: int) -> NDArray[np.void]:
        """The record of the SM."""
        share = ChipShare(self.sms, 64, self.sms / 64)
        made = hardware_record(
            SmTimings(self.machine),
            share,
            resident=self.resident,
            warps=warps,
            registers=code.registers,
            has_l1=self.system is not None,
        )
        plain = _PLAIN if self.is_plain else {}
        for name, value in {**plain, **self.changed}.items():
            made[name] = value
        return made

    def with_numbers(self, **changed: float) -> Setting:
        """With other fields of the hardware."""
        return replace(self, changed={**self.changed, **changed})


def played(
    kernel: Kernel,
    done: WarpStreams,
    setting: Setting,
    removed: Removals = NOTHING,
    **limits: Any,
) -> Simulated:
    """Play all blocks of the streams, in turn on every SM, without what is `removed`."""
    code = setting.code(kernel)
    rows = np.zeros(max(1, len(kernel.instructions)), ROW)
    rows["l1_miss"] = rows["dram"] = 1.0
    for name, value in setting.rows.items():
        rows[name] = value
    code.table["row"] = 0
    blocks = tuple(tuple(range(sm, len(done.blocks), setting.sms)) for sm in range(setting.sms))
    plan = DetailedSms(len(done.blocks), blocks, max(map(len, blocks)), setting.sms / 64)
    given = SimulationInput(code, done, setting.hardware(code, done.warps), rows)
    return simulate(
        without(given, removed),
        plan,
        setting.system,
        **{"most_issued": 1 << 20, "most_events": MOST_EVENTS, **limits},
    )
