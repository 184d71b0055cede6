"""What `disasm` answers: machine code with its control codes, waits, cycles and executions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct, field

from kernelcast.frontends.sass import MachineCode
from kernelcast.ir import BasicBlock, Location
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.latencies import MachineLatencies
from kernelcast.isas.sass.opcodes import Coverage
from kernelcast.isas.sass.timing import LoopTiming, SassTiming
from kernelcast.profiling.profile import Profile
from kernelcast.reporting.documents.base import Natural, NotNegative, Positive, Share
from kernelcast.reporting.documents.executed import Executed
from kernelcast.reporting.documents.lines import source_text
from kernelcast.reporting.documents.timed_code import TimedCode


class OpcodesPart(Struct, frozen=True):
    """How many instructions have a known opcode and one whose meaning is proved, and which not."""

    instructions: Natural
    known_share: Share
    proved_share: Share
    unknown: dict[str, int]
    unsupported: dict[str, int]
    unproved_share: Share


class BlockPart(Struct, frozen=True):
    """A basic block and its cycles for one warp alone; `critical_path` are addresses."""

    index: Natural
    first_address: Natural
    instructions: Positive
    successors: list[int]
    issue_cycles: Natural
    cycles: NotNegative
    critical_path: list[int]
    first_instruction: Natural


class LoopPart(Struct, frozen=True):
    """An innermost loop, its first round and a round once it runs steadily; addresses in bytes."""

    header: Natural
    blocks: list[int]
    instructions: Positive
    cycles_per_round: NotNegative
    is_one_path: bool
    issue_cycles: Natural
    cycles: NotNegative
    critical_path: list[int]
    first_address: Natural
    last_address: Natural
    first_line: Positive | None
    last_line: Positive | None


class WaitPart(Struct, frozen=True):
    """A scoreboard waited for, and the addresses of the instructions that hold it."""

    barrier: Natural
    outstanding: Natural
    producers: list[int] = field(name="for")


class ExecutedPart(Struct, frozen=True):
    """Executions of one instruction in all launches; see `Executed`.

    `lanes` is the mean of those active and `all_lanes` whether all were, `bank_conflicts` passes
    over those without conflicts; null where there is nothing to divide by.
    """

    warps: NotNegative
    threads: NotNegative
    sectors: NotNegative
    passes: NotNegative
    ideal_passes: NotNegative
    lanes: NotNegative | None
    all_lanes: bool
    sectors_per_warp: NotNegative | None
    bank_conflicts: NotNegative | None


class MachineInstruction(Struct, frozen=True):
    """One machine instruction.

    `issue_cycle` is the cycle of its block at which one warp alone issues it, null where no block
    is reached; `is_critical` says that it sets how long its block waits.
    """

    address: Natural
    text: str
    encoding: str
    control: str
    stall_cycles: Natural
    yields: bool
    write_barrier: int | None
    read_barrier: int | None
    waits: list[WaitPart]
    file: str | None
    line: Positive | None
    ptx_line: int | None
    executed: ExecutedPart | None
    opcode: str
    issue_cycle: NotNegative | None
    is_critical: bool


class SourceLine(Struct, frozen=True):
    """The text of a source line, empty where its file cannot be read."""

    file: str
    line: Positive
    text: str


class DisassembledKernel(Struct, frozen=True):
    """The machine code of one kernel; addresses are in bytes, times in cycles.

    `basis` says what the cycles of waits were taken from; `launches` how many were executed. The
    targets of `unresolved_branches` are not named in the code.
    """

    name: str
    symbol: str
    target: str
    registers: Natural | None
    basis: str
    launches: Natural
    opcodes: OpcodesPart
    blocks: list[BlockPart]
    loops: list[LoopPart]
    instructions: list[MachineInstruction]
    unresolved_branches: list[int]
    source_lines: list[SourceLine]


class DisasmDocument(Struct, frozen=True):
    """All that `disasm --json` prints."""

    schema: Literal["kernelcast/disassembly/1"]
    gpu: str
    kernels: list[DisassembledKernel]


def disasm_document(
    codes: Sequence[MachineCode], latencies: MachineLatencies, profiles: Sequence[Profile]
) -> DisasmDocument:
    """Kernels timed with a machine's latencies, and what launches of them executed."""
    return DisasmDocument(
        schema="kernelcast/disassembly/1",
        gpu=latencies.machine.name,
        kernels=[_kernel(TimedCode(c, latencies, _launches_of(c, profiles))) for c in codes],
    )


