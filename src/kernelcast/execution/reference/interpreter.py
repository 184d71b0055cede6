"""The reference executor: the definition of docs/execution.md, one warp at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kernelcast.analysis.meetings import NO_MEETINGS, meetings_of
from kernelcast.analysis.slicing import Needed
from kernelcast.errors import BudgetError, ExecutionError, UnsupportedError
from kernelcast.execution.clusters import in_clusters, with_those_before
from kernelcast.execution.faults import place
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import (
    bits,
    comparisons,
    conversions,
    floats,
    integers,
    moves,
    products,
    special_functions,
    warp_ops,
)
from kernelcast.execution.reference.barriers import (
    Barrier,
    arrive_at_cluster,
    barrier,
    release_cluster,
    release_complete,
    wait_for_cluster,
)
from kernelcast.execution.reference.bulk_copies import bulk_step
from kernelcast.execution.reference.fairness import Fairness
from kernelcast.execution.reference.memory_ops import StepFunction, memory_step
from kernelcast.execution.reference.operands import OperandReader, flattened, reader, writer
from kernelcast.execution.reference.semantics import Semantics, UndefinedFormError
from kernelcast.execution.reference.state import BlockState, RunState, Warp, lanes_of
from kernelcast.execution.reference.system_calls import system_step
from kernelcast.execution.reference.values import Lanes, is_float
from kernelcast.execution.trace import RecordKind, Words
from kernelcast.ir import BasicBlock, BlockRef, Instruction, Kernel, Launch
from kernelcast.isas.ptx.steps import BULK, SYSTEM

_ANY_TYPE = {
    **integers.DEFINITIONS,
    **bits.DEFINITIONS,
    **comparisons.DEFINITIONS,
    **conversions.DEFINITIONS,
    **moves.DEFINITIONS,
    **warp_ops.DEFINITIONS,
    **products.DEFINITIONS,
}
_OF_FLOATS = {**floats.DEFINITIONS, **special_functions.DEFINITIONS}
_WITHOUT_EFFECT = frozenset(
    (
        *("membar", "fence", "griddepcontrol", "prefetch", "prefetchu"),
        *("discard", "applypriority", "pmevent", "setmaxnreg"),
    )
)
_MEMORY = frozenset(("ld", "ldu", "st", "atom", "red"))
_BARRIERS = frozenset(("bar", "barrier"))


def run_reference(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: Sequence[int],
    *,
    budget: int,
    resident: int = 1,
) -> tuple[Words, int, int]:
    """Execute `blocks` of a launch, by linear index, and those of their clusters, which are not
    traced; `memory` holds the results. Where blocks may see each other's work, `resident` of them
    run at a time.

    Returns the words of the trace, the warp instructions and the thread instructions. `budget` is
    the greatest number of warp instructions of a block.

    Raises `UnsupportedError`, before anything is executed, for an instruction without a
    definition here, and the `ExecutionError` of whatever goes wrong later.
    """
    run = RunState(kernel, launch, memory)
    can_meet = resident > kernel.cluster_blocks
    meetings = meetings_of(kernel, memory.pointers(kernel)) if can_meet else NO_MEETINGS
    program = _Interpreter(run, budget, shared_loops=meetings.loops)
    seen = frozenset(blocks)
    seats = -(-resident // kernel.cluster_blocks) if meetings.matter else 1
    with np.errstate(all="ignore"):
        executed = with_those_before(blocks, launch.blocks, resident) if meetings.matter else blocks
        together = in_clusters(executed, launch.grid, kernel.cluster)
        starts = range(0, len(together), kernel.cluster_blocks)
        clusters = (_cluster(run, together[at : at + kernel.cluster_blocks]) for at in starts)
        traces = program.execute(clusters, min(seats, len(starts)))
        for block in together:
            run.trace.extend(traces[block] if block in seen else ())
    words = np.frombuffer(run.trace, np.uint64) if run.trace else np.empty(0, np.uint64)
    return words, run.warp_instructions, run.thread_instructions


def _cluster(run: RunState, blocks: Sequence[int]) -> list[BlockState]:
    """The blocks of a cluster, given by rank."""
    cluster: list[BlockState] = []
    for rank, index in enumerate(blocks):
        cluster.append(BlockState(run, index, cluster, rank))
    return cluster


def _is_alive(cluster: Sequence[BlockState]) -> bool:
    """Whether a warp of a cluster has not exited."""
    return any(warp.is_alive for block in cluster for warp in block.warps)


def check_defined(
    kernel: Kernel, launch: Launch, memory: Memory, needed: Needed | None = None
) -> None:
    """UnsupportedError for the first instruction of a kernel, or of what is needed of it, that
    has no definition here."""
    _Interpreter(RunState(kernel, launch, memory), 0, needed)


@dataclass(frozen=True, slots=True)
class _Branch:
    """`bra` and `brx.idx`: the targets, and which of them each lane takes."""

    targets: tuple[int, ...]
    choice: OperandReader | None


@dataclass(frozen=True, slots=True)
class _Leave:
    """`exit` and `ret`."""


@dataclass(frozen=True, slots=True)
class _Pause:
    """`pause`, `nanosleep`: the turn of the warp ends; its lanes go on in the next round."""


@dataclass(frozen=True, slots=True)
class _ClusterWait:
    """`barrier.cluster.wait`."""


_Action = StepFunction | Barrier | _Branch | _Leave | _Pause | _ClusterWait


class _Interpreter:
    """The kernel with every instruction looked up, and the scheduling of its warps."""

    def __init__(
        self,
        run: RunState,
        budget: int,
        needed: Needed | None = None,
        shared_loops: frozenset[int] = frozenset(),
    ) -> None:
        self.run = run
        self.budget = budget
        self.fairness = Fairness(run, shared_loops)
        self._needed = needed
        self.actions = [
            [(step, self._look_up(step)) for step in self._steps(i.index)]
            for i in run.kernel.instructions
        ]

    def _steps(self, index: int) -> tuple[Instruction, ...]:
        needed = self._needed
        if needed is None or index in needed.in_full or index in needed.address_only:
            return self.run.kernel.steps(index)
        return ()

    def execute(
        self, clusters: Iterator[Sequence[BlockState]], seats: int
    ) -> Mapping[int, Sequence[int]]:
        """Run clusters to their end, as many at a time as there are seats: a round each in turn,
        and where one has ended the next takes its seat. Returns the trace of every block."""
        traces: dict[int, Sequence[int]] = {}
        running = list(islice(clusters, seats))
        self.fairness.seats_taken = seats
        while running:
            for cluster in running:
                self._round(cluster)
            self.fairness.seats_taken = len(running)
            traces |= {b.index: b.words for c in running if not _is_alive(c) for b in c}
            left = [c if _is_alive(c) else next(clusters, None) for c in running]
            running = [cluster for cluster in left if cluster is not None]
        return traces

    def _round(self, cluster: Sequence[BlockState]) -> None:
        """A round of a cluster's warps, ended by the complete barriers."""
        for block in cluster:
            self.run.words = block.words
            for warp in block.warps:
                if warp.pending:
                    self._run_warp(warp)
            release_complete(self.run, block)
        release_cluster(self.run, cluster)

    def _run_warp(self, warp: Warp) -> None:
        """Until all lanes wait or have exited, or one pauses."""
        self.run.record(RecordKind.WARP, warp.index, 0, warp.block.index)
        warp.pauses, warp.iterations = False, 0
        while warp.pending and not warp.pauses:
            index, lanes = self.fairness.next_lanes(warp)
            if self.fairness.ends_turn(warp, index):
                warp.pauses = True
            elif self.fairness.spend_spin_budget(warp, index, lanes):
                for other, movers in self.fairness.others(warp, lanes):
                    self._run_basic_block(warp, other, movers)
                warp.pauses = True
            else:
                self._run_basic_block(warp, index, lanes)

    def _run_basic_block(self, warp: Warp, index: int, mask: int) -> None:
        block, left = self.run.kernel.blocks[index], warp.pending.pop(index) & ~mask
        if left:
            warp.pending[index] = left
        self.run.record(RecordKind.BLOCK, block.index, mask)
        self._count(warp, block, mask)
        for index in range(block.start, block.end):
            for step, action in self.actions[index]:
                taken = mask & _guard_mask(warp, step)
                if isinstance(action, Barrier) and not action.waits:
                    if taken:
                        action.arrive(warp, taken)
                elif isinstance(action, Barrier | _Branch | _Leave | _ClusterWait):
                    if taken:
                        self._leave(warp, block, step, action, taken)
                    mask &= ~taken
                elif isinstance(action, _Pause):
                    warp.pauses = warp.pauses or bool(taken)
                elif taken:
                    action(warp, taken, lanes_of(taken))
            warp.instructions += 1
        if mask:
            _go(warp, block.successors[0], mask)

    def _leave(
        self,
        warp: Warp,
        block: BasicBlock,
        instruction: Instruction,
        action: Barrier | _Branch | _Leave | _ClusterWait,
        taken: int,
    ) -> None:
        """The lanes of `taken` leave a basic block at its last instruction."""
        match action:
            case Barrier():
                action.wait(warp, taken, block.successors[0])
            case _ClusterWait():
                if not wait_for_cluster(instruction, warp, taken, block.successors[0]):
                    _go(warp, block.successors[0], taken)
                    warp.pauses = True
            case _Branch(targets=(target,), choice=None):
                _go(warp, target, taken)
            case _Branch(targets=targets, choice=choose) if choose is not None:
                for lane, chosen in enumerate(choose(warp).tolist()):
                    if taken >> lane & 1:
                        if chosen >= len(targets):
                            raise ExecutionError(
                                f"branch to target {chosen} of {len(targets)}",
                                where=self._place(warp, instruction, lane),
                                hint="check the index",
                            )
                        _go(warp, targets[chosen], 1 << lane)

    def _count(self, warp: Warp, block: BasicBlock, mask: int) -> None:
        length = block.end - block.start
        self.run.warp_instructions += length
        self.run.thread_instructions += length * mask.bit_count()
        warp.block.executed += length
        if warp.block.executed > self.budget:
            raise BudgetError(
                f"the block ran past its budget of {self.budget} warp instructions",
                where=self._place(
                    warp, self.run.kernel.instructions[block.start], _lowest_lane(mask)
                ),
                hint="check that its loops end, or raise the budget",
            )

    def _place(self, warp: Warp, instruction: Instruction, lane: int) -> str:
        return place(
            self.run.kernel,
            self.run.launch,
            instruction,
            warp.block.index,
            warp.first_thread + lane,
        )

    def _look_up(self, instruction: Instruction) -> _Action:
        try:
            return self._action(instruction)
        except LookupError:
            raise _unsupported(self.run.kernel, instruction.index, self._needed) from None

    def _action(self, instruction: Instruction) -> _Action:
        opcode = instruction.opcode
        if opcode in _WITHOUT_EFFECT or instruction.modifiers[:2] == ("warp", "sync"):
            return lambda warp, mask, active: None
        if opcode in _MEMORY:
            return memory_step(instruction, self.run)
        if opcode == BULK:
            return bulk_step(instruction, self.run)
        if opcode == SYSTEM:
            return system_step(instruction, self.run)
        if opcode in _BARRIERS:
            return self._barrier(instruction)
        if opcode in ("exit", "ret"):
            return _Leave()
        if opcode == "wgmma":
            return products.group_product_step(instruction, self.run)
        if opcode in ("pause", "nanosleep"):
            return _Pause()
        if opcode == "trap":
            return self._trap(instruction)
        if opcode == "bra":
            return _Branch(_targets(instruction), None)
        if opcode == "brx":
            return _Branch(_targets(instruction), reader(instruction.operands[0], "u32", self.run))
        return _lanewise(instruction, definition(instruction), self.run)

    def _barrier(self, instruction: Instruction) -> _Action:
        if "cluster" not in instruction.modifiers:
            return barrier(instruction, self.run)
        return _ClusterWait() if "wait" in instruction.modifiers else arrive_at_cluster

    def _trap(self, instruction: Instruction) -> StepFunction:
        def step(warp: Warp, mask: int, active: Lanes) -> None:
            raise ExecutionError(
                "the kernel stopped itself",
                where=self._place(warp, instruction, _lowest_lane(mask)),
                hint="an assertion failed, or code was reached that must not be",
            )

        return step


