"""Floating-point operations of the steps that instructions amount to."""

from __future__ import annotations

from kernelcast.ir import Instruction, OpClass

_OPERATIONS = {"add": 1, "sub": 1, "mul": 1, "div": 1, "fma": 2, "mad": 2}
_CLASSES = (OpClass.FP16, OpClass.FP32, OpClass.FP64)


def flops(step: Instruction) -> int:
    """Additions, multiplications and divisions of one thread, in the precision of its class.

    A fused multiply-add is two, a packed instruction (`f16x2`) twice its scalar.
    """
    if step.op_class not in _CLASSES:
        return 0
    is_packed = any(m.endswith("x2") for m in step.modifiers)
    return _OPERATIONS.get(step.opcode, 0) * (2 if is_packed else 1)
