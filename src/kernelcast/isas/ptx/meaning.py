"""Instructions of PTX that amount to several others: what they do, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelcast.ir import Guard, Instruction, Location, Operand, Register
from kernelcast.isas.ptx import clusters, copies, eight_bit_floats, matrices, mbarriers, textures
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning, UnknownFormError
from kernelcast.isas.ptx.opcodes import Form
from kernelcast.isas.ptx.parts import address_reads, outer, parts
from kernelcast.isas.ptx.steps import instruction
from kernelcast.isas.ptx.traits import is_copy, mbarrier_use

_MEANINGS: Mapping[str, PtxMeaning] = {
    **mbarriers.MEANINGS,
    **copies.MEANINGS,
    **clusters.MEANINGS,
    **matrices.MEANINGS,
    **textures.MEANINGS,
    **eight_bit_floats.MEANINGS,
}


def lifted(
    index: int,
    form: Form,
    operands: Sequence[Operand],
    guard: Guard | None,
    line: int,
    location: Location | None,
    cluster_blocks: int = 1,
) -> list[tuple[Instruction, tuple[Instruction, ...]]]:
    """The instructions of a kernel, from `index` on, that one of the text makes, and their steps.

    `cluster_blocks` is how many blocks a cluster of the kernel has.

    One that executors know, or nobody does, is its own only step.
    """
    whole = instruction(index, form, operands, guard, line, location)
    meaning = _MEANINGS.get(".".join((form.opcode, *form.modifiers[:1])))
    meaning = meaning or _MEANINGS.get(form.opcode)
    if meaning is None:
        return [(whole, (whole,))]
    lift = PtxLift(index, form, operands, guard, line, location, cluster_blocks)
    try:
        meaning(lift)
        lift.done()
    except UnknownFormError:
        return [(whole, (whole,))]
    found = []
    for at, steps in enumerate(parts(tuple(lift.steps)), start=index):
        own = tuple(replace(s, index=at) for s in steps)
        found.append((_part(replace(whole, index=at), own), own))
    return found


def _part(whole: Instruction, steps: tuple[Instruction, ...]) -> Instruction:
    """An instruction with these steps: its class, space and width are those of its access."""
    access = next((s for s in steps if s.is_traced), None)
    op_class = access.op_class if access else whole.op_class
    traits = replace(
        whole.traits,
        mbarrier=mbarrier_use(whole.opcode, whole.modifiers, op_class),
        is_copy=is_copy(whole.opcode, op_class),
    )
    if steps and traits.member_mask is None:
        traits = replace(traits, member_mask=steps[0].traits.member_mask)
    return replace(
        whole,
        reads=_ordered(outer(r for s in steps for r in s.reads), whole.reads),
        writes=_ordered(outer(r for s in steps for r in s.writes), whole.writes),
        address_reads=address_reads(steps),
        op_class=op_class,
        space=access.space if access else whole.space,
        access_bytes=access.access_bytes if access else 0,
        traits=traits,
    )


def _ordered(found: tuple[Register, ...], order: tuple[Register, ...]) -> tuple[Register, ...]:
    """Registers in the order of the operands, and behind them those that are none."""
    return (*(r for r in order if r in found), *(r for r in found if r not in order))
