"""Traits of SASS instructions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

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
    Space,
    Traits,
)
from kernelcast.isas.sass.early_opcodes import early_opcodes
from kernelcast.isas.sass.flow import CALLS, FAILED_ASSERTION, INDIRECT

_PRODUCTS = frozenset(("FMUL", "FMUL32", "FMUL32I"))
_WIDER = frozenset(("WIDE", "HI"))
_RECONVERGES = frozenset(("BSYNC", "WARPSYNC"))
_HINTS = {
    "EF": CacheHint.LEAVES_FIRST,
    "LU": CacheHint.LEAVES_FIRST,
    "NA": CacheHint.NO_L1_ALLOCATION,
    "BYPASS": CacheHint.BEYOND_L1,
}
_OF_BLOCK = frozenset(("CTA", "SM"))
_BULK = ("UBLK", "UTMA")
"""How opcodes of bulk copies begin."""
_COPIES = (*_BULK, "LDGSTS")
_MBARRIER_USES = {
    "EXCH": MbarrierUse.BEGINS,
    "ARRIVE": MbarrierUse.ARRIVES,
    "PHASECHK": MbarrierUse.WAITS,
}
"""By the first modifier of `SYNCS`."""
_WIDE = frozenset(("F64", "S64", "U64"))
_FLOATS = frozenset(("F32", "F64", "F16x2", "BF16x2", "BF16_V2"))
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
"""How m, n and k are written in a row."""

_GROUP_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)")
_OF_GROUPS = frozenset(("HGMMA", "IGMMA", "QGMMA"))
_WARPS_OF_GROUP = 4
_ELEMENT_BITS = {
    "DMMA": 64,
    "IMMA": 8,
    "IGMMA": 8,
    "QGMMA": 8,
    "TF32": 32,
    "S8": 8,
    "U8": 8,
    "E4M3": 8,
    "E5M2": 8,
}
"""By opcode, or else by modifier."""


def with_traits(instruction: Instruction, steps: Sequence[Instruction] = ()) -> Instruction:
    """The same instruction, which does `steps`, with its traits."""
    traits = _traits(instruction, steps)
    return instruction if traits == instruction.traits else replace(instruction, traits=traits)


def _traits(i: Instruction, steps: Sequence[Instruction]) -> Traits:
    return Traits(
        exits=i.opcode == "EXIT",
        stops=FAILED_ASSERTION in i.modifiers,
        reconverges=i.opcode in _RECONVERGES,
        is_indirect=i.opcode in INDIRECT,
        calls=i.opcode in CALLS,
        returns=i.opcode == "RET",
        member_mask=_member_mask(steps),
        is_volatile=_is_volatile(i),
        is_read_only="CONSTANT" in i.modifiers,
        cache_hint=_cache_hint(i) if i.op_class.is_memory else None,
        converts_wide=i.op_class is OpClass.CONVERT and not _WIDE.isdisjoint(i.modifiers),
        product=_product(i) if i.op_class is OpClass.TENSOR else None,
        computes=_computes(i),
        multiplies=i.opcode in _PRODUCTS,
        widens=i.op_class is OpClass.INT_MUL and not _WIDER.isdisjoint(i.modifiers),
        adds_floats=i.op_class is OpClass.ATOMIC and not _FLOATS.isdisjoint(i.modifiers),
        counts_lanes=i.opcode == "ATOMS" and "POPC" in i.modifiers,
        swap=_swap(i) if i.op_class is OpClass.ATOMIC else None,
        mbarrier=_mbarrier(i),
        indexes_constants=i.space is Space.PARAM and bool(i.address_reads),
        is_copy=i.op_class is OpClass.LOAD and i.opcode.startswith(_COPIES),
        match=_match(i) if i.op_class is OpClass.MATCH else None,
    )


def _swap(i: Instruction) -> CompareAndSwap | None:
    if "CAST" in i.modifiers:
        return CompareAndSwap.TRIES
    return CompareAndSwap.FETCHES if "CAS" in i.modifiers else None


def _match(i: Instruction) -> LaneMatch:
    return LaneMatch(2 if "U64" in i.modifiers else 1, "ANY" in i.modifiers)


def _mbarrier(i: Instruction) -> MbarrierUse | None:
    """What arrives when copies are done is `ARRIVES`, and the last part of a bulk copy."""
    if i.opcode == "SYNCS":
        return next((_MBARRIER_USES[m] for m in i.modifiers[:1] if m in _MBARRIER_USES), None)
    brings = i.opcode.startswith(_BULK) and i.op_class is OpClass.ATOMIC
    return MbarrierUse.COMPLETES if brings or i.opcode == "ARRIVES" else None


def _computes(i: Instruction) -> OpClass | None:
    """Of a load from shared memory: the arithmetic that it is, on compute capability 1.x."""
    if i.op_class is not OpClass.LOAD or i.space is not Space.SHARED:
        return None
    row = early_opcodes().get(i.opcode)
    is_load = row is None or row.space is not None or row.op_class is OpClass.MOVE
    return None if is_load or row is None else row.op_class


def _member_mask(steps: Sequence[Instruction]) -> Register | Immediate | None:
    """Of what waits for lanes itself: exchanges take those that are there."""
    for step in steps[:1]:
        if step.guard is None and step.modifiers[:2] == ("warp", "sync"):
            mask = step.operands[-1]
            return mask if isinstance(mask, Register | Immediate) else None
    return None


def _is_volatile(i: Instruction) -> bool | None:
    """Shared memory is read alike whether the source said `volatile` or not."""
    if i.op_class is OpClass.LOAD and i.space is Space.SHARED:
        return None
    return "STRONG" in i.modifiers


def _cache_hint(i: Instruction) -> CacheHint | None:
    """What another SM may change is not looked up in an L1 cache, nor what a bulk copy moves."""
    if "STRONG" in i.modifiers:
        is_of_block = not _OF_BLOCK.isdisjoint(i.modifiers)
        return CacheHint.EVERY_LEVEL if is_of_block else CacheHint.BEYOND_L1
    if i.opcode.startswith(_BULK):
        return CacheHint.BEYOND_L1
    return next((_HINTS[m] for m in i.modifiers if m in _HINTS), None)


def _product(i: Instruction) -> MatrixProduct | None:
    words = (i.opcode, *i.modifiers)
    bits = next((_ELEMENT_BITS[word] for word in words if word in _ELEMENT_BITS), 16)
    warps = _WARPS_OF_GROUP if i.opcode in _OF_GROUPS else 1
    for word in i.modifiers:
        if word in _WARP_SHAPES:
            return MatrixProduct(*_WARP_SHAPES[word], bits, warps)
        if found := _GROUP_SHAPE.fullmatch(word):
            m, n, k = map(int, found.groups())
            return MatrixProduct(m, n, k, bits, warps)
    return None
