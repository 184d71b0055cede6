"""Basic blocks of a SASS function and where control goes between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from kernelcast.ir import BasicBlock
from kernelcast.isas.sass.instruction import SassFunction, SassInstruction
from kernelcast.isas.sass.operands import (
    IndirectOperand,
    IntegerOperand,
    LabelOperand,
    RegisterOperand,
)

_BRANCHES = frozenset({"BRA", "JMP"})
_INDIRECT_BRANCHES = frozenset({"BRX", "BRXU", "JMX", "JMXU"})
CALLS = frozenset({"CALL"})
FAILED_ASSERTION = "__assertfail"
"""The function of the system that ends a kernel where an assertion has failed."""
_LEAVES = frozenset({"EXIT", "RET", "KILL", "RTT"})
INDIRECT = _INDIRECT_BRANCHES | {"RET"}
"""They go where a register says."""

_ENDS = _BRANCHES | _INDIRECT_BRANCHES | CALLS | _LEAVES
_CONDITIONAL_MODIFIERS = frozenset({"DIV", "CONV", "ANY"})
_BRANCH_TARGETS = re.compile(r"BRANCH_TARGETS\s+(.*)")


@dataclass(frozen=True)
class FlowGraph:
    """Blocks in the order of their addresses; `entries` are the first blocks of functions.

    A call goes on behind itself; what it calls is an entry of its own, but a label is gone to.
    `unresolved` lists indirect branches whose targets the listing does not name.
    """

    blocks: tuple[BasicBlock, ...]
    entries: tuple[int, ...]
    unresolved: tuple[int, ...]

    @property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """The successors of every block."""
        return tuple(block.successors for block in self.blocks)

    @property
    def reachable(self) -> frozenset[int]:
        """Blocks that control can come to; the others are padding."""
        seen = set(self.entries)
        pending = list(seen)
        while pending:
            for target in self.blocks[pending.pop()].successors:
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return frozenset(seen)


def flow_graph(
    function: SassFunction, *, cut_after: Callable[[SassInstruction], bool] = lambda _: False
) -> FlowGraph:
    """Cut a function into basic blocks, and also behind instructions that `cut_after` names.

    Labels that only say where lanes reconverge (BSSY, WARPSYNC) begin no block.
    """
    instructions = function.instructions
    index_at = {i.address: i.index for i in instructions}
    entries = {index_at[a] for a in function.functions.values() if a in index_at}
    targets: dict[int, tuple[int, ...]] = {}
    unresolved: list[int] = []
    for instruction in instructions:
        is_branch = instruction.opcode in _BRANCHES | _INDIRECT_BRANCHES
        if is_branch or _is_far_jump(instruction, function):
            addresses = list(branch_targets(instruction, function))
            targets[instruction.index] = tuple(index_at[a] for a in addresses if a in index_at)
            if instruction.opcode in _INDIRECT_BRANCHES and not addresses:
                unresolved.append(instruction.index)
    starts = {0, *entries, *(t for several in targets.values() for t in several)}
    starts |= {i.index + 1 for i in instructions if i.opcode in _ENDS or cut_after(i)}
    cuts = [*sorted(s for s in starts if s < len(instructions)), len(instructions)]
    block_at = {start: number for number, start in enumerate(cuts)}
    blocks = []
    for number, (start, end) in enumerate(pairwise(cuts)):
        last = instructions[end - 1]
        next_blocks = [block_at[t] for t in targets.get(last.index, ())]
        if end < len(instructions) and _may_go_on(last, function):
            next_blocks.insert(0, number + 1)
        blocks.append(BasicBlock(number, start, end, tuple(dict.fromkeys(next_blocks))))
    return FlowGraph(tuple(blocks), tuple(sorted(block_at[e] for e in entries)), tuple(unresolved))


def _is_conditional(instruction: SassInstruction) -> bool:
    """Whether some lanes or warps may pass by: a guard, a predicate operand, or a test of masks."""
    if instruction.guard is not None or _CONDITIONAL_MODIFIERS & set(instruction.modifiers):
        return True
    return any(
        isinstance(o, RegisterOperand)
        and o.register.file.is_predicate
        and (o.register.number is not None or o.is_inverted)
        for o in instruction.operands
    )


def call_targets(call: SassInstruction, function: SassFunction) -> tuple[int, ...]:
    """Addresses of the functions that a call may lead to: all of the section, if it is indirect."""
    for operand in call.operands:
        if isinstance(operand, LabelOperand):
            name = operand.name
            address = function.functions.get(name, function.labels.get(name))
            return () if address is None else (address,)
    return tuple(sorted(a for n, a in function.functions.items() if n != function.name))


def is_call(instruction: SassInstruction, function: SassFunction) -> bool:
    """Whether an instruction calls a function, behind which that returns."""
    return instruction.opcode in CALLS and not _is_far_jump(instruction, function)


def _is_far_jump(instruction: SassInstruction, function: SassFunction) -> bool:
    """Whether an instruction calls a label of the code around it: nothing returns from there, where
    a branch would not reach."""
    return instruction.opcode in CALLS and any(
        isinstance(o, LabelOperand) and o.name in function.labels.keys() - function.functions.keys()
        for o in instruction.operands
    )


def _may_go_on(last: SassInstruction, function: SassFunction) -> bool:
    return last.opcode not in _ENDS or is_call(last, function) or _is_conditional(last)


def branch_targets(instruction: SassInstruction, function: SassFunction) -> Iterator[int]:
    """Addresses a branch may go to."""
    for note in instruction.notes:
        if found := _BRANCH_TARGETS.fullmatch(note):
            for name in found[1].split(","):
                yield from _address(name.strip(), function)
    for operand in instruction.operands:
        if isinstance(operand, LabelOperand):
            yield from _address(operand.name, function)
        elif isinstance(operand, IntegerOperand) and instruction.opcode in _BRANCHES:
            yield operand.value
        elif isinstance(operand, IndirectOperand) and isinstance(operand.base, LabelOperand):
            yield from _address(operand.base.name, function)


def _address(label: str, function: SassFunction) -> Iterator[int]:
    if label in function.labels:
        yield function.labels[label]
    elif label in function.functions:
        yield function.functions[label]
