"""Barriers of a block (PTX ISA 9.0, section 9.7.13: `bar`, `barrier`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernelcast.errors import DeadlockError
from kernelcast.execution.clusters import Arrival
from kernelcast.execution.faults import place
from kernelcast.execution.reference.operands import OperandReader, reader, writer
from kernelcast.execution.reference.semantics import UndefinedFormError, form
from kernelcast.execution.reference.state import (
    CLUSTER_BARRIER,
    BarrierWait,
    BlockState,
    RunState,
    Warp,
    lanes_of,
)
from kernelcast.execution.reference.values import Lanes
from kernelcast.execution.reference.warp_ops import ballot
from kernelcast.ir import Instruction
from kernelcast.ir.sizes import WARP_LANES

_RESULTS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "popc": ("u32", lambda votes, lanes: votes),
    "and": ("pred", lambda votes, lanes: votes == lanes),
    "or": ("pred", lambda votes, lanes: votes > 0),
}
"""Type and value of each reduction, from the lanes that voted true and all that voted."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier instruction with its operands.

    `arrive` counts a warp without waiting; `wait` makes the active lanes wait, to go on at a
    basic block.
    """

    instruction: Instruction
    waits: bool
    number: OperandReader
    threads: OperandReader | None
    vote: OperandReader | None
    result: Callable[[Warp, Lanes, int, int], None] | None

    def arrive(self, warp: Warp, mask: int) -> None:
        """`bar.arrive`: a warp counts as 32 threads."""
        number, _ = self._operands(warp, mask)
        warp.block.arrivals[number] += WARP_LANES

    def wait(self, warp: Warp, mask: int, resume: int) -> None:
        """`bar.sync` and `bar.red`."""
        number, threads = self._operands(warp, mask)
        active = lanes_of(mask)
        votes = ballot(self.vote(warp) & active) if self.vote else 0
        give = self.result
        release = None
        if give is not None:
            release = lambda votes, lanes: give(warp, active, votes, lanes)  # noqa: E731
        warp.waiting.append(
            BarrierWait(self.instruction, number, threads, mask, resume, votes, release)
        )

    def _operands(self, warp: Warp, mask: int) -> tuple[int, int | None]:
        lane = (mask & -mask).bit_length() - 1
        threads = None if self.threads is None else int(self.threads(warp)[lane])
        return int(self.number(warp)[lane]), threads


def barrier(instruction: Instruction, run: RunState) -> Barrier:
    """Take a barrier instruction apart: `a{, b}`, or `d, a{, b}, {!}c` for a reduction."""
    found = form(instruction, ("cta", "sync", "arrive", "red", "aligned", *_RESULTS))
    kind = found.one_of(("sync", "arrive", "red"))
    operands = list(instruction.operands)
    vote = result = None
    if kind == "red":
        type_name, combine = _RESULTS[found.one_of(_RESULTS)]
        write = writer(operands.pop(0), type_name)
        vote = reader(operands.pop(), "pred", run)

        def result(warp: Warp, active: Lanes, votes: int, lanes: int) -> None:
            write(warp, active, np.full(WARP_LANES, combine(votes, lanes)))

    if not 1 <= len(operands) <= 2 or (kind == "arrive" and len(operands) != 2):
        raise UndefinedFormError
    threads = reader(operands[1], "u32", run) if len(operands) == 2 else None
    return Barrier(
        instruction, kind != "arrive", reader(operands[0], "u32", run), threads, vote, result
    )


def release_complete(run: RunState, block: BlockState) -> None:
    """At the end of a round: let go every barrier of the block that all its threads have
    reached."""
    for number, warps in sorted(_waiting(run, block).items()):
        arrived, needed = _progress(block, number, warps)
        if number != CLUSTER_BARRIER and arrived >= needed:
            _release(block, number, warps)


def release_cluster(run: RunState, cluster: Sequence[BlockState]) -> None:
    """At the end of a round of all blocks of a cluster: let its barrier go where all have come.

    Raises `DeadlockError` where nothing can run any more although threads wait.
    """
    warps = [warp for block in cluster for warp in block.warps if warp.is_alive]
    if any(_waits_for_cluster(warp) for warp in warps) and all(
        _waits_for_cluster(warp) or warp.arrival is Arrival.ARRIVED for warp in warps
    ):
        for warp in warps:
            if _waits_for_cluster(warp):
                _go_on(warp)
                warp.arrival = Arrival.NONE
            else:
                warp.arrival = Arrival.COMPLETE
    if warps and not any(warp.pending for warp in warps):
        waiting = next(filter(None, (_waiting(run, block) for block in cluster)))
        number, there = min(waiting.items())
        arrived, needed = _progress(there[0].block, number, there)
        name = "the barrier of the cluster" if number == CLUSTER_BARRIER else f"barrier {number}"
        raise DeadlockError(
            f"threads wait at {name} that can never complete: "
            f"{arrived} of {needed} threads have arrived",
            where=_place(run, there[0]),
            hint="let all threads of the block reach the barrier",
        )


def _waits_for_cluster(warp: Warp) -> bool:
    """Whether all lanes of a warp wait for the cluster."""
    waiting = {wait.barrier for wait in warp.waiting}
    return not warp.pending and waiting == {CLUSTER_BARRIER}


def arrive_at_cluster(warp: Warp, mask: int, active: Lanes) -> None:
    """`barrier.cluster.arrive`: machine code lets all lanes of a warp arrive together."""
    warp.arrival = Arrival.ARRIVED


def wait_for_cluster(instruction: Instruction, warp: Warp, mask: int, resume: int) -> bool:
    """`barrier.cluster.wait`: whether lanes have to wait."""
    if warp.arrival is Arrival.COMPLETE:
        warp.arrival = Arrival.NONE
        return False
    warp.waiting.append(BarrierWait(instruction, CLUSTER_BARRIER, None, mask, resume))
    return True


def _waiting(run: RunState, block: BlockState) -> dict[int, list[Warp]]:
    """The warps that wait, by barrier."""
    by_number: dict[int, list[Warp]] = {}
    for warp in block.warps:
        for number in () if warp.pending else _barrier_numbers(run, warp):
            by_number.setdefault(number, []).append(warp)
    return by_number


def _barrier_numbers(run: RunState, warp: Warp) -> set[int]:
    """The barrier at which a warp waits, as a set of one or none."""
    numbers = {wait.barrier for wait in warp.waiting}
    if len(numbers) > 1:
        raise DeadlockError(
            f"lanes of one warp wait at barriers {' and '.join(map(str, sorted(numbers)))}",
            where=_place(run, warp),
            hint="let all lanes of a warp reach the same barrier",
        )
    return numbers


def _progress(block: BlockState, number: int, warps: list[Warp]) -> tuple[int, int]:
    """Threads that have arrived at a barrier, and threads that must."""
    arrived = block.arrivals[number] + WARP_LANES * len(warps)
    counts = [w.threads for warp in warps for w in warp.waiting if w.threads is not None]
    alive = sum(warp.is_alive for warp in block.warps)
    return arrived, max(counts, default=WARP_LANES * alive)


def _release(block: BlockState, number: int, warps: list[Warp]) -> None:
    waits = [wait for warp in warps for wait in warp.waiting]
    votes = sum(wait.votes.bit_count() for wait in waits)
    lanes = sum(wait.mask.bit_count() for wait in waits if wait.release is not None)
    for wait in waits:
        if wait.release is not None:
            wait.release(votes, lanes)
    for warp in warps:
        _go_on(warp)
    block.arrivals[number] = 0


def _go_on(warp: Warp) -> None:
    for wait in warp.waiting:
        warp.pending[wait.resume] = warp.pending.get(wait.resume, 0) | wait.mask
    warp.waiting.clear()


def _place(run: RunState, warp: Warp) -> str:
    wait = warp.waiting[0]
    lane = (wait.mask & -wait.mask).bit_length() - 1
    return place(
        run.kernel, run.launch, wait.instruction, warp.block.index, warp.first_thread + lane
    )
