"""Annotated listings of machine code: control codes, waits, cycles, source lines, loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernelcast.frontends.sass import MachineCode
from kernelcast.ir import BasicBlock, Location
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.sass.flow import FlowGraph
from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.opcodes import Coverage
from kernelcast.isas.sass.scoreboards import Wait
from kernelcast.isas.sass.timing import FunctionTiming, LoopTiming, Timing
from kernelcast.reporting.executed import Executed
from kernelcast.reporting.figures import digits, grouped, percent, scaled
from kernelcast.reporting.source_lines import source_text

_TEXT_COLUMNS = 44
_COUNT_COLUMNS = 6
_FIRST_SCALED = 1000


@dataclass(frozen=True)
class Disassembly:
    """Everything that is known of a kernel's machine code.

    `basis` says what the cycles of waits were taken from. `executed` holds by address how often
    each instruction ran in `launches` launches; None where no launch is known.
    """

    code: MachineCode
    graph: FlowGraph
    waits: Mapping[int, tuple[Wait, ...]]
    timing: FunctionTiming
    coverage: Coverage
    basis: str
    executed: Mapping[int, Executed] | None = None
    launches: int = 0


def render_disassembly(view: Disassembly, *, brief: bool) -> str:
    """The listing as text; `brief` leaves out the instructions."""
    lines = [*_head(view), "", *_loops(view)]
    if not brief:
        reachable = view.graph.reachable
        for block in view.graph.blocks:
            if block.index in reachable:
                lines += ["", *_block(view, block)]
    return "\n".join(lines).rstrip()


def disassembly_dict(view: Disassembly) -> dict[str, Any]:
    """The same as plain dictionaries; addresses are in bytes, times in cycles."""
    function, resources = view.code.function, view.code.resources
    reachable = view.graph.reachable
    return {
        "name": view.code.label,
        "symbol": function.name,
        "target": function.target,
        "registers": resources.registers if resources else None,
        "basis": view.basis,
        "launches": view.launches,
        "opcodes": {
            "instructions": view.coverage.total,
            "known_share": view.coverage.known_share,
            "proved_share": view.coverage.proved_share,
            "unknown": dict(view.coverage.unknown),
            "unsupported": dict(view.coverage.unsupported),
        },
        "blocks": [
            {
                "index": block.index,
                "first_address": function.instructions[block.start].address,
                "instructions": block.end - block.start,
                "successors": list(block.successors),
                **_timing_dict(view, timing),
            }
            for block, timing in zip(view.graph.blocks, view.timing.blocks, strict=True)
            if block.index in reachable
        ],
        "loops": [
            {
                "header": found.loop.header,
                "blocks": sorted(found.loop.blocks),
                "instructions": len(found.timing.instructions),
                "cycles_per_round": found.cycles,
                "is_one_path": found.is_one_path,
                **_timing_dict(view, found.timing),
            }
            for found in view.timing.loops
        ],
        "instructions": [_instruction_dict(view, i) for i in function.instructions],
    }


def _timing_dict(view: Disassembly, timing: Timing) -> dict[str, Any]:
    instructions = view.code.function.instructions
    return {
        "issue_cycles": timing.issue_cycles,
        "cycles": timing.cycles,
        "critical_path": [instructions[i].address for i in timing.critical_path],
    }


def _instruction_dict(view: Disassembly, instruction: SassInstruction) -> dict[str, Any]:
    control, instructions = instruction.control, view.code.function.instructions
    place = instruction.location
    return {
        "address": instruction.address,
        "text": str(instruction),
        "encoding": f"{instruction.encoding:#034x}",
        "control": str(control),
        "stall_cycles": control.stall_cycles,
        "yields": control.yields,
        "write_barrier": control.write_barrier,
        "read_barrier": control.read_barrier,
        "waits": [
            {
                "barrier": wait.barrier,
                "outstanding": wait.outstanding,
                "for": [instructions[p].address for p in wait.producers],
            }
            for wait in view.waits.get(instruction.index, ())
        ],
        "file": place.file if place else None,
        "line": place.line if place else None,
        "ptx_line": instruction.ptx_line,
        "executed": None if view.executed is None else asdict(_executed(view, instruction)),
    }


def _head(view: Disassembly) -> Iterator[str]:
    function, resources, known = view.code.function, view.code.resources, view.coverage
    parts = [f"{len(function.instructions)} instructions", function.target or "unknown target"]
    if resources and resources.registers is not None:
        parts.append(f"{resources.registers} registers")
    yield f"{view.code.label}: {', '.join(parts)}"
    if view.code.label != function.name:
        yield f"  symbol {function.name}"
    yield f"  {view.basis}"
    if view.executed is not None:
        plural = "" if view.launches == 1 else "es"
        yield f"  warps that executed each instruction, in {view.launches} launch{plural}"
    if unresolved := view.graph.unresolved:
        places = ", ".join(f"{function.instructions[i].address:04x}" for i in unresolved)
        yield f"  indirect branches whose targets are not named: {places}"
    if known.unknown:
        yield f"  opcodes that are not known: {_counts(known.unknown)}"
    if known.unsupported:
        share = percent(1 - known.proved_share)
        yield f"  opcodes whose meaning is not proved ({share}): {_counts(known.unsupported)}"


def _counts(opcodes: Mapping[str, int]) -> str:
    ranked = sorted(opcodes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} ({count})" for name, count in ranked)


def _loops(view: Disassembly) -> Iterator[str]:
    if not view.timing.loops:
        yield "no loops"
        return
    yield "innermost loops, cycles per round of one warp alone"
    for found in view.timing.loops:
        yield f"  {_loop(view, found)}"


def _loop(view: Disassembly, found: LoopTiming) -> str:
    graph, instructions = view.graph, view.code.function.instructions
    members = [graph.blocks[n] for n in sorted(found.loop.blocks)]
    first, last = instructions[members[0].start], instructions[members[-1].end - 1]
    lines = [
        i.location.line
        for i in map(instructions.__getitem__, found.timing.instructions)
        if i.location
    ]
    where = f", lines {min(lines)}-{max(lines)}" if lines else ""
    paths = "" if found.is_one_path else ", all blocks of a round with branches"
    return (
        f"{first.address:04x}-{last.address:04x}: {len(found.timing.instructions)} instructions, "
        f"issue {found.timing.issue_cycles}, with waits {_cycles(found.cycles)}{where}{paths}"
    )


def _block(view: Disassembly, block: BasicBlock) -> Iterator[str]:
    timing = view.timing.blocks[block.index]
    goes_to = ", ".join(f"block {s}" for s in block.successors) or "the end"
    yield (
        f"block {block.index}: issue {timing.issue_cycles} cycles, "
        f"with waits {_cycles(timing.cycles)}; then {goes_to}"
    )
    critical = set(timing.critical_path) if timing.cycles > timing.issue_cycles else set()
    place: Location | None = None
    lanes = ""
    instructions = view.code.function.instructions
    for instruction, cycle in zip(
        instructions[block.start : block.end], timing.issues, strict=True
    ):
        if instruction.location is not None and instruction.location != place:
            place = instruction.location
            yield f"    {Path(place.file).name}:{place.line}  {source_text(place)}".rstrip()
        mark = "*" if instruction.index in critical else " "
        text = (
            f"  {mark} {_cycles(cycle):>5}  {_count(view, instruction)}{instruction.address:04x}  "
            f"{instruction.control}  "
        )
        active = _lanes(view, instruction)
        notes = (
            _waits(view.waits.get(instruction.index, ()), instructions),
            active if active != lanes else "",
            _accesses(view, instruction),
        )
        lanes = active
        note = "; ".join(filter(None, notes))
        yield f"{text}{instruction!s:<{_TEXT_COLUMNS}}  {note}".rstrip()


def _count(view: Disassembly, instruction: SassInstruction) -> str:
    """The column of warps; empty where no launch is known."""
    if view.executed is None:
        return ""
    warps = _executed(view, instruction).warps
    text = f"{warps:.0f}" if warps < _FIRST_SCALED and warps.is_integer() else scaled(warps, "")
    return f"{text:>{_COUNT_COLUMNS}}  "


def _lanes(view: Disassembly, instruction: SassInstruction) -> str:
    """The mean of active lanes, where some were not."""
    found = _executed(view, instruction)
    idle = found.threads < WARP_LANES * found.warps
    return f"{digits(found.threads / found.warps)} lanes" if idle else ""


def _accesses(view: Disassembly, instruction: SassInstruction) -> str:
    found = _executed(view, instruction)
    if found.sectors:
        return f"{digits(found.sectors / found.warps)} sectors"
    if found.passes > found.ideal_passes:
        return f"{digits(found.passes / found.ideal_passes)}-fold bank conflict"
    return ""


def _executed(view: Disassembly, instruction: SassInstruction) -> Executed:
    return (view.executed or {}).get(instruction.address, Executed())


def _waits(waits: Sequence[Wait], instructions: Sequence[SassInstruction]) -> str:
    parts = []
    for wait in waits:
        who = [f"{instructions[p].address:04x} {instructions[p].opcode}" for p in wait.producers]
        all_but = f" all but {wait.outstanding} of" if wait.outstanding else ""
        parts.append(f"SB{wait.barrier}:{all_but} {', '.join(who) or 'nothing here'}")
    return f"waits for {'; '.join(parts)}" if parts else ""


def _cycles(value: float) -> str:
    return grouped(round(value))
