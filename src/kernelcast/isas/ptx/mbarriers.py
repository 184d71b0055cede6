"""Barriers in shared memory, which PTX calls mbarriers (PTX ISA 9.0, section 9.7.13.15).

A barrier is a word of 64 bits. Its layout is that of the machine code of compute capability 9.0 and
later, which writes the first word itself:

    bits 1-20    2^20 less the arrivals of a phase
    bits 21-42   bytes that copies still have to bring
    bits 43-62   2^20 less the arrivals that are still to come
    bit 63       the parity of the phase

The last arrival carries into bit 63. The phase is over when no bytes are missing either; then the
arrivals to come are set anew. Until then bits 43-62 are zero, and bit 63 is ahead of the phase.

Every access to a barrier is marked `.mbarrier`: nothing else may read or write its word.
"""

from __future__ import annotations

from kernelcast.ir import Address, Guard, Immediate, Operand, Register
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning
from kernelcast.isas.ptx.steps import Steps

LATER_ARRIVAL_BIT = 1
ARRIVAL_BIT = 43
BYTES_BIT = 21
ARRIVALS_OF_PHASE = 0x1F_FFFE
"""Bits 1-20, which come to lie on bits 43-62 where they are shifted by `ARRIVAL_BIT` - 1."""
MISSING = 0x7FFF_FFFF_FFE0_0000
"""The bits that are zero when a phase is over."""

MARK = "mbarrier"
"""The modifier of all steps that access a barrier."""

_MOST_ARRIVALS = 1 << 20
_ARRIVALS_OF_HIGH_WORD = 0x7FFF_F800
_SIGN = 0x8000_0000


def add(x: Steps, place: Address, amount: Operand, old: Register | None = None) -> None:
    """Add to the word; if the phase is over then, the next one begins. `old` is the word before."""
    x.do(f"atom.shared.{MARK}.u64", old, place, amount, guard=x.guard)


def bring(x: Steps, place: Address, size_bytes: Operand, guard: Guard | None) -> None:
    """Note that bytes have come."""
    wide = x.let("cvt.u64.u32", size_bytes)
    missing = x.let("neg.s64", x.let("shl.b64", wide, Immediate(BYTES_BIT)))
    x.do(f"atom.shared.{MARK}.u64", None, place, missing, guard=guard)


def is_over(x: Steps, place: Address, parity: Operand) -> Register:
    """Whether the phase of the parity in bit 31 of `parity` is over."""
    now = x.temporary("b64")
    x.do(f"ld.shared.{MARK}.b64", now, place, guard=x.guard)
    _, high = x.halves(now)
    to_come = x.let("and.b32", high, Immediate(_ARRIVALS_OF_HIGH_WORD))
    is_ahead = x.let("setp.eq.u32", to_come, Immediate(0))
    ahead = x.let("selp.b32", Immediate(_SIGN), Immediate(0), is_ahead)
    differs = x.let("xor.b32", x.let("xor.b32", high, ahead), parity)
    return x.let("setp.lt.s32", differs, Immediate(0))


def pause_unless(x: Steps, is_over: Register) -> None:
    """Where a phase is not over, other warps run first."""
    x.do("pause", guard=x.both(x.guard, x.let("not.pred", is_over)))


def _place(x: PtxLift) -> Address:
    """Where the barrier lies in shared memory; its address is generic where nothing is said."""
    is_shared = any(m.startswith("shared") for m in x.modifiers)
    return x.shared_address(x.take_address(), is_shared=is_shared)


def _begin(x: PtxLift) -> None:
    """`mbarrier.init [a], count`."""
    place, count = _place(x), x.take()
    left = x.let("cvt.u64.u32", x.let("sub.u32", Immediate(_MOST_ARRIVALS), count))
    word = x.let("shl.b64", left, Immediate(1))
    word = x.let("or.b64", word, x.let("shl.b64", left, Immediate(ARRIVAL_BIT)))
    x.do(f"st.shared.{MARK}.b64", place, word, guard=x.guard)


def _end(x: PtxLift) -> None:
    """`mbarrier.inval [a]`."""
    x.take_address()


def _arrive(x: PtxLift) -> None:
    """`mbarrier.arrive state, [a], count`, one by default; `.expect_tx` has bytes in its place.

    `arrive_drop` takes itself off the arrivals of later phases as well.
    """
    state = x.take()
    place = _place(x)
    operand: Operand = x.take() if x.operands else Immediate(1)
    drops = x.modifiers[0] == "arrive_drop"
    if "expect_tx" in x.modifiers:
        amount = _shifted(x, operand, BYTES_BIT)
        operand = Immediate(1)
        amount = x.let("add.u64", amount, _shifted(x, operand, ARRIVAL_BIT))
    else:
        amount = _shifted(x, operand, ARRIVAL_BIT)
    if drops:
        amount = x.let("add.u64", amount, _shifted(x, operand, LATER_ARRIVAL_BIT))
    if state is not None and not isinstance(state, Register):
        raise x.refuse()
    add(x, place, amount, state)


def _shifted(x: PtxLift, operand: Operand, bit: int) -> Operand:
    if isinstance(operand, Immediate):
        return Immediate(operand.value << bit)
    return x.let("shl.b64", x.let("cvt.u64.u32", operand), Immediate(bit))


def _expect(x: PtxLift) -> None:
    """`mbarrier.expect_tx [a], bytes`."""
    place = _place(x)
    add(x, place, _shifted(x, x.take(), BYTES_BIT))


def _complete(x: PtxLift) -> None:
    """`mbarrier.complete_tx [a], bytes`."""
    place = _place(x)
    bring(x, place, x.take(), x.guard)


def _wait(x: PtxLift) -> None:
    """`mbarrier.try_wait p, [a], state`, and with `.parity` that of the phase."""
    target = x.take()
    place = _place(x)
    phase = x.take()
    if "parity" in x.modifiers:
        parity = x.let("shl.b32", phase, Immediate(31))
    else:
        _, parity = x.halves(phase)
    if not isinstance(target, Register):
        raise x.refuse()
    over = is_over(x, place, parity)
    x.do("mov.pred", target, over, guard=x.guard)
    x.operands.clear()  # a hint how long to wait
    pause_unless(x, over)


def _count(x: PtxLift) -> None:
    """`mbarrier.pending_count d, state`."""
    target, state = x.take(), x.take()
    _, high = x.halves(state)
    done = x.let("shr.u32", high, Immediate(ARRIVAL_BIT - 32))
    left = x.let("sub.u32", Immediate(_MOST_ARRIVALS), done)
    x.do("and.b32", target, left, Immediate(_MOST_ARRIVALS - 1), guard=x.guard)


_KINDS: dict[str, PtxMeaning] = {
    "init": _begin,
    "inval": _end,
    "arrive": _arrive,
    "arrive_drop": _arrive,
    "expect_tx": _expect,
    "complete_tx": _complete,
    "test_wait": _wait,
    "try_wait": _wait,
    "pending_count": _count,
}


def _mbarrier(x: PtxLift) -> None:
    """All forms of `mbarrier`."""
    kind = _KINDS.get(x.modifiers[0])
    if kind is None:
        raise x.refuse()
    kind(x)


MEANINGS: dict[str, PtxMeaning] = {"mbarrier": _mbarrier}
