"""Static timing of SASS: what the control codes make of one warp that runs alone.

Every block starts with all scoreboards free, so its cycles are a lower bound where it waits for
what an earlier block loaded. A loop is timed in its steady state, round after round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelcast.analysis.loops import Loop, innermost, natural_loops
from kernelcast.analysis.static_timing import TimedInstruction, loop_cycles, schedule
from kernelcast.isas.sass.flow import FlowGraph
from kernelcast.isas.sass.instruction import SassFunction, SassInstruction
from kernelcast.isas.sass.scoreboards import Release, raised, requests

Latencies = Callable[[SassInstruction, Release], float]
"""Cycles from an instruction's issue to a release of its scoreboard."""


@dataclass(frozen=True, slots=True)
class SassTiming:
    """Straight-line code.

    `issue_cycles` is the sum of the stalls asked for; `cycles` counts the waits for scoreboards
    too. `issues` holds the cycle at which each instruction issues, `critical_path` those, by index,
    that set the last one.
    """

    instructions: tuple[int, ...]
    issue_cycles: int
    cycles: float
    issues: tuple[float, ...]
    critical_path: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoopTiming:
    """An innermost loop.

    `timing` is of its first round, `cycles` of a round once it runs steadily. `is_one_path` is
    false where a round may pass some block by: then all of them are counted.
    """

    loop: Loop
    timing: SassTiming
    cycles: float
    is_one_path: bool


@dataclass(frozen=True)
class FunctionTiming:
    """Timing of every block, in the order of the graph, and of the innermost loops."""

    blocks: tuple[SassTiming, ...]
    loops: tuple[LoopTiming, ...]


def function_timing(
    function: SassFunction, graph: FlowGraph, latencies: Latencies
) -> FunctionTiming:
    """Time every block and every innermost loop of a function."""
    steps = [_step(i, latencies) for i in function.instructions]
    blocks = tuple(_timing(function, steps, range(b.start, b.end)) for b in graph.blocks)
    loops = innermost(natural_loops(graph.successors, graph.entries))
    return FunctionTiming(blocks, tuple(_loop(function, graph, steps, loop) for loop in loops))


def _step(instruction: SassInstruction, latencies: Latencies) -> TimedInstruction:
    return TimedInstruction(
        issue_cycles=instruction.control.issue_cycles,
        raises=tuple((b, latencies(instruction, release)) for b, release in raised(instruction)),
        waits=tuple((request.barrier, request.outstanding) for request in requests(instruction)),
    )


def _timing(
    function: SassFunction, steps: list[TimedInstruction], places: range | list[int]
) -> SassTiming:
    found = schedule([steps[p] for p in places])
    return SassTiming(
        instructions=tuple(places),
        issue_cycles=sum(function.instructions[p].control.issue_cycles for p in places),
        cycles=found.cycles,
        issues=tuple(issue.cycle for issue in found.issues),
        critical_path=tuple(places[p] for p in found.critical_path),
    )


def _loop(
    function: SassFunction, graph: FlowGraph, steps: list[TimedInstruction], loop: Loop
) -> LoopTiming:
    blocks = [graph.blocks[number] for number in sorted(loop.blocks)]
    # The header first: rotated loops may be entered in their middle.
    first = next(n for n, block in enumerate(blocks) if block.index == loop.header)
    blocks = blocks[first:] + blocks[:first]
    places = [p for block in blocks for p in range(block.start, block.end)]
    inside = [[s for s in block.successors if s in loop.blocks] for block in blocks]
    return LoopTiming(
        loop=loop,
        timing=_timing(function, steps, places),
        cycles=loop_cycles([steps[p] for p in places]),
        is_one_path=all(len(successors) == 1 for successors in inside),
    )