def _launches_of(code: MachineCode, profiles: Sequence[Profile]) -> list[Profile]:
    return [p for p in profiles if p.kernel.name == code.function.name]


def _kernel(code: TimedCode) -> DisassembledKernel:
    function, resources = code.code.function, code.code.resources
    machine, level = code.latencies.machine, code.latencies.level
    return DisassembledKernel(
        name=code.code.label,
        symbol=function.name,
        target=function.target,
        registers=resources.registers if resources else None,
        basis=f"latencies of {machine.name}, global loads served by {level.upper()}",
        launches=len(code.profiles),
        opcodes=_opcodes(code.coverage),
        blocks=[_block(code, block, timing) for block, timing in code.reached],
        loops=[_loop(code, found) for found in code.timing.loops],
        instructions=[_instruction(code, i) for i in code.instructions],
        unresolved_branches=code.addresses(code.graph.unresolved),
        source_lines=list(_source_lines(code)),
    )


def _opcodes(known: Coverage) -> OpcodesPart:
    return OpcodesPart(
        instructions=known.total,
        known_share=known.known_share,
        proved_share=known.proved_share,
        unknown=dict(known.unknown),
        unsupported=dict(known.unsupported),
        unproved_share=1 - known.proved_share,
    )


def _block(code: TimedCode, block: BasicBlock, timing: SassTiming) -> BlockPart:
    return BlockPart(
        index=block.index,
        first_address=code.instructions[block.start].address,
        instructions=block.end - block.start,
        successors=list(block.successors),
        issue_cycles=timing.issue_cycles,
        cycles=timing.cycles,
        critical_path=code.addresses(timing.critical_path),
        first_instruction=block.start,
    )


def _loop(code: TimedCode, found: LoopTiming) -> LoopPart:
    blocks = sorted(found.loop.blocks)
    members = [code.graph.blocks[n] for n in blocks]
    places = (code.instructions[i].location for i in found.timing.instructions)
    lines = [place.line for place in places if place]
    return LoopPart(
        header=found.loop.header,
        blocks=blocks,
        instructions=len(found.timing.instructions),
        cycles_per_round=found.cycles,
        is_one_path=found.is_one_path,
        issue_cycles=found.timing.issue_cycles,
        cycles=found.timing.cycles,
        critical_path=code.addresses(found.timing.critical_path),
        first_address=code.instructions[members[0].start].address,
        last_address=code.instructions[members[-1].end - 1].address,
        first_line=min(lines, default=None),
        last_line=max(lines, default=None),
    )


def _instruction(code: TimedCode, instruction: SassInstruction) -> MachineInstruction:
    control, place = instruction.control, instruction.location
    executed = code.executed.get(instruction.address, Executed())
    return MachineInstruction(
        address=instruction.address,
        text=str(instruction),
        encoding=f"{instruction.encoding:#034x}",
        control=str(control),
        stall_cycles=control.stall_cycles,
        yields=control.yields,
        write_barrier=control.write_barrier,
        read_barrier=control.read_barrier,
        waits=[
            WaitPart(wait.barrier, wait.outstanding, code.addresses(wait.producers))
            for wait in code.waits.get(instruction.index, ())
        ],
        file=place.file if place else None,
        line=place.line if place else None,
        ptx_line=instruction.ptx_line,
        executed=_executed(executed) if code.profiles else None,
        opcode=instruction.opcode,
        issue_cycle=code.issues.get(instruction.index),
        is_critical=instruction.index in code.critical,
    )


def _executed(found: Executed) -> ExecutedPart:
    warps, ideal = found.warps, found.ideal_passes
    return ExecutedPart(
        warps=warps,
        threads=found.threads,
        sectors=found.sectors,
        passes=found.passes,
        ideal_passes=ideal,
        lanes=found.threads / warps if warps else None,
        all_lanes=found.threads >= WARP_LANES * warps,
        sectors_per_warp=found.sectors / warps if warps else None,
        bank_conflicts=found.passes / ideal if ideal else None,
    )


def _source_lines(code: TimedCode) -> Iterator[SourceLine]:
    """Every line of the source from which some instruction was made, in the order of the code."""
    places: dict[Location, None] = {}
    for instruction in code.instructions:
        if instruction.location is not None:
            places.setdefault(instruction.location)
    for place in places:
        yield SourceLine(place.file, place.line, source_text(place))
