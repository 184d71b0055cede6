"""What a kernel is. Imports nothing else of the package but its errors."""

from kernelcast.ir.instruction import (
    Address,
    BlockRef,
    Guard,
    Immediate,
    Instruction,
    Location,
    Negated,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from kernelcast.ir.kernel import BasicBlock, Kernel, Parameter, Resources, Variable
from kernelcast.ir.launch import ELEMENT_BYTES, Argument, Array, Dim3, Fill, Launch
from kernelcast.ir.op_class import OpClass, Space

__all__ = [
    "ELEMENT_BYTES",
    "Address",
    "Argument",
    "Array",
    "BasicBlock",
    "BlockRef",
    "Dim3",
    "Fill",
    "Guard",
    "Immediate",
    "Instruction",
    "Kernel",
    "Launch",
    "Location",
    "Negated",
    "OpClass",
    "Operand",
    "Parameter",
    "Register",
    "Resources",
    "Space",
    "SpecialRegister",
    "Symbol",
    "Variable",
    "Vector",
]
