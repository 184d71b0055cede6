"""Annotated listings of machine code: control codes, waits, cycles, source lines, loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from kernelcast.reporting.documents.disasm import (
    BlockPart,
    DisasmDocument,
    DisassembledKernel,
    ExecutedPart,
    LoopPart,
    MachineInstruction,
    WaitPart,
)
from kernelcast.reporting.figures import digits, grouped, percent, scaled

_TEXT_COLUMNS = 44
_COUNT_COLUMNS = 6
_FIRST_SCALED = 1000


def render(document: DisasmDocument, *, brief: bool) -> str:
    """One listing below the other; `brief` leaves out the instructions."""
    return "\n\n".join(_listing(kernel, brief) for kernel in document.kernels)


def _listing(kernel: DisassembledKernel, brief: bool) -> str:
    lines = [*_head(kernel), "", *_loops(kernel)]
    if not brief:
        opcodes = {i.address: i.opcode for i in kernel.instructions}
        sources = {(s.file, s.line): s.text for s in kernel.source_lines}
        for block in kernel.blocks:
            lines += ["", *_block(kernel, block, opcodes, sources)]
    return "\n".join(lines).rstrip()


def _head(kernel: DisassembledKernel) -> Iterator[str]:
    known = kernel.opcodes
    parts = [f"{len(kernel.instructions)} instructions", kernel.target or "unknown target"]
    if kernel.registers is not None:
        parts.append(f"{kernel.registers} registers")
    yield f"{kernel.name}: {', '.join(parts)}"
    if kernel.name != kernel.symbol:
        yield f"  symbol {kernel.symbol}"
    yield f"  {kernel.basis}"
    if kernel.launches:
        plural = "" if kernel.launches == 1 else "es"
        yield f"  warps that executed each instruction, in {kernel.launches} launch{plural}"
    if kernel.unresolved_branches:
        places = ", ".join(f"{address:04x}" for address in kernel.unresolved_branches)
        yield f"  indirect branches whose targets are not named: {places}"
    if known.unknown:
        yield f"  opcodes that are not known: {_counts(known.unknown)}"
    if known.unsupported:
        share = percent(known.unproved_share)
        yield f"  opcodes whose meaning is not proved ({share}): {_counts(known.unsupported)}"


def _counts(opcodes: Mapping[str, int]) -> str:
    ranked = sorted(opcodes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} ({count})" for name, count in ranked)


def _loops(kernel: DisassembledKernel) -> Iterator[str]:
    if not kernel.loops:
        yield "no loops"
        return
    yield "innermost loops, cycles per round of one warp alone"
    for loop in kernel.loops:
        yield f"  {_loop(loop)}"


def _loop(loop: LoopPart) -> str:
    where = "" if loop.first_line is None else f", lines {loop.first_line}-{loop.last_line}"
    paths = "" if loop.is_one_path else ", all blocks of a round with branches"
    return (
        f"{loop.first_address:04x}-{loop.last_address:04x}: {loop.instructions} instructions, "
        f"issue {loop.issue_cycles}, with waits {_cycles(loop.cycles_per_round)}{where}{paths}"
    )


def _block(
    kernel: DisassembledKernel,
    block: BlockPart,
    opcodes: Mapping[int, str],
    sources: Mapping[tuple[str, int], str],
) -> Iterator[str]:
    goes_to = ", ".join(f"block {s}" for s in block.successors) or "the end"
    yield (
        f"block {block.index}: issue {block.issue_cycles} cycles, "
        f"with waits {_cycles(block.cycles)}; then {goes_to}"
    )
    place: tuple[str | None, int | None] = None, None
    lanes = ""
    first = block.first_instruction
    for instruction in kernel.instructions[first : first + block.instructions]:
        file, line = instruction.file, instruction.line
        if file is not None and line is not None and (file, line) != place:
            place = file, line
            yield f"    {Path(file).name}:{line}  {sources[file, line]}".rstrip()
        # The number of active lanes stands where it changes.
        active = _lanes(instruction.executed)
        notes = (
            _waits(instruction.waits, opcodes),
            active if active != lanes else "",
            _accesses(instruction.executed),
        )
        lanes = active
        yield _line(instruction, "; ".join(filter(None, notes)))


def _line(instruction: MachineInstruction, note: str) -> str:
    mark = "*" if instruction.is_critical else " "
    cycle = "" if instruction.issue_cycle is None else _cycles(instruction.issue_cycle)
    text = (
        f"  {mark} {cycle:>5}  {_count(instruction.executed)}{instruction.address:04x}  "
        f"{instruction.control}  "
    )
    return f"{text}{instruction.text:<{_TEXT_COLUMNS}}  {note}".rstrip()


def _count(executed: ExecutedPart | None) -> str:
    """The column of warps; empty where no launch is known."""
    if executed is None:
        return ""
    warps = executed.warps
    text = f"{warps:.0f}" if warps < _FIRST_SCALED and warps.is_integer() else scaled(warps, "")
    return f"{text:>{_COUNT_COLUMNS}}  "


def _lanes(executed: ExecutedPart | None) -> str:
    """The mean of active lanes, where some were not."""
    if executed is None or executed.lanes is None or executed.all_lanes:
        return ""
    return f"{digits(executed.lanes)} lanes"


def _accesses(executed: ExecutedPart | None) -> str:
    if executed is None:
        return ""
    if executed.sectors_per_warp:
        return f"{digits(executed.sectors_per_warp)} sectors"
    if executed.bank_conflicts is not None and executed.bank_conflicts > 1:
        return f"{digits(executed.bank_conflicts)}-fold bank conflict"
    return ""


def _waits(waits: list[WaitPart], opcodes: Mapping[int, str]) -> str:
    parts = []
    for wait in waits:
        who = [f"{address:04x} {opcodes[address]}" for address in wait.producers]
        all_but = f" all but {wait.outstanding} of" if wait.outstanding else ""
        parts.append(f"SB{wait.barrier}:{all_but} {', '.join(who) or 'nothing here'}")
    return f"waits for {'; '.join(parts)}" if parts else ""


def _cycles(value: float) -> str:
    return grouped(round(value))
