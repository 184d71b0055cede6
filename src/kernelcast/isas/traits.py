"""Traits of the instructions of any ISA, for kernels that were stored."""

from __future__ import annotations

from kernelcast.ir import Instruction
from kernelcast.isas.assembly import MACHINE_CODE
from kernelcast.isas.ptx.traits import with_traits as with_ptx_traits
from kernelcast.isas.sass.traits import with_traits as with_sass_traits


def with_traits(instruction: Instruction, isa: str) -> Instruction:
    """The same instruction with its traits; masks are known only where its operands are."""
    return with_sass_traits(instruction) if isa == MACHINE_CODE else with_ptx_traits(instruction)
