"""Copies from global to shared memory that a warp starts and waits for later (`cp.async`, PTX ISA
9.0, section 9.7.9.25.3): here done at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelcast.ir import Address, Guard, Immediate, Negated, Operand, Register, Vector
from kernelcast.isas.ptx.bulk import copy_in_bulk
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning
from kernelcast.isas.ptx.mbarriers import ARRIVAL_BIT, add
from kernelcast.isas.ptx.opcodes import TYPE_BYTES
from kernelcast.isas.ptx.steps import Steps

_SIZES_BYTES = (4, 8, 16)
_DONE = ("commit_group", "wait_group", "wait_all")
_CACHE_HINT = "L2::cache_hint"
_WORDS = ("async", "ca", "cg", "shared", "shared::cta", "global", _CACHE_HINT)
_PREFETCHES = ("L2::64B", "L2::128B", "L2::256B")


def copy(
    x: Steps,
    size_bytes: int,
    source: Address,
    to: Callable[[], Address],
    guard: Guard | None,
    beginning: tuple[Register, Register] | None = None,
) -> None:
    """Copy 4, 8 or 16 bytes in the lanes of `guard`; in others of the instruction write zeros.

    Of some lanes only the beginning is copied, the rest being zeros: `beginning` is then where it
    starts and how many bytes it has. `to` gives the target, in steps that come after the load.
    """
    values = tuple(
        x.carried("b32" if size_bytes == 4 else "b64") for _ in range(max(size_bytes // 8, 1))
    )
    form = f"{'.v2' if len(values) == 2 else ''}.{values[0].type}"
    into: Operand = values[0] if len(values) == 1 else Vector(values)
    for value in values:
        x.do(f"mov.{value.type}", value, Immediate(0))
    if beginning is not None:
        source, guard = _load_beginning(x, values, *beginning, guard)
    x.do(f"ld.global{form}", into, source, guard=guard)
    x.do(f"st.shared{form}", to(), into, guard=x.guard)


def _load_beginning(
    x: Steps, values: Sequence[Register], place: Register, copied: Register, guard: Guard | None
) -> tuple[Address, Guard]:
    """Load what lanes copy that do not copy all, byte by byte: the rest may lie outside an array.

    Returns where the others load everything, and which lanes they are.
    """
    value_bytes = TYPE_BYTES[values[0].type]
    size_bytes = value_bytes * len(values)
    start, is_whole, byte = x.carried("b64"), x.carried("pred"), x.carried(values[0].type)
    x.do("mov.b64", start, place)
    active = x.both(guard, Immediate(1)).register
    x.do("setp.eq.and.u32", is_whole, copied, Immediate(size_bytes), active)
    partial = x.let("and.pred", active, x.let("not.pred", is_whole))
    for at in range(size_bytes - 1):
        inside = x.let("setp.gt.and.u32", copied, Immediate(at), partial)
        value = values[at // value_bytes]
        x.do(f"mov.{byte.type}", byte, Immediate(0))
        x.do("ld.global.u8", byte, Address(start, at), guard=Guard(inside))
        x.do(f"shl.{byte.type}", byte, byte, Immediate(8 * (at % value_bytes)))
        x.do(f"or.{byte.type}", value, value, byte)
    return Address(start), Guard(is_whole)


def _copy_asynchronously(x: PtxLift) -> None:
    """`cp.async.ca.shared.global [to], [from], bytes`, and behind it how many bytes are copied, or
    where none are; the others are zero. Groups of copies are done when they are made."""
    if x.modifiers[:1] != ("async",):
        raise x.refuse()
    if x.modifiers[1:2] == ("bulk",):
        copy_in_bulk(x)
    elif any(word in x.modifiers for word in _DONE):
        x.operands.clear()
    elif x.modifiers[:3] == ("async", "mbarrier", "arrive"):
        _arrive(x)
    else:
        _copy(x)


def _arrive(x: PtxLift) -> None:
    """`cp.async.mbarrier.arrive [a]`, which first expects its own arrival but for `.noinc`."""
    is_shared = any(word.startswith("shared") for word in x.modifiers)
    place = x.shared_address(x.take_address(), is_shared=is_shared)
    if "noinc" in x.modifiers:
        add(x, place, Immediate(1 << ARRIVAL_BIT))


def _copy(x: PtxLift) -> None:
    x.only(*_WORDS, *_PREFETCHES)
    to, source, size = x.take_address(), x.take_address(), x.take()
    if not isinstance(size, Immediate) or size.value not in _SIZES_BYTES:
        raise x.refuse()
    if _CACHE_HINT in x.modifiers:
        x.operands.pop()
    part = x.take() if x.operands else None
    guard, beginning = x.guard, None
    if isinstance(part, Negated):
        guard = x.both(guard, part.register)
    elif isinstance(part, Register) and part.type == "pred":
        guard = x.both(guard, x.let("not.pred", part))
    elif part is not None:
        if not isinstance(source.base, Register):
            raise x.refuse()
        place = x.let("add.u64", source.base, Immediate(source.offset))
        beginning = (place, x.let("mov.b32", part))
    copy(x, size.value, source, lambda: to, guard, beginning)


MEANINGS: dict[str, PtxMeaning] = {"cp": _copy_asynchronously}
