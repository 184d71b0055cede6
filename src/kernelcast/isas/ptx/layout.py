"""From a stream of instructions to basic blocks in scheduling order."""

from __future__ import annotations

from kernelcast.analysis.cfg import layout_order
from kernelcast.errors import ParseError
from kernelcast.ir import (
    Address,
    BasicBlock,
    BlockRef,
    Instruction,
    Negated,
    Operand,
    Register,
    Vector,
)
from kernelcast.isas.ptx.inlining import Draft, Label, Target
from kernelcast.isas.ptx.opcodes import Flow, known_form
from kernelcast.isas.ptx.operands import Scope

_Labels = dict[Label, int]


def lay_out(
    stream: list[Draft | Label], source: str
) -> tuple[tuple[Instruction, ...], tuple[BasicBlock, ...]]:
    """Cut a stream into basic blocks, order them and number the instructions.

    Raises ParseError, located in `source`, at a branch to a label that does not exist.
    """
    bodies, labels = _cut(stream, source)
    successors = [_successors(at, bodies, labels, source) for at in range(len(bodies))]
    order = layout_order(successors)
    place = {body: index for index, body in enumerate(order)}
    references = [BlockRef(place.get(body, -1)) for body in range(len(bodies))]
    instructions: list[Instruction] = []
    blocks = []
    for index, body in enumerate(order):
        start = len(instructions)
        for draft in bodies[body]:
            operands = draft.operands
            if draft.form.flow in (Flow.BRANCH, Flow.TABLE):
                operands = tuple(
                    references[_block_of(o, labels, draft.line, source)]
                    if isinstance(o, Target)
                    else o
                    for o in operands
                )
            instructions.append(_instruction(len(instructions), draft, operands))
        blocks.append(
            BasicBlock(index, start, len(instructions), tuple(place[s] for s in successors[body]))
        )
    return tuple(instructions), tuple(blocks)


def _cut(stream: list[Draft | Label], source: str) -> tuple[list[list[Draft]], _Labels]:
    """Bodies of the basic blocks in text order, and the block that each label names."""
    bodies: list[list[Draft]] = [[]]
    labels: _Labels = {}
    last_line = 0
    for item in stream:
        if isinstance(item, Label):
            if bodies[-1]:
                bodies.append([])
            if item in labels:
                raise ParseError(f"label {item.name!r} is defined twice", where=source)
            labels[item] = len(bodies) - 1
            continue
        bodies[-1].append(item)
        last_line = item.line
        if item.form.flow is not Flow.NEXT:
            bodies.append([])
    if not bodies[-1] and len(bodies) > 1 and len(bodies) - 1 not in labels.values():
        bodies.pop()
    if not bodies[-1] or _goes_on(bodies[-1][-1]):
        bodies[-1].append(Draft(known_form("ret"), (), None, last_line, None))
    return bodies, labels


def _goes_on(last: Draft) -> bool:
    """Whether control may pass from this instruction to the next one."""
    return last.guard is not None or last.form.flow in (Flow.NEXT, Flow.WAIT)


def _successors(
    at: int, bodies: list[list[Draft]], labels: _Labels, source: str
) -> tuple[int, ...]:
    """Blocks that may follow: the next one in the text first, where control may pass to it."""
    last = bodies[at][-1]
    following = [at + 1] if _goes_on(last) else []
    following += [
        _block_of(o, labels, last.line, source) for o in last.operands if isinstance(o, Target)
    ]
    return tuple(dict.fromkeys(following))


def _block_of(target: object, labels: _Labels, line: int, source: str) -> int:
    """The block that a branch names: the label of that name in the nearest scope."""
    assert isinstance(target, Target)
    scope: Scope | None = target.scope
    while scope is not None:
        block = labels.get(Label(scope.number, target.name))
        if block is not None:
            return block
        scope = scope.parent
    raise ParseError(f"unknown label {target.name!r}", where=f"{source}:{line}")


def _instruction(index: int, draft: Draft, operands: tuple[Operand | Target, ...]) -> Instruction:
    form, _, guard, line, location = draft
    reads: list[Register] = [] if guard is None else [guard.register]
    writes: list[Register] = []
    resolved: list[Operand] = []
    destinations = form.destinations
    for position, operand in enumerate(operands):
        assert not isinstance(operand, Target)
        resolved.append(operand)
        registers = writes if position < destinations else reads
        if isinstance(operand, Register):
            registers.append(operand)
        elif isinstance(operand, Address):
            if isinstance(operand.base, Register):
                reads.append(operand.base)
        elif isinstance(operand, Vector):
            registers += [e for e in operand.elements if isinstance(e, Register)]
        elif isinstance(operand, Negated):
            reads.append(operand.register)
    return Instruction(
        index=index,
        opcode=form.opcode,
        modifiers=form.modifiers,
        operands=tuple(resolved),
        op_class=form.op_class,
        guard=guard,
        reads=tuple(reads),
        writes=tuple(writes),
        space=form.space,
        access_bytes=form.access_bytes,
        location=location,
        line=line,
    )
