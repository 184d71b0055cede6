"""A SASS function as a kernel: basic blocks in scheduling order, and what every instruction does.

Lanes that have diverged reconverge where the code joins: blocks stand in an order in which all that
lies between a BSSY and its BSYNC comes before the BSYNC, and of the blocks in which lanes wait the
first one runs. So the convergence barriers hold without being executed. A call goes to the
function's first block, and a return to the blocks behind the calls; functions stand before all
code that calls them, so that no lane runs ahead of those in a function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kernelcast.analysis.cfg import layout_order, reachable
from kernelcast.analysis.spin_loops import cut_at_reconvergence
from kernelcast.ir import (
    Address,
    BasicBlock,
    Guard,
    Instruction,
    Kernel,
    OpClass,
    Register,
    Space,
    Text,
)
from kernelcast.isas.assembly import MACHINE_CODE
from kernelcast.isas.ptx.parts import address_reads, outer, parts
from kernelcast.isas.sass.dataflow import effects
from kernelcast.isas.sass.flow import FlowGraph, call_targets, flow_graph, is_call
from kernelcast.isas.sass.instruction import INSTRUCTION_BYTES, SassFunction, SassInstruction
from kernelcast.isas.sass.issue import issue_control
from kernelcast.isas.sass.launch_state import NO_BANKS, CodeBanks, parameter_block
from kernelcast.isas.sass.meaning import MEANINGS
from kernelcast.isas.sass.meaning.lift import (
    LiftContext,
    SassLift,
    UnknownMeaningError,
    ir_register,
)
from kernelcast.isas.sass.opcodes import Opcode, opcode
from kernelcast.isas.sass.operands import IntegerOperand, RegisterFile, SassRegister
from kernelcast.isas.sass.register_reads import RegisterReads, register_reads
from kernelcast.isas.sass.traits import with_traits

_OUTSIDE = (RegisterFile.CONVERGENCE, RegisterFile.SCOREBOARD)
"""Registers that hold no values."""

_UNIFORM_PIPE = "uniform"

UNKNOWN = "unknown"
"""Opcode of a step whose result nobody can compute yet."""


def sass_kernel(function: SassFunction, shell: Kernel, banks: CodeBanks = NO_BANKS) -> Kernel:
    """The kernel of a function.

    `shell` is the same kernel without its code, as its binary describes it: parameters with
    offsets from 0 on, variables, and resources.
    """
    architecture = int(function.target.removeprefix("sm_").rstrip("af"))
    block = parameter_block(architecture, shell.parameters, banks, shell.cluster)
    # Basic blocks as the machine code has them, then in the order in which lanes reconverge.
    graph = flow_graph(function, cut_after=_waits)
    starts = {function.instructions[b.start].address: b.index for b in graph.blocks}
    calls = _calls(function, graph, starts)
    returns = tuple(sorted({address for call in calls for address in call.after}))
    back = _returned_to(function, graph, calls)
    successors = [_successors(b, function, starts, back.get(b.index, ())) for b in graph.blocks]
    order = _order(function, graph, starts)
    place = {old: new for new, old in enumerate(order)}
    code = LiftContext(
        function=function,
        architecture=architecture,
        banks=block.offsets,
        block_at={a: place[b] for a, b in starts.items() if b in place},
        returns=tuple(a for a in returns if starts[a] in place),
        cluster_blocks=shell.cluster_blocks,
    )
    instructions: list[Instruction] = []
    meanings: list[tuple[Instruction, ...]] = []
    blocks: list[BasicBlock] = []
    for old in order:
        start = len(instructions)
        body = function.instructions[graph.blocks[old].start : graph.blocks[old].end]
        for native, reads in zip(body, register_reads(body, function.target), strict=True):
            # One machine instruction may become several: each has its own steps and its own index.
            for steps in parts(meaning_of(native, len(instructions), code)):
                index = len(instructions)
                meanings.append(
                    tuple(s if s.index == index else replace(s, index=index) for s in steps)
                )
                instructions.append(_instruction(native, index, steps, reads))
        # Successors that nothing reaches have no place.
        after = tuple(place[s] for s in successors[old] if s in place)
        blocks.append(BasicBlock(len(blocks), start, len(instructions), after))
    kernel = replace(
        shell,
        isa=MACHINE_CODE,
        target=function.target,
        parameters=block.parameters,
        instructions=tuple(instructions),
        blocks=tuple(blocks),
        meanings=tuple(meanings),
        constants=block.constants,
        module_variables=(
            *(v for v in shell.variables if v.space is Space.GLOBAL),
            *(variable for _, _, variable in banks.variables),
        ),
    )
    return cut_at_reconvergence(kernel)


def meaning_of(native: SassInstruction, index: int, code: LiftContext) -> tuple[Instruction, ...]:
    """The steps of an instruction; one `unknown` step where they are not known."""
    meaning = MEANINGS.get(native.opcode)
    try:
        if meaning is None:
            raise UnknownMeaningError(native.opcode)
        lift = SassLift(native, index, code)
        meaning(lift)
        return tuple(lift.steps)
    except UnknownMeaningError as unknown:
        return (_unknown(native, index, str(unknown)),)


@dataclass(frozen=True, slots=True)
class _CallSite:
    """The blocks that a call may lead to, and the addresses that functions then return to."""

    entries: tuple[int, ...]
    after: frozenset[int]


def _calls(function: SassFunction, graph: FlowGraph, at: Mapping[int, int]) -> list[_CallSite]:
    """All calls; they return behind them, or to where a move before the call says.

    `at` says which block begins at an address.
    """
    found = []
    for block in graph.blocks:
        body = function.instructions[block.start : block.end]
        if not is_call(body[-1], function):
            continue
        said = {
            operand.value
            for instruction in body
            if instruction.opcode in ("MOV", "IMAD", "UMOV")
            for operand in instruction.operands
            if isinstance(operand, IntegerOperand)
        }
        after = {body[-1].address + INSTRUCTION_BYTES, *said} & at.keys()
        entries = tuple(at[a] for a in call_targets(body[-1], function) if a in at)
        found.append(_CallSite(entries, frozenset(after)))
    return found


def _returned_to(
    function: SassFunction, graph: FlowGraph, calls: Sequence[_CallSite]
) -> dict[int, list[int]]:
    """The addresses that the return at the end of a block may lead to: behind the calls of what it
    belongs to."""
    own = [_within_function(b, function) for b in graph.blocks]
    bodies = {entry: reachable(own, entry) for call in calls for entry in call.entries}
    found: dict[int, list[int]] = {}
    for block in graph.blocks:
        if function.instructions[block.end - 1].opcode != "RET":
            continue
        of = [c for c in calls if any(block.index in bodies[entry] for entry in c.entries)]
        found[block.index] = sorted({a for call in of or calls for a in call.after})
    return found


def _order(function: SassFunction, graph: FlowGraph, at: Mapping[int, int]) -> list[int]:
    """The reachable blocks: the entry, the functions that are called, and the rest of the kernel.

    Within a function a call leads to what follows it. A function stands before its callers.
    `at` says which block begins at an address.
    """
    own = [_within_function(b, function) for b in graph.blocks]
    called: dict[int, None] = {}

    def visit(entry: int) -> list[int]:
        order = layout_order(own, entry)
        for index in order:
            last = function.instructions[graph.blocks[index].end - 1]
            if is_call(last, function):
                for callee in (at[a] for a in call_targets(last, function) if a in at):
                    if callee not in called and callee != entry:
                        called[callee] = None
                        bodies.append(visit(callee))
        return order

    bodies: list[list[int]] = []
    entry, *rest = visit(at[function.functions[function.name]])
    placed = dict.fromkeys([entry, *(b for body in bodies for b in body), *rest])
    return list(placed)


def _within_function(block: BasicBlock, function: SassFunction) -> tuple[int, ...]:
    """Blocks that control may go to, a call being over as soon as it is made."""
    last = function.instructions[block.end - 1]
    if last.opcode == "RET":
        return block.successors[:1] if last.guard is not None else ()
    return block.successors


def _waits(instruction: SassInstruction) -> bool:
    """Whether the instruction ends a basic block because its lanes wait for other warps."""
    if instruction.opcode == "SYNCS":
        return "PHASECHK" in instruction.modifiers
    if instruction.opcode == "BAR":
        return "ARV" not in instruction.modifiers
    return instruction.opcode in ("YIELD", "NANOSLEEP", "UCGABAR_WAIT")


def _successors(
    block: BasicBlock, function: SassFunction, at: Mapping[int, int], returns: Sequence[int]
) -> tuple[int, ...]:
    """Blocks that control may go to, calls and returns included."""
    last = function.instructions[block.end - 1]
    after = list(block.successors)
    if is_call(last, function):
        targets = [at[a] for a in call_targets(last, function) if a in at]
        goes_on = last.guard is not None
        after = [*(after[:1] if goes_on else []), *targets]
    elif last.opcode == "RET":
        goes_on = last.guard is not None
        after = [*(after[:1] if goes_on else []), *(at[a] for a in returns)]
    return tuple(dict.fromkeys(after))


def _instruction(
    native: SassInstruction, index: int, steps: tuple[Instruction, ...], reads: RegisterReads
) -> Instruction:
    row = opcode(native.opcode)
    access = _access(row, steps)
    made = Instruction(
        index=index,
        opcode=native.opcode,
        modifiers=native.modifiers,
        operands=tuple(Text(str(o)) for o in native.operands),
        op_class=_op_class(row, access),
        guard=_guard(native),
        reads=outer(r for s in steps for r in s.reads),
        writes=outer(r for s in steps for r in s.writes),
        space=access.space if access else row.space if row else None,
        access_bytes=access.access_bytes if access else 0,
        location=native.location,
        line=native.line,
        address_reads=address_reads(steps),
        constant=_constant(steps),
        code_offset=native.address,
        issue_cycles=native.control.issue_cycles,
        control=issue_control(native, reads),
    )
    return with_traits(made, steps)


def _access(row: Opcode | None, steps: tuple[Instruction, ...]) -> Instruction | None:
    """The step that accesses memory; a constant counts only where it is loaded for its own sake."""
    accesses = [s for s in steps if s.op_class.is_memory]
    is_load = row is not None and row.op_class.is_memory
    traced = [s for s in accesses if s.is_traced]
    return next(iter(traced or (accesses if is_load else ())), None)


def _constant(steps: tuple[Instruction, ...]) -> int | None:
    """Where the constant lies that the steps read and the code names."""
    named = (
        operand.offset
        for step in steps
        if step.op_class.is_memory and not step.is_traced
        for operand in step.operands
        if isinstance(operand, Address) and operand.base is None
    )
    return next(named, None)


def _op_class(row: Opcode | None, access: Instruction | None) -> OpClass:
    """The class of the opcode; that of its access where it is one by another name."""
    if row is None:
        return OpClass.OTHER
    if access is not None and not row.op_class.is_memory:
        return access.op_class
    if row.pipe == _UNIFORM_PIPE and not row.op_class.is_memory:
        return OpClass.UNIFORM
    return row.op_class


def _guard(native: SassInstruction) -> Guard | None:
    if native.guard is None:
        return None
    register = ir_register(native.guard.register)
    return None if register is None else Guard(register, native.guard.is_inverted)


def _unknown(native: SassInstruction, index: int, reason: str) -> Instruction:
    """A step that stands for an instruction without a meaning: only its registers are known.

    A copy may not be left out where only the trace counts, so its registers count as an address.
    """
    found = effects(native)
    row = opcode(native.opcode)
    reads = _registers(found.reads)
    is_copy = row is not None and row.op_class is OpClass.ASYNC_COPY
    return Instruction(
        index=index,
        opcode=UNKNOWN,
        modifiers=(),
        operands=(Text(reason),),
        op_class=OpClass.OTHER,
        guard=_guard(native),
        reads=reads,
        writes=_registers(found.writes),
        location=native.location,
        line=native.line,
        address_reads=reads if is_copy else (),
    )


def _registers(registers: Iterable[SassRegister]) -> tuple[Register, ...]:
    named = (ir_register(r) for r in registers if r.file not in _OUTSIDE)
    return tuple(dict.fromkeys(r for r in named if r is not None))
