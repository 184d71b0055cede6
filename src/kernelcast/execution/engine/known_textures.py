"""What is the same in all textures of a launch, put into the code that reads them.

A read of a texture allows for every kind of texels, for filtering and for levels of detail. Most
launches have one way of reading, so most steps have an effect that is known beforehand, or none.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from kernelcast.ir import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Kernel,
    OpClass,
    Operand,
    Register,
    Space,
)
from kernelcast.ir.texture import DESCRIPTOR_BYTES, OFFSETS
from kernelcast.isas.coordinates import is_by_coordinates
from kernelcast.isas.ptx.steps import is_temporary, step

_NAMES = (
    *("texel_bytes", "bits", "kind", "is_linear", "is_normalized", "modes", "reads_fraction"),
    *("levels", "is_linear_between"),
)
"""Numbers by which textures are told apart; addresses and extents are not."""

_Common = tuple[tuple[int, int], ...]
"""Offsets in a descriptor, and what stands there."""


def with_known_textures(kernel: Kernel, descriptors: Mapping[int, bytes]) -> Kernel:
    """The kernel for a launch that has these textures and surfaces and no others."""
    if not descriptors or not any(map(_reads, kernel.instructions)):
        return kernel
    return _specialised(kernel, _common(descriptors.values()))


def _reads(instruction: Instruction) -> bool:
    return is_by_coordinates(instruction.opcode)


def _common(descriptors: Iterable[bytes]) -> _Common:
    found: dict[int, set[int]] = {OFFSETS[name]: set() for name in _NAMES}
    for levels in descriptors:
        for start in range(0, len(levels), DESCRIPTOR_BYTES):
            for offset, values in found.items():
                values.update(struct.unpack_from("<I", levels, start + offset))
    return tuple((offset, values.pop()) for offset, values in found.items() if len(values) == 1)


@lru_cache(maxsize=64)
def _specialised(kernel: Kernel, known: _Common) -> Kernel:
    meanings = tuple(
        _shortened(kernel.steps(i.index), dict(known)) if _reads(i) else kernel.steps(i.index)
        for i in kernel.instructions
    )
    return replace(kernel, meanings=meanings)


def _shortened(steps: tuple[Instruction, ...], known: Mapping[int, int]) -> tuple[Instruction, ...]:
    """The steps but for those whose result is known, or that nobody needs."""
    values: dict[Register, Operand] = {}
    kept: list[Instruction] = []
    for each in steps:
        operands = tuple(_replaced(operand, values) for operand in each.operands)
        is_on, guard = _guard(each.guard, values)
        if not is_on:
            continue
        target = each.operands[0] if each.writes else None
        result = _result(each, operands, known) if guard is None else None
        if isinstance(target, Register):
            values.pop(target, None)
            operands = (target, *operands[1:])
            if result is not None and is_temporary(target):
                values[target] = result
        name = ".".join((each.opcode, *each.modifiers))
        kept.append(step(each.index, name, operands, guard, each.line, each.location))
    return _needed(kept)


def _replaced(operand: Operand, values: Mapping[Register, Operand]) -> Operand:
    if isinstance(operand, Register):
        return values.get(operand, operand)
    if isinstance(operand, Address) and isinstance(operand.base, Register):
        base = values.get(operand.base, operand.base)
        if isinstance(base, Register):
            return Address(base, operand.offset)
    return operand


def _guard(guard: Guard | None, values: Mapping[Register, Operand]) -> tuple[bool, Guard | None]:
    """Whether a step may have an effect, and its guard where that is open."""
    held = None if guard is None else values.get(guard.register, guard.register)
    if isinstance(held, Immediate):
        assert guard is not None
        return bool(held.value) != guard.negated, None
    if guard is None or not isinstance(held, Register):
        return True, guard
    return True, Guard(held, guard.negated)


def _needed(steps: list[Instruction]) -> tuple[Instruction, ...]:
    """Steps but for those whose results no later one reads."""
    read: set[Register] = set()
    found: list[Instruction] = []
    for each in reversed(steps):
        is_wanted = each.is_traced or not each.writes or not all(map(is_temporary, each.writes))
        if is_wanted or not read.isdisjoint(each.writes):
            read.update(each.reads)
            found.append(each)
    return tuple(reversed(found))


def _result(
    each: Instruction, operands: tuple[Operand, ...], known: Mapping[int, int]
) -> Operand | None:
    """What a step gives, where that is known: a number, or another temporary."""
    sources = operands[1:]
    if each.space is Space.PARAM:
        (place,) = sources
        value = known.get(place.offset) if isinstance(place, Address) else None
        return None if value is None else Immediate(value)
    if each.op_class is OpClass.LOAD:
        return None
    if each.opcode == "mov":
        return _plain(sources[0])
    if each.opcode == "selp":
        return _plain(_chosen(*sources))
    if each.opcode in ("and", "or") and each.modifiers == ("pred",):
        return _plain(_both(each.opcode, *sources))
    numbers = [source.value for source in sources if isinstance(source, Immediate)]
    if len(numbers) == len(sources):
        return _computed(each, numbers)
    if each.opcode == "add" and each.modifiers[0][0] in "us" and sources[1] == Immediate(0):
        return _plain(sources[0])
    return None


def _plain(operand: Operand) -> Operand | None:
    """An operand that stays what it is to the end of the instruction."""
    is_kept = isinstance(operand, Register) and is_temporary(operand)
    return operand if is_kept or isinstance(operand, Immediate) else None


def _chosen(yes: Operand, no: Operand, condition: Operand) -> Operand:
    if isinstance(condition, Immediate):
        return yes if condition.value else no
    return yes if yes == no else None


def _both(opcode: str, a: Operand, b: Operand) -> Operand:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Immediate):
            decides = bool(one.value) == (opcode == "or")
            return Immediate(int(opcode == "or")) if decides else other
    return None


_COMPUTED: Mapping[str, Callable[..., int]] = {
    "setp.eq.u32": lambda a, b: a == b,
    "setp.ne.u32": lambda a, b: a != b,
    "setp.gt.u32": lambda a, b: a > b,
    "not.pred": lambda a: not a,
    "and.b32": lambda a, b: a & b,
    "shl.b32": lambda a, b: a << b,
    "shr.u32": lambda a, b: a >> b,
    "add.u32": lambda a, b: a + b,
    "sub.u32": lambda a, b: a - b,
    "sub.s32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "div.u32": lambda a, b: a // b,
    "min.u32": min,
    "max.u32": max,
    "cvt.u64.u32": lambda a: a,
}
"""Of numbers below 2^31, which all that descriptors say of kinds and levels are."""


def _computed(each: Instruction, numbers: list[int]) -> Immediate | None:
    compute = _COMPUTED.get(".".join((each.opcode, *each.modifiers)))
    return None if compute is None else Immediate(int(compute(*numbers)) & 0xFFFF_FFFF)
