"""The work of matrix instructions, in multiply-adds of half precision.

An instruction of shape m x n x k makes m n k multiply-adds for its warp, or for four warps where a
warp group executes it together. The machine's rate is that of half precision; other formats relate
to it as NVIDIA's whitepapers of Ampere and Hopper state: 8-bit formats take half the time, TF32
twice the time. Double precision has a rate of its own, which no machine file holds.
"""

from __future__ import annotations

import re

from kernelcast.ir import Instruction

_PTX_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_GROUP_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)")
_WARP_SHAPES = {
    "1684": (16, 8, 4),
    "1688": (16, 8, 8),
    "16816": (16, 8, 16),
    "16832": (16, 8, 32),
    "16864": (16, 8, 64),
    "8816": (8, 8, 16),
    "8832": (8, 8, 32),
    "884": (8, 8, 4),
}
"""How SASS writes m, n and k in a row."""

_WARPS_OF_GROUP = 4
_DOUBLE = frozenset({"DMMA", "f64"})
_EIGHT_BITS = frozenset({"S8", "U8", "s8", "u8", "E4M3", "E5M2", "e4m3", "e5m2"})
_TF32 = frozenset({"TF32", "tf32"})


def half_multiply_adds(instruction: Instruction) -> float | None:
    """Multiply-adds of half precision that take as long, per warp; None where nobody knows."""
    words = (instruction.opcode, *instruction.modifiers)
    if _DOUBLE.intersection(words):
        return None
    shape = _shape(words)
    if shape is None:
        return None
    m, n, k = shape
    work = float(m * n * k)
    if _EIGHT_BITS.intersection(words) or instruction.opcode in ("IMMA", "IGMMA", "QGMMA"):
        return work / 2
    return work * 2 if _TF32.intersection(words) else work


def _shape(words: tuple[str, ...]) -> tuple[int, int, float] | None:
    for word in words:
        if word in _WARP_SHAPES:
            return _WARP_SHAPES[word]
        is_group = words[0] in ("wgmma", "HGMMA", "IGMMA", "QGMMA")
        if found := (_PTX_SHAPE.fullmatch(word) or _GROUP_SHAPE.fullmatch(word)):
            m, n, k = map(int, found.groups())
            return m, n, k / _WARPS_OF_GROUP if is_group else k
    return None