def _unsupported(kernel: Kernel, index: int, needed: Needed | None) -> UnsupportedError:
    """The error for an instruction that cannot be executed, with what needs its result."""
    instruction = kernel.instructions[index]
    calls = (str(o) for o in instruction.operands if str(o).startswith("the call of "))
    what = f"{next(calls, f'instruction {instruction.name}')} is not supported"
    chain = needed.why(index)[1:] if needed else ()
    if chain:
        user = kernel.instructions[chain[-1]]
        what += f", and {user.name} of {_lines(kernel, user)} depends on its result"
    return UnsupportedError(
        what,
        where=f"kernel {kernel.shown}, {_lines(kernel, instruction)}",
        hint="this version cannot execute the kernel",
    )


def _lines(kernel: Kernel, instruction: Instruction) -> str:
    """Where an instruction stands, in the source if that is known and in the text of its ISA."""
    source = f"line {instruction.location}, " if instruction.location else ""
    return f"{source}{kernel.isa.upper()} line {instruction.line}"


def definition(instruction: Instruction) -> Semantics:
    """What a lane computes; `LookupError` where this form of the instruction is not defined."""
    of_floats = any(is_float(m) for m in instruction.modifiers[-1:])
    if of_floats and instruction.opcode in _OF_FLOATS:
        return _OF_FLOATS[instruction.opcode](instruction)
    return _ANY_TYPE[instruction.opcode](instruction)


