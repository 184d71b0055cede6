"""Everything that is known of a kernel's machine code, computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kernelcast.frontends.sass import MachineCode
from kernelcast.ir import BasicBlock
from kernelcast.isas.sass.flow import FlowGraph, flow_graph
from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.latencies import MachineLatencies
from kernelcast.isas.sass.opcodes import Coverage, coverage
from kernelcast.isas.sass.scoreboards import ScoreboardWait, waits
from kernelcast.isas.sass.timing import FunctionTiming, SassTiming, function_timing
from kernelcast.profiling.profile import Profile
from kernelcast.reporting.documents.executed import Executed, executed_by_address


@dataclass(frozen=True)
class TimedCode:
    """A kernel's code, the latencies it is timed with, and the profiles of its launches."""

    code: MachineCode
    latencies: MachineLatencies
    profiles: Sequence[Profile]

    @property
    def instructions(self) -> Sequence[SassInstruction]:
        """All instructions in the order of their addresses."""
        return self.code.function.instructions

    @cached_property
    def graph(self) -> FlowGraph:
        """Its basic blocks and where they lead."""
        return flow_graph(self.code.function)

    @cached_property
    def reached(self) -> Sequence[tuple[BasicBlock, SassTiming]]:
        """The blocks that are reached from the entry, each with its timing."""
        reachable = self.graph.reachable
        pairs = zip(self.graph.blocks, self.timing.blocks, strict=True)
        return [(block, timing) for block, timing in pairs if block.index in reachable]

    @cached_property
    def timing(self) -> FunctionTiming:
        """Cycles of blocks and innermost loops for one warp alone."""
        return function_timing(self.code.function, self.graph, self.latencies)

    @cached_property
    def waits(self) -> Mapping[int, tuple[ScoreboardWait, ...]]:
        """The scoreboards waited for, by the instruction's index."""
        return waits(self.code.function, self.graph)

    @cached_property
    def coverage(self) -> Coverage:
        """How many of its opcodes are known."""
        return coverage(self.instructions)

    @cached_property
    def executed(self) -> Mapping[int, Executed]:
        """Executions in all launches by address."""
        return executed_by_address(self.profiles)

    @cached_property
    def issues(self) -> Mapping[int, float]:
        """The cycle of issue by the instruction's index."""
        return {
            index: cycle
            for block, timing in self.reached
            for index, cycle in zip(range(block.start, block.end), timing.issues, strict=True)
        }

    @cached_property
    def critical(self) -> frozenset[int]:
        """Instructions by index on the critical path of a block that waits."""
        waiting = (t for _, t in self.reached if t.cycles > t.issue_cycles)
        return frozenset(index for timing in waiting for index in timing.critical_path)

    def addresses(self, indices: Sequence[int]) -> list[int]:
        """The addresses of instructions."""
        return [self.instructions[i].address for i in indices]
