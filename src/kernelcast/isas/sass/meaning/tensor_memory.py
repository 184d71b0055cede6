"""Tensor memory of compute capability 10.0 (`tcgen05` of PTX): who gets columns of it, and when
products in it are done. What it holds is not known: products and loads of it have no meaning here.
"""

from __future__ import annotations

from kernelcast.ir import Immediate, SpecialRegister
from kernelcast.isas.ptx.mbarriers import ARRIVAL_BIT, add
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.memory import address


def _allocate(x: SassLift) -> None:
    """`UTCATOMSWS.FIND_AND_SET.ALIGN P, d, a`: columns from d on are the block's, P says whether it
    got them. It always does, from the first one on: nobody reads there what another has written.
    `UTCATOMSWS.AND` gives them back."""
    if x.native.modifiers == ("AND",):
        return
    x.only("FIND_AND_SET", "ALIGN")
    verdict, target = x.take(), x.take()
    x.take()
    x.done()
    x.write(target, Immediate(0))
    x.write(verdict, Immediate(1))


def _arrive_after_products(x: SassLift) -> None:
    """`UTCBAR [a], URZ`: one arrival at a barrier, however many lanes take part, when the products
    of the warp are done, which they are."""
    x.only()
    place = address(x, x.take())
    if x.destination(x.take()) is not None:
        raise x.refuse("a multicast")
    x.done()
    active = x.let("activemask.b32")
    lower = x.let("and.b32", active, x.let("mov.b32", SpecialRegister("lanemask_lt")))
    x.guard = x.both(x.guard, x.let("setp.eq.u32", lower, Immediate(0)))
    add(x, place, Immediate(1 << ARRIVAL_BIT))


MEANINGS = {"UTCATOMSWS": _allocate, "UTCBAR": _arrive_after_products}
