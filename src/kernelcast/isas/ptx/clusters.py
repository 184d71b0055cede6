"""Clusters of blocks (PTX ISA 9.0, section 2.2.1): every block is a cluster of its own.

An address of shared memory has the rank of its block in bits 24-31, so that one of another block
lies outside all memory.
"""

from __future__ import annotations

from kernelcast.ir import Immediate
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning

_RANK_BIT = 24
_RANK_BITS = 0xFF
_BLOCK_BARRIER = Immediate(0)
"""The barrier that compilers take for that of a cluster where the launch has none."""


def _barrier(x: PtxLift) -> None:
    """`barrier.cluster.wait` for the own block; the arrival before it says nothing more."""
    if x.modifiers[:2] == ("cluster", "wait"):
        x.do("bar.sync", _BLOCK_BARRIER, guard=x.guard)
    elif x.modifiers[:2] != ("cluster", "arrive"):
        raise x.refuse()


def _map_address(x: PtxLift) -> None:
    """`mapa d, a, rank`: the same place in the shared memory of another block."""
    target, address, rank = x.take(), x.take(), x.take()
    bits = x.modifiers[-1][1:]
    wide = x.let(f"cvt.u{bits}.u32", rank)
    high = x.let(f"shl.b{bits}", wide, Immediate(_RANK_BIT))
    kept = ~(_RANK_BITS << _RANK_BIT) & (1 << int(bits)) - 1
    place = x.let(f"add.u{bits}", address, Immediate(0))  # of a variable, too
    low = x.let(f"and.b{bits}", place, Immediate(kept))
    x.do(f"or.b{bits}", target, low, high, guard=x.guard)


def _rank_of(x: PtxLift) -> None:
    """`getctarank d, a`: the block that an address belongs to."""
    target, address = x.take(), x.take()
    bits = x.modifiers[-1][1:]
    rank = x.let(f"shr.u{bits}", address, Immediate(_RANK_BIT))
    low = x.let(f"cvt.u32.u{bits}", rank)
    x.do("and.b32", target, low, Immediate(_RANK_BITS), guard=x.guard)


MEANINGS: dict[str, PtxMeaning] = {
    "barrier": _barrier,
    "mapa": _map_address,
    "getctarank": _rank_of,
}
