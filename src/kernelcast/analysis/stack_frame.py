"""The words of a stack frame, where accesses to local memory say which they touch.

An assembler spills a register to a place of its own, at a fixed distance from the stack pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelcast.ir import Address, Instruction, Kernel, Register, Space

_WORD_BYTES = 4


def frame_words(kernel: Kernel, accesses: Sequence[int]) -> Mapping[int, range]:
    """Words of 4 B from the stack pointer on that each access to local memory touches, by index.

    `accesses` are all that may lead into local memory. Empty where one of them does so in another
    way than from the stack pointer at a fixed distance: that one may touch any word. The stack
    pointer is set where the kernel begins, and nothing but these accesses uses it.
    """
    found: dict[int, range] = {}
    pointers: set[Register] = set()
    for index in accesses:
        place = _from_a_register(kernel, kernel.instructions[index])
        if place is None:
            return {}
        pointer, found[index] = place
        pointers.add(pointer)
    if len(pointers) != 1 or not _is_only_a_base(kernel, pointers.pop(), frozenset(found)):
        return {}
    return found


def _from_a_register(kernel: Kernel, access: Instruction) -> tuple[Register, range] | None:
    """The register that an access goes from, and the words behind it."""
    # Beside its address, what is stored may be the pointer, too.
    if access.space is not Space.LOCAL or len(access.address_reads) != 1:
        return None
    (base,) = access.address_reads
    steps = [step for step in kernel.steps(access.index) if step.op_class.is_memory]
    places = [(o, s.access_bytes) for s in steps for o in s.operands if isinstance(o, Address)]
    if access.reads.count(base) != 1 or {at.base for at, _ in places} != {base}:
        return None
    first = min(at.offset for at, _ in places)
    end = max(at.offset + size for at, size in places)
    return base, range(first // _WORD_BYTES, -(-end // _WORD_BYTES))


def _is_only_a_base(kernel: Kernel, pointer: Register, accesses: frozenset[int]) -> bool:
    """Whether a register is written in the block that the kernel enters alone, before all accesses,
    and read by these, or to change it there."""
    entry = kernel.blocks[0]
    if any(entry.index in block.successors for block in kernel.blocks):
        return False
    first = min(accesses)
    for instruction in kernel.instructions:
        if instruction.index in accesses:
            continue
        writes, reads = pointer in instruction.writes, pointer in instruction.reads
        if writes and not entry.start <= instruction.index < min(entry.end, first):
            return False
        if reads and not writes:
            return False
    return True
