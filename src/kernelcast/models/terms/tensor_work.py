"""The work of matrix instructions, in multiply-adds of half precision.

An instruction of shape m x n x k makes m n k multiply-adds for its warp, or for four warps where a
warp group executes it together. The machine's rate is that of half precision; other formats relate
to it as NVIDIA's whitepapers of Ampere and Hopper state: 8-bit formats take half the time, TF32
twice the time. Double precision has a rate of its own, which no machine file holds.
"""

from __future__ import annotations

from kernelcast.ir import Instruction

_DOUBLE_BITS = 64


def half_multiply_adds(instruction: Instruction) -> float | None:
    """Multiply-adds of half precision that take as long, per warp; None where nobody knows."""
    product = instruction.traits.product
    if product is None or product.element_bits == _DOUBLE_BITS:
        return None
    return product.half_multiply_adds
