"""Clusters of blocks (PTX ISA 9.0, section 2.2.1).

An address of shared memory has the rank of its block in bits 24-31.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelcast.ir import Address, Guard, Immediate, Operand, Register, Vector
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning
from kernelcast.isas.ptx.mbarriers import bring
from kernelcast.isas.ptx.opcodes import TYPE_BYTES
from kernelcast.isas.ptx.steps import Steps

_RANK_BIT = 24
_RANK_BITS = 0xFF


def each_of(
    x: Steps, cluster_blocks: int, ranks: Operand | None, guard: Guard | None
) -> Iterator[tuple[int | None, Guard | None]]:
    """The blocks that a multicast goes to, which are bits of `ranks`: each with its guard.

    Without such bits, or without clusters, it is the block that an address names.
    """
    if ranks is None or cluster_blocks == 1:
        yield None, guard
        return
    for rank in range(cluster_blocks):
        bit = x.let("and.b32", ranks, Immediate(1 << rank))
        chosen = x.carried("pred")
        x.do("mov.pred", chosen, x.both(guard, x.let("setp.ne.u32", bit, Immediate(0))).register)
        yield rank, Guard(chosen)


def at_rank(x: Steps, place: Address, rank: int | None) -> Address:
    """The same place in the shared memory of the block of a rank."""
    if rank is None:
        return place
    base = Immediate(0) if place.base is None else place.base
    is_wide = isinstance(base, Register) and base.type == "b64"
    start = x.let("cvt.u32.u64", base) if is_wide else x.let("mov.u32", base)
    start = x.let("add.u32", start, Immediate(place.offset))
    low = x.let("and.b32", start, Immediate((1 << _RANK_BIT) - 1))
    there = x.carried("b32")
    x.do("or.b32", there, low, Immediate(rank << _RANK_BIT))
    return Address(there)


def _store(x: PtxLift) -> None:
    """`st.async.shared::cluster.mbarrier::complete_tx::bytes.type [a], b, [barrier]`."""
    count = 1
    for word in x.modifiers:
        count = int(word[1:]) if word in ("v2", "v4") else count
    kind = x.modifiers[-1]
    if not any(m.startswith("mbarrier::") for m in x.modifiers) or kind not in TYPE_BYTES:
        raise x.refuse()
    place, value, barrier = x.take_address(), x.take(), x.take_address()
    vector = f".v{count}" if isinstance(value, Vector) else ""
    x.do(f"st.shared{vector}.b{8 * TYPE_BYTES[kind]}", place, value, guard=x.guard)
    bring(x, barrier, Immediate(count * TYPE_BYTES[kind]), x.guard)


def _reduce(x: PtxLift) -> None:
    """`red.async...shared::cluster.mbarrier::complete_tx::bytes.op.type [a], b, [barrier]`."""
    *words, operation, kind = x.modifiers
    if not any(m.startswith("mbarrier::") for m in words) or kind not in TYPE_BYTES:
        raise x.refuse()
    place, value, barrier = x.take_address(), x.take(), x.take_address()
    x.do(f"red.shared.{operation}.{kind}", place, value, guard=x.guard)
    bring(x, barrier, Immediate(TYPE_BYTES[kind]), x.guard)


def _barrier(x: PtxLift) -> None:
    """`barrier.cluster.arrive` and `.wait`, in whatever order they make memory visible."""
    if x.modifiers[:2] not in (("cluster", "wait"), ("cluster", "arrive")):
        raise x.refuse()
    x.do(f"barrier.cluster.{x.modifiers[1]}", guard=x.guard)


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
    "barrier.cluster": _barrier,
    "st.async": _store,
    "red.async": _reduce,
    "mapa": _map_address,
    "getctarank": _rank_of,
}
