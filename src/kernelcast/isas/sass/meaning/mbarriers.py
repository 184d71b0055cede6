"""Barriers in shared memory, which PTX calls mbarriers: `SYNCS` and `ARRIVES`.

Their words are laid out as `isas/ptx/mbarriers.py` says.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.ir import Address, Immediate, Operand, Register
from kernelcast.isas.ptx.mbarriers import (
    ARRIVAL_BIT,
    BYTES_BIT,
    LATER_ARRIVAL_BIT,
    MARK,
    add,
    is_over,
    pause_unless,
)
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift

_UNIFORM = sass.RegisterFile.UNIFORM

_EVENTS: Mapping[str, tuple[int | str, int | str]] = {
    "A1T0": (1, 0),
    "ART0": ("R", 0),
    "A0TR": (0, "R"),
    "A0TX": (0, "-R"),
    "A0T1": (0, 1),
}
"""Arrivals and bytes that an arrival adds, `R` standing for its operand; without such a modifier
it is one arrival and the operand's bytes."""


def _synchronise(x: SassLift) -> None:
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


def _arrive_after_copies(x: SassLift) -> None:
    """`ARRIVES.LDGSTSBAR.64.ARVCNT [a]`: an arrival when the copies of the lane are done, which
    they are; `.TRANSCNT` takes back what one in flight counts."""
    x.only("LDGSTSBAR", "64", "ARVCNT", "TRANSCNT")
    place = _place(x, x.take())
    x.done()
    if x.has("ARVCNT"):
        add(x, place, Immediate(1 << ARRIVAL_BIT))
    else:
        add(x, place, Immediate(-(1 << BYTES_BIT) & (1 << 64) - 1))


def _begin(x: SassLift) -> None:
    """`SYNCS.EXCH.64 URZ, [a], b`: the barrier starts as the word b."""
    x.only("EXCH", "64")
    if x.destination(x.take()) is not None:
        raise x.refuse("a result")
    place = _place(x, x.take())
    x.do(f"st.shared.{MARK}.b64", place, x.u64(x.take()), guard=x.guard)
    x.done()


def _arrive(x: SassLift) -> None:
    """`SYNCS.ARRIVE.TRANS64.A1T0 d, [a], b`: d is the word before it.

    `.OPTOUT` takes the arrivals off those of later phases as well.
    """
    x.only("ARRIVE", "TRANS64", "RED", "OPTOUT", *_EVENTS)
    target, place, operand = x.take(), _place(x, x.take()), x.b32(x.take())
    x.done()
    if isinstance(target, sass.RegisterOperand) and target.register.file is _UNIFORM:
        raise x.refuse("an arrival of the warp")
    kinds = [_EVENTS[m] for m in x.native.modifiers if m in _EVENTS]
    arrivals, missing = kinds[0] if kinds else (1, "R")
    parts = [
        _amount(x, arrivals, operand, ARRIVAL_BIT),
        _amount(x, missing, operand, BYTES_BIT),
    ]
    amount = x.let("add.u64", *parts)
    if x.has("OPTOUT"):
        amount = x.let("add.u64", amount, _amount(x, arrivals, operand, LATER_ARRIVAL_BIT))
    old = x.temporary("b64")
    add(x, place, amount, old)
    x.write64(target, old)


def _amount(x: SassLift, what: int | str, operand: Operand, bit: int) -> Operand:
    if isinstance(what, int):
        return Immediate(what << bit)
    amount = x.let("shl.b64", x.let("cvt.u64.u32", operand), Immediate(bit))
    return x.let("neg.s64", amount) if what.startswith("-") else amount


def _check(x: SassLift) -> None:
    """`SYNCS.PHASECHK.TRANS64 P, [a], b`: whether the phase of the parity in bit 31 of b is over.

    Where it is not, other warps run first.
    """
    x.only("PHASECHK", "TRANS64", "TRYWAIT")
    (target,) = x.take_predicates()
    place, parity = _place(x, x.take()), x.b32(x.take())
    x.done()
    over = is_over(x, place, parity)
    x.write(target, over)
    pause_unless(x, over)


def _place(x: SassLift, operand: sass.SassOperand) -> Address:
    """An address in the shared memory of the block."""
    if not isinstance(operand, sass.AddressOperand) or operand.space:
        raise x.refuse(f"operand {operand}")
    base: Operand = Immediate(0)
    for part in operand.registers:
        if part.decoration.suffixes and set(part.decoration.suffixes) != {"reuse"}:
            raise x.refuse(f"operand {operand}")
        base = x.let("add.u32", base, x.b32(part))
    return Address(base if isinstance(base, Register) else None, operand.offset or 0)


MEANINGS = {"SYNCS": _synchronise, "ARRIVES": _arrive_after_copies}