def _lanewise(instruction: Instruction, semantics: Semantics, run: RunState) -> StepFunction:
    """Read the sources, apply the function, write the results."""
    targets = flattened(instruction.operands[:1])
    sources = flattened(instruction.operands[1:])
    if len(sources) < len(semantics.sources) or len(targets) > len(semantics.results):
        raise UndefinedFormError
    readers = [reader(o, t, run) for o, t in zip(sources, semantics.sources, strict=False)]
    writers = [writer(o, t) for o, t in zip(targets, semantics.results, strict=False)]

    def step(warp: Warp, mask: int, active: Lanes) -> None:
        values = [read(warp) for read in readers]
        if semantics.takes_carry:
            values.insert(0, warp.carry)
        if semantics.takes_active:
            values.insert(0, active)
        results = semantics.function(*values)
        if not isinstance(results, tuple):
            results = (results,)
        if semantics.gives_carry:
            warp.carry = np.where(active, results[-1], warp.carry)
        if semantics.gives_values:
            run.record(RecordKind.VALUES, instruction.index, mask, results[-1])
        for write, result in zip(writers, results, strict=False):
            write(warp, active, result)

    return step


def _guard_mask(warp: Warp, instruction: Instruction) -> int:
    guard = instruction.guard
    if guard is None:
        return -1
    holds = warp_ops.ballot(warp.register(guard.register))
    return ~holds if guard.negated else holds


def _targets(instruction: Instruction) -> tuple[int, ...]:
    """The blocks that a branch may lead to; a table is given by its blocks in order."""
    return tuple(o.index for o in instruction.operands if isinstance(o, BlockRef))


def _go(warp: Warp, index: int, mask: int) -> None:
    warp.pending[index] = warp.pending.get(index, 0) | mask


def _lowest_lane(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
