"""From a stream of instructions to basic blocks in scheduling order."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.analysis.cfg import layout_order
from kernelcast.errors import ParseError
from kernelcast.ir import BasicBlock, BlockRef, Instruction
from kernelcast.isas.ptx.inlining import BranchTarget, Draft, DraftStream, Label
from kernelcast.isas.ptx.meaning import lifted
from kernelcast.isas.ptx.opcodes import ControlFlow, known_form
from kernelcast.isas.ptx.operands import Scope


@dataclass(frozen=True, slots=True)
class LaidOutCode:
    """The instructions of a kernel in basic blocks; `meanings` as in `Kernel`."""

    instructions: tuple[Instruction, ...]
    blocks: tuple[BasicBlock, ...]
    meanings: tuple[tuple[Instruction, ...], ...]


def lay_out(stream: DraftStream, source: str, cluster_blocks: int = 1) -> LaidOutCode:
    """Cut a stream into basic blocks, order them and number the instructions.

    Raises ParseError, located in `source`, at a branch to a label that does not exist.
    """
    targets = _resolve_targets(stream, source)
    bodies, labels = _cut(stream, set(targets.values()))
    body_of = {target: labels[label] for target, label in targets.items()}
    successors = [_successors(at, bodies, body_of) for at in range(len(bodies))]
    order = layout_order(successors)
    place = {body: index for index, body in enumerate(order)}
    instructions: list[Instruction] = []
    meanings: list[tuple[Instruction, ...]] = []
    blocks = []
    for index, body in enumerate(order):
        start = len(instructions)
        for draft in bodies[body]:
            operands = [
                BlockRef(place[body_of[_key(o)]]) if isinstance(o, BranchTarget) else o
                for o in draft.operands
            ]
            form, _, guard, line, location = draft
            made = lifted(len(instructions), form, operands, guard, line, location, cluster_blocks)
            for own, steps in made:
                instructions.append(own)
                meanings.append(steps)
        blocks.append(
            BasicBlock(index, start, len(instructions), tuple(place[s] for s in successors[body]))
        )
    is_plain = all(steps == (own,) for own, steps in zip(instructions, meanings, strict=True))
    return LaidOutCode(tuple(instructions), tuple(blocks), () if is_plain else tuple(meanings))


def _key(target: BranchTarget) -> Label:
    """A branch's target before it is looked up: the name, and the scope it is named in."""
    return Label(target.scope.number, target.name)


def _resolve_targets(stream: DraftStream, source: str) -> dict[Label, Label]:
    """The label that each target names: the one of its name in the nearest scope."""
    labels: set[Label] = set()
    for item in stream:
        if isinstance(item, Label):
            if item in labels:
                raise ParseError(f"label {item.name!r} is defined twice", where=source)
            labels.add(item)
    return {
        _key(operand): _nearest(operand, labels, f"{source}:{item.line}")
        for item in stream
        if isinstance(item, Draft) and item.form.flow in (ControlFlow.BRANCH, ControlFlow.TABLE)
        for operand in item.operands
        if isinstance(operand, BranchTarget)
    }


def _nearest(target: BranchTarget, labels: set[Label], where: str) -> Label:
    scope: Scope | None = target.scope
    while scope is not None:
        label = Label(scope.number, target.name)
        if label in labels:
            return label
        scope = scope.parent
    raise ParseError(f"unknown label {target.name!r}", where=where)


def _cut(stream: DraftStream, named: set[Label]) -> tuple[list[list[Draft]], dict[Label, int]]:
    """Bodies of the basic blocks in text order, and the body that each named label begins.

    Labels that no branch names, as compilers write them for debuggers, cut nothing.
    """
    bodies: list[list[Draft]] = [[]]
    begins: dict[Label, int] = {}
    line = 0
    for item in stream:
        if isinstance(item, Draft):
            bodies[-1].append(item)
            line = item.line
            if item.form.flow is not ControlFlow.NEXT:
                bodies.append([])
        elif item in named:
            if bodies[-1]:
                bodies.append([])
            begins[item] = len(bodies) - 1
    entered = len(bodies) == 1 or bool(bodies[-1]) or len(bodies) - 1 in begins.values()
    if not entered and not _goes_on(bodies[-2][-1]):
        bodies.pop()
    elif not bodies[-1] or _goes_on(bodies[-1][-1]):
        bodies[-1].append(Draft(known_form("ret"), (), None, line, None))
    return bodies, begins


def _goes_on(last: Draft) -> bool:
    """Whether control may pass from this instruction to the next one."""
    return last.guard is not None or last.form.flow in (ControlFlow.NEXT, ControlFlow.WAIT)


def _successors(at: int, bodies: list[list[Draft]], body_of: dict[Label, int]) -> tuple[int, ...]:
    """Bodies that may follow: the next one in the text first, where control may pass to it."""
    last = bodies[at][-1]
    following = [at + 1] if _goes_on(last) else []
    following += [body_of[_key(o)] for o in last.operands if isinstance(o, BranchTarget)]
    return tuple(dict.fromkeys(following))
