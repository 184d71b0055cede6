"""Traits of PTX instructions."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from kernelcast.ir import Immediate, Instruction, MatrixProduct, OpClass, Register, Traits
from kernelcast.isas.masks import ALL_LANES

_VOLATILE = frozenset(("volatile", "relaxed", "acquire", "mmio"))
_EXCHANGES = frozenset(("shfl", "vote", "match", "redux", "elect"))
_OF_WHOLE_WARPS = frozenset(("mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"))
_EXITS = frozenset(("ret", "exit"))
_WITH_CARRY = frozenset(("addc", "subc", "madc"))
_WIDE = frozenset(("f64", "s64", "u64"))
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_ELEMENT_BITS = {"f64": 64, "tf32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8}
_WARPS_OF_GROUP = 4


def with_traits(instruction: Instruction) -> Instruction:
    """The same instruction, or step, with its traits."""
    traits = _traits(instruction.opcode, instruction.modifiers, instruction.op_class)
    mask = _member_mask(instruction)
    if mask is not None:
        traits = replace(traits, member_mask=mask)
    return instruction if traits == instruction.traits else replace(instruction, traits=traits)


@cache
def _traits(opcode: str, modifiers: tuple[str, ...], op_class: OpClass) -> Traits:
    words = frozenset(modifiers)
    return Traits(
        exits=opcode in _EXITS,
        sleeps=opcode == "nanosleep",
        is_volatile=not words.isdisjoint(_VOLATILE),
        is_read_only="nc" in words,
        reads_carry=opcode in _WITH_CARRY,
        writes_carry="cc" in words,
        converts_wide=op_class is OpClass.CONVERT and not words.isdisjoint(_WIDE),
        product=_product(opcode, modifiers) if op_class is OpClass.TENSOR else None,
    )


def _member_mask(i: Instruction) -> Register | Immediate | None:
    if i.guard is not None:
        return None
    if i.opcode in _OF_WHOLE_WARPS:
        return ALL_LANES
    is_exchange = i.opcode in _EXCHANGES and "sync" in i.modifiers
    if not i.operands or not (is_exchange or i.modifiers[:2] == ("warp", "sync")):
        return None
    mask = i.operands[-1]
    return mask if isinstance(mask, Register | Immediate) else None


def _product(opcode: str, modifiers: tuple[str, ...]) -> MatrixProduct | None:
    bits = next((_ELEMENT_BITS[m] for m in modifiers if m in _ELEMENT_BITS), 16)
    for modifier in modifiers:
        if found := _SHAPE.fullmatch(modifier):
            m, n, k = map(int, found.groups())
            return MatrixProduct(m, n, k, bits, _WARPS_OF_GROUP if opcode == "wgmma" else 1)
    return None
