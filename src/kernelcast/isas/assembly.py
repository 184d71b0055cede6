"""Machine code is executed as it is; what the assembler makes of other code."""

from __future__ import annotations

from kernelcast.ir import Instruction, Kernel, OpClass, Space

MACHINE_CODE = "sass"


def is_machine_code(kernel: Kernel) -> bool:
    """Whether the instructions of a kernel are the GPU's own."""
    return kernel.isa == MACHINE_CODE


def loads_constant(instruction: Instruction) -> bool:
    """Whether an instruction loads constants on its own, and its result comes when it comes.

    What names one as an operand, or reads it to a uniform register, does not issue before it is
    there.
    """
    is_load = instruction.op_class is OpClass.LOAD
    if not is_load or instruction.space not in (Space.CONST, Space.PARAM):
        return False
    if instruction.control is None:
        return bool(instruction.address_reads)
    return instruction.control.result_counter is not None


def assembled_class(instruction: Instruction, kernel: Kernel) -> OpClass | None:
    """What an instruction becomes in machine code, None where it vanishes there.

    PTX is not machine code: its parameters become operands from the constant bank, its moves are
    renamed away, and its conversions between integers are moves.
    """
    op_class = instruction.op_class
    if is_machine_code(kernel):
        return op_class
    if op_class is OpClass.MOVE or instruction.space is Space.PARAM:
        return None
    if op_class is OpClass.CONVERT and not any("f" in m for m in instruction.modifiers[-2:]):
        return OpClass.INT
    return op_class
