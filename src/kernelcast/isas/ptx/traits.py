"""Traits of PTX instructions."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from kernelcast.ir import (
    CacheHint,
    CompareAndSwap,
    Immediate,
    Instruction,
    LaneMatch,
    MatrixProduct,
    MbarrierUse,
    OpClass,
    Register,
    Traits,
)
from kernelcast.isas.masks import ALL_LANES

INDEXED = "indexed"
"""What marks the steps that load constants whose place a register tells."""
_VOLATILE = frozenset(("volatile", "relaxed", "acquire", "mmio"))
_OF_BLOCK = "cta"
_HINTS = {
    "ca": CacheHint.EVERY_LEVEL,
    "cg": CacheHint.BEYOND_L1,
    "cv": CacheHint.BEYOND_L1,
    "cs": CacheHint.LEAVES_FIRST,
    "lu": CacheHint.LEAVES_FIRST,
    "L1::no_allocate": CacheHint.NO_L1_ALLOCATION,
    "L1::evict_first": CacheHint.LEAVES_FIRST,
    "L2::evict_first": CacheHint.LEAVES_FIRST,
}
_BULK = frozenset(("bulk.read", "bulk.write"))
_EXCHANGES = frozenset(("shfl", "vote", "match", "redux", "elect"))
_OF_WHOLE_WARPS = frozenset(("mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"))
_EXITS = frozenset(("ret", "exit"))
_WITH_CARRY = frozenset(("addc", "subc", "madc"))
_MBARRIER_USES = {
    "init": MbarrierUse.BEGINS,
    "arrive": MbarrierUse.ARRIVES,
    "arrive_drop": MbarrierUse.ARRIVES,
    "expect_tx": MbarrierUse.ARRIVES,
    "complete_tx": MbarrierUse.ARRIVES,
    "test_wait": MbarrierUse.WAITS,
    "try_wait": MbarrierUse.WAITS,
}
_WIDE = frozenset(("f64", "s64", "u64"))
_WIDER = frozenset(("wide", "hi"))
_FLOATS = frozenset(("f16", "f16x2", "bf16", "bf16x2", "f32", "f64"))
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_ELEMENT_BITS = {"f64": 64, "tf32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8}
_WARPS_OF_GROUP = 4


def with_traits(instruction: Instruction) -> Instruction:
    """The same instruction, or step, with its traits."""
    traits = _traits(instruction.opcode, instruction.modifiers, instruction.op_class)
    mask = _member_mask(instruction)
    if mask is not None:
        traits = replace(traits, member_mask=mask)
    if _counts_lanes(instruction):
        traits = replace(traits, counts_lanes=True)
    return instruction if traits == instruction.traits else replace(instruction, traits=traits)


@cache
def _traits(opcode: str, modifiers: tuple[str, ...], op_class: OpClass) -> Traits:
    words = frozenset(modifiers)
    return Traits(
        exits=opcode in _EXITS,
        sleeps=opcode == "nanosleep",
        is_volatile=not words.isdisjoint(_VOLATILE),
        is_read_only="nc" in words,
        cache_hint=_cache_hint(opcode, modifiers) if op_class.is_memory else None,
        reads_carry=opcode in _WITH_CARRY,
        writes_carry="cc" in words,
        converts_wide=op_class is OpClass.CONVERT and not words.isdisjoint(_WIDE),
        adds_floats=op_class is OpClass.ATOMIC and not words.isdisjoint(_FLOATS),
        product=_product(opcode, modifiers) if op_class is OpClass.TENSOR else None,
        widens=op_class is OpClass.INT_MUL and not words.isdisjoint(_WIDER),
        swap=CompareAndSwap.FETCHES if "cas" in words else None,
        mbarrier=mbarrier_use(opcode, modifiers, op_class),
        indexes_constants=INDEXED in words,
        is_copy=is_copy(opcode, op_class),
        match=_match(words) if op_class is OpClass.MATCH else None,
    )


def _match(words: frozenset[str]) -> LaneMatch:
    return LaneMatch(2 if "b64" in words else 1, "any" in words)


def is_copy(opcode: str, op_class: OpClass) -> bool:
    """Whether an instruction, or a part of one, loads for an asynchronous copy."""
    return opcode == "cp" and op_class is OpClass.LOAD


def mbarrier_use(opcode: str, modifiers: tuple[str, ...], op_class: OpClass) -> MbarrierUse | None:
    """What an instruction, or a part of one, does to a barrier in shared memory."""
    if opcode == "mbarrier":
        return _MBARRIER_USES.get(modifiers[0])
    # Of an asynchronous copy, the part that says that it is done.
    is_copy = opcode == "cp" and op_class is OpClass.ATOMIC
    return MbarrierUse.COMPLETES if is_copy else None


def _cache_hint(opcode: str, modifiers: tuple[str, ...]) -> CacheHint | None:
    """What another SM may change is not looked up in an L1 cache, nor what a bulk copy moves."""
    words = frozenset(modifiers)
    is_shared_with_others = not words.isdisjoint(_VOLATILE) and _OF_BLOCK not in words
    if opcode in _BULK or is_shared_with_others:
        return CacheHint.BEYOND_L1
    return next((_HINTS[m] for m in modifiers if m in _HINTS), None)


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


def _counts_lanes(i: Instruction) -> bool:
    """Whether it may become `ATOMS.POPC.INC`, from compute capability 8.0 on.

    Operands are compared as text: a stored trace keeps no more of them.
    """
    is_sum = i.opcode in ("atom", "red") and {"shared", "add", "u32"} <= {*i.modifiers}
    return is_sum and str(i.operands[-1]) == str(Immediate(1))


def _product(opcode: str, modifiers: tuple[str, ...]) -> MatrixProduct | None:
    bits = next((_ELEMENT_BITS[m] for m in modifiers if m in _ELEMENT_BITS), 16)
    for modifier in modifiers:
        if found := _SHAPE.fullmatch(modifier):
            m, n, k = map(int, found.groups())
            return MatrixProduct(m, n, k, bits, _WARPS_OF_GROUP if opcode == "wgmma" else 1)
    return None
