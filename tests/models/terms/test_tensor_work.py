"""The work of matrix instructions, as a time on tensor cores of half precision."""

from __future__ import annotations

import pytest

from kernelcast.ir import Instruction, OpClass
from kernelcast.isas.traits import with_traits
from kernelcast.models.terms.tensor_work import half_multiply_adds


def instruction(name: str) -> Instruction:
    opcode, *modifiers = name.split(".")
    made = Instruction(0, opcode, tuple(modifiers), (), OpClass.TENSOR)
    return with_traits(made, "ptx" if opcode.islower() else "sass")


@pytest.mark.parametrize(
    ("name", "work"),
    [
        # Cao et al. 2025 (AMALI), section 3: 2048 multiply-adds, 8 cycles of an A100's core of 256.
        ("HMMA.16816.F32", 16 * 8 * 16),
        ("HMMA.1688.F16", 16 * 8 * 8),
        ("HMMA.1684.F32.TF32", 2 * 16 * 8 * 4),
        ("IMMA.16832.S8.S8", 16 * 8 * 32 / 2),
        ("HGMMA.64x128x16.F32", 64 * 128 * 16 / 4),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16 * 8 * 16),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 16 * 8 * 32 / 2),
        ("DMMA.8x8x4", None),
        ("MOVM.16.MT88", None),
    ],
)
def test_work_follows_from_the_shape_and_the_format(name: str, work: float | None) -> None:
    assert half_multiply_adds(instruction(name)) == work
