"""Barriers in shared memory, which PTX calls mbarriers: `SYNCS` and `ARRIVES`.

A barrier is a word of 64 bits, as the code itself writes it to begin with:

    bits 1-20    2^20 less the arrivals of a phase
    bits 21-42   bytes that copies still have to bring
    bits 43-62   2^20 less the arrivals that are still to come
    bit 63       the parity of the phase

The last arrival carries into bit 63. The phase is over when no bytes are missing either; then the
arrivals to come are set anew. Until then bits 43-62 are zero, and bit 63 is ahead of the phase.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.ir import Address, Immediate, Operand, Register
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import Lift

_ARRIVAL_BIT = 43
_BYTES_BIT = 21
_MISSING = 0x7FFF_FFFF_FFE0_0000
_ARRIVALS_OF_PHASE = 0x1F_FFFE
_ARRIVALS_OF_HIGH_WORD = 0x7FFF_F800
_SIGN = 0x8000_0000

_EVENTS: Mapping[str, tuple[int | str, int | str]] = {
    "A1T0": (1, 0),
    "ART0": ("R", 0),
    "A0TR": (0, "R"),
    "A0TX": (0, "-R"),
    "A0T1": (0, 1),
}
"""Arrivals and bytes that an arrival adds, `R` standing for its operand; without such a modifier
it is one arrival and the operand's bytes."""


def synchronise(x: Lift) -> None:
    """`SYNCS.EXCH.64`, `SYNCS.ARRIVE.TRANS64` and `SYNCS.PHASECHK.TRANS64`."""
    kind = x.native.modifiers[:1]
    if kind == ("EXCH",):
        _begin(x)
    elif kind == ("ARRIVE",):
        _arrive(x)
    elif kind == ("PHASECHK",):
        _check(x)
    elif x.native.modifiers != ("CCTL", "IV"):
        raise x.refuse()


def arrive_after_copies(x: Lift) -> None:
    """`ARRIVES.LDGSTSBAR.64.ARVCNT [a]`: an arrival when the copies of the lane are done, which
    they are; `.TRANSCNT` takes back what one in flight counts."""
    x.only("LDGSTSBAR", "64", "ARVCNT", "TRANSCNT")
    place = _place(x, x.take())
    x.done()
    if x.has("ARVCNT"):
        _add(x, place, Immediate(1 << _ARRIVAL_BIT))
    else:
        _add(x, place, Immediate(-(1 << _BYTES_BIT) & (1 << 64) - 1))


def _begin(x: Lift) -> None:
    """`SYNCS.EXCH.64 URZ, [a], b`: the barrier starts as the word b."""
    x.only("EXCH", "64")
    if x.destination(x.take()) is not None:
        raise x.refuse("a result")
    place = _place(x, x.take())
    x.do("st.shared.b64", place, x.u64(x.take()), guard=x.guard)
    x.done()


def _arrive(x: Lift) -> None:
    """`SYNCS.ARRIVE.TRANS64.A1T0 d, [a], b`: d is the word before it."""
    x.only("ARRIVE", "TRANS64", "RED", *_EVENTS)
    target, place, operand = x.take(), _place(x, x.take()), x.b32(x.take())
    x.done()
    kinds = [_EVENTS[m] for m in x.native.modifiers if m in _EVENTS]
    arrivals, missing = kinds[0] if kinds else (1, "R")
    parts = [
        _amount(x, arrivals, operand, _ARRIVAL_BIT),
        _amount(x, missing, operand, _BYTES_BIT),
    ]
    old = _add(x, place, x.let("add.u64", *parts))
    x.write64(target, old)


def _amount(x: Lift, what: int | str, operand: Operand, bit: int) -> Operand:
    if isinstance(what, int):
        return Immediate(what << bit)
    amount = x.let("shl.b64", x.let("cvt.u64.u32", operand), Immediate(bit))
    return x.let("neg.s64", amount) if what.startswith("-") else amount


def _add(x: Lift, place: Address, amount: Operand) -> Register:
    """Add to the word, and begin the next phase if this one is over; return the word before."""
    old, now = x.temporary("b64"), x.temporary("b64")
    x.do("atom.shared.add.u64", old, place, amount, guard=x.guard)
    x.do("ld.shared.b64", now, place, guard=x.guard)
    missing = x.let("and.b64", now, Immediate(_MISSING))
    is_over = x.let("setp.eq.u64", missing, Immediate(0))
    again = x.let("and.b64", now, Immediate(_ARRIVALS_OF_PHASE))
    again = x.let("shl.b64", again, Immediate(_ARRIVAL_BIT - 1))
    # Of several lanes that see the end of the phase, the first one begins the next.
    new = x.let("add.u64", now, again)
    seen = x.temporary("b64")
    x.do("atom.shared.cas.b64", seen, place, now, new, guard=x.both(x.guard, is_over))
    return old


def _check(x: Lift) -> None:
    """`SYNCS.PHASECHK.TRANS64 P, [a], b`: whether the phase of the parity in bit 31 of b is over.

    Where it is not, other warps run first.
    """
    x.only("PHASECHK", "TRANS64", "TRYWAIT")
    (target,) = x.take_predicates()
    place, parity = _place(x, x.take()), x.b32(x.take())
    x.done()
    now = x.temporary("b64")
    x.do("ld.shared.b64", now, place, guard=x.guard)
    _, high = x.halves(now)
    to_come = x.let("and.b32", high, Immediate(_ARRIVALS_OF_HIGH_WORD))
    is_ahead = x.let("setp.eq.u32", to_come, Immediate(0))
    ahead = x.let("selp.b32", Immediate(_SIGN), Immediate(0), is_ahead)
    differs = x.let("xor.b32", x.let("xor.b32", high, ahead), parity)
    is_over = x.let("setp.lt.s32", differs, Immediate(0))
    waits = x.both(x.guard, x.let("not.pred", is_over))
    x.write(target, is_over)
    x.do("pause", guard=waits)


def _place(x: Lift, operand: sass.Operand) -> Address:
    """An address in the shared memory of the block."""
    if not isinstance(operand, sass.AddressOperand) or operand.space:
        raise x.refuse(f"operand {operand}")
    base: Operand = Immediate(0)
    for part in operand.registers:
        if part.decoration.suffixes and set(part.decoration.suffixes) != {"reuse"}:
            raise x.refuse(f"operand {operand}")
        base = x.let("add.u32", base, x.b32(part))
    return Address(base if isinstance(base, Register) else None, operand.offset or 0)


MEANINGS = {"SYNCS": synchronise, "ARRIVES": arrive_after_copies}
