"""Whether code asks how large its blocks are: else it was written for blocks of one size."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcast.ir import Address, Instruction, Kernel, SpecialRegister, Symbol

_AXES = ("ntid.x", "ntid.y", "ntid.z")


def axes_of_block_size(kernel: Kernel) -> tuple[int, ...]:
    """The axes, 0 to 2, of which the code reads the extent of a block."""
    names = {
        name
        for i in kernel.instructions
        for step in kernel.steps(i.index)
        for name in _read(step, kernel)
    }
    return tuple(axis for axis, name in enumerate(_AXES) if name in names)


def _read(step: Instruction, kernel: Kernel) -> Iterator[str]:
    words = kernel.constants.launch_words if kernel.constants else ()
    for operand in step.operands:
        if isinstance(operand, SpecialRegister):
            yield operand.name
        if isinstance(operand, Address) and not isinstance(operand.base, Symbol):
            is_constant = operand.base is None
            yield from (w.name for w in words if is_constant and w.offset_bytes == operand.offset)
