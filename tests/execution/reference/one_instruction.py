"""Evaluate one instruction's definition on the bits of its operands, without a kernel around."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from kernelcast.execution.reference.interpreter import definition
from kernelcast.execution.reference.values import decode, encode, unsigned, width_of
from kernelcast.ir import Instruction, OpClass, Register, Vector

Bits = int | Sequence[int]


def instruction(name: str, sources: int, *, pack: bool = False, unpack: int = 0) -> Instruction:
    """An instruction with register operands: `pack` groups the sources, `unpack` the results."""
    opcode, *modifiers = name.split(".")
    registers = tuple(Register(f"s{at}", "b32") for at in range(sources))
    target = Register("d", "b32")
    return Instruction(
        index=0,
        opcode=opcode,
        modifiers=tuple(modifiers),
        operands=(
            Vector((target,) * unpack) if unpack else target,
            *((Vector(registers),) if pack else registers),
        ),
        op_class=OpClass.OTHER,
    )


def compute_all(
    name: str,
    *sources: Bits,
    active: int = 0xFFFF_FFFF,
    carry: int = 0,
    pack: bool = False,
    unpack: int = 0,
) -> list[list[int]]:
    """The bits of every result in every lane; a source is the bits of each lane, or of all."""
    semantics = definition(instruction(name, len(sources), pack=pack, unpack=unpack))
    values = [
        decode(type_name, _lanes(bits, type_name))
        for type_name, bits in zip(semantics.sources, sources, strict=True)
    ]
    if semantics.takes_carry:
        values.insert(0, np.full(32, bool(carry)))
    if semantics.takes_active:
        values.insert(0, np.array([active >> lane & 1 for lane in range(32)], bool))
    with np.errstate(all="ignore"):
        results = semantics.function(*values)
        if not isinstance(results, tuple):
            results = (results,)
        if semantics.gives_values:
            results = results[:-1]
        return [
            [int(b) for b in np.broadcast_to(encode(type_name, np.asarray(value)), 32)]
            for type_name, value in zip(semantics.results, results, strict=True)
        ]


def compute(name: str, *sources: int, carry: int = 0) -> int:
    """The bits of the first result in one lane."""
    return compute_all(name, *sources, carry=carry)[0][0]


def _lanes(bits: Bits, type_name: str) -> np.ndarray:
    width = width_of(type_name) * (2 if type_name.endswith("x2") else 1)
    given = [bits] * 32 if isinstance(bits, int) else [*bits, *[0] * (32 - len(bits))]
    return np.array([b % (1 << width) for b in given], unsigned(width))


def f32(value: float) -> int:
    """Bits of an f32."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def f64(value: float) -> int:
    """Bits of an f64."""
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def f16(value: float) -> int:
    """Bits of an f16."""
    return int(struct.unpack("<H", struct.pack("<e", value))[0])


def from_f32(bits: int) -> float:
    """The number with these bits."""
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def from_f64(bits: int) -> float:
    """The number with these bits."""
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def from_f16(bits: int) -> float:
    """The number with these bits."""
    return float(struct.unpack("<e", struct.pack("<H", bits))[0])
