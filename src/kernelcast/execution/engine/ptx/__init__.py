"""What PTX instructions mean, as LLVM: the instruction set of the engine for PTX kernels."""

from __future__ import annotations

from collections.abc import Callable

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx import (
    barriers,
    bits,
    bulk_copies,
    conversions,
    floating,
    integer,
    memory,
    moves,
    products,
    selection,
    special_functions,
    warp,
)
from kernelcast.execution.engine.ptx.operands import type_of
from kernelcast.ir import Instruction

_Lower = Callable[[Lowering, Instruction], None]


def _by_type(of_integers: _Lower, of_floats: _Lower) -> _Lower:
    def lower(lw: Lowering, i: Instruction) -> None:
        (of_floats if type_of(i).is_float else of_integers)(lw, i)

    return lower


_FLOAT = {**floating.FLOAT, **special_functions.FLOAT}
_OPCODES: dict[str, _Lower] = {
    **integer.OPCODES,
    **bits.OPCODES,
    **floating.OPCODES,
    **special_functions.OPCODES,
    **{name: _by_type(integer.INTEGER[name], lower) for name, lower in _FLOAT.items()},
    **selection.OPCODES,
    **conversions.OPCODES,
    **moves.OPCODES,
    **memory.OPCODES,
    **bulk_copies.OPCODES,
    **products.OPCODES,
    **warp.OPCODES,
    **barriers.OPCODES,
}


class Ptx:
    """The PTX instruction set."""

    opcodes = _OPCODES

    def arrive(self, lowering: Lowering, barrier: Instruction) -> tuple[str, str]:
        """Lower the arrival at a barrier."""
        return barriers.arrive_and_wait(lowering, barrier)

    def deliver(self, lowering: Lowering, barrier: Instruction) -> None:
        """Lower the result of a reducing barrier."""
        barriers.deliver(lowering, barrier)
