"""Bulk copies, which one thread starts and a unit of its own carries out (PTX ISA 9.0, section
9.7.9.25): here done at once.

Their steps are no instructions of PTX. `bulk.read` finds what a copy reads, which is checked and
traced, and `bulk.write` what it writes, and copies it:

    bulk.read.linear.FROM.TO.b128   data, [to], [from], bytes
    bulk.write.linear.TO.FROM.b128  data, [to], [from], bytes
    bulk.read.tile.FROM.TO.b128     data, [map], [shared], coordinates of the first element
    bulk.write.tile.TO.FROM.b128    data, [map], [shared], coordinates of the first element

Both appear in the trace as accesses of whole warps, 16 bytes in every lane. `data` holds nothing;
it tells an analysis that what is written comes from what was read.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Address, Guard, Immediate, Operand, Register, Vector
from kernelcast.ir.tensor_map import BOX_BYTES_AT
from kernelcast.isas.ptx.clusters import at_rank, each_of
from kernelcast.isas.ptx.lift import PtxLift
from kernelcast.isas.ptx.mbarriers import bring
from kernelcast.isas.ptx.steps import Steps

UNIT_BYTES = 16
"""Bulk copies move multiples of it."""

_TO_SHARED = ("shared::cluster", "global")
_WITHIN_SHARED = ("shared::cluster", "shared::cta")
_TO_GLOBAL = ("global", "shared::cta")
_COMPLETION = "mbarrier::complete_tx::bytes"
_MULTICAST = "multicast::cluster"
_CACHE_HINT = "L2::cache_hint"
_RANKS = {f"{n}d": n for n in range(1, 6)}


def copy(
    x: Steps,
    spaces: tuple[str, str],
    to: Address,
    source: Address,
    size_bytes: Operand,
    guard: Guard | None,
) -> None:
    """Copy bytes between the state spaces `(to, from)`."""
    into, out_of = spaces
    data = _data(x)
    for name in (f"read.linear.{out_of}.{into}", f"write.linear.{into}.{out_of}"):
        x.do(f"bulk.{name}.b128", data, to, source, size_bytes, guard=guard)


def copy_tile(
    x: Steps,
    spaces: tuple[str, str],
    tensor: Address,
    shared: Address,
    coordinates: Sequence[Operand],
    guard: Guard | None,
) -> None:
    """Copy a box of the tensor that a tensor map describes, `(to, from)` shared memory."""
    into, out_of = spaces
    data = _data(x)
    for name in (f"read.tile.{out_of}.{into}", f"write.tile.{into}.{out_of}"):
        x.do(f"bulk.{name}.b128", data, tensor, shared, *coordinates, guard=guard)


def tile_bytes(x: Steps, tensor: Address, guard: Guard | None) -> Register:
    """How many bytes the box of a tensor map has; the map is a parameter."""
    assert isinstance(tensor.base, Register)
    size_bytes = x.temporary("b32")
    x.do("mov.b32", size_bytes, Immediate(0))
    place = Address(x.let("cvta.to.param.u64", tensor.base), tensor.offset + BOX_BYTES_AT)
    x.do("ld.param.u32", size_bytes, place, guard=guard)
    return size_bytes


def _data(x: Steps) -> Register:
    data = x.carried("b32")
    x.do("mov.b32", data, Immediate(0))
    return data


def copy_in_bulk(x: PtxLift) -> None:
    """`cp.async.bulk` in all its forms."""
    words = x.modifiers[2:]
    if words[0] in ("commit_group", "wait_group", "prefetch"):
        x.operands.clear()  # done already, and of no effect
    elif words[0] == "tensor":
        _tile(x, words[1:])
    else:
        _linear(x, words)


def _linear(x: PtxLift, words: tuple[str, ...]) -> None:
    """`cp.async.bulk.TO.FROM [to], [from], bytes`, and `[barrier]` for shared memory."""
    spaces = _spaces(x, words)
    to, source, size_bytes = x.take_address(), x.take_address(), x.take()
    if spaces == _TO_GLOBAL:
        _only(x, words[2:], "bulk_group", _CACHE_HINT)
    else:
        _only(x, words[2:], _COMPLETION, _MULTICAST, _CACHE_HINT)
    into, out_of = (space.partition("::")[0] for space in spaces)
    if spaces == _TO_GLOBAL:
        _take_hints(x, words)
        copy(x, (into, out_of), to, source, size_bytes, x.guard)
        return
    barrier = x.take_address()
    ranks = _take_hints(x, words)
    for rank, guard in each_of(x, x.cluster_blocks, ranks, x.guard):
        copy(x, (into, out_of), at_rank(x, to, rank), source, size_bytes, guard)
        bring(x, at_rank(x, barrier, rank), size_bytes, guard)


def _tile(x: PtxLift, words: tuple[str, ...]) -> None:
    """`cp.async.bulk.tensor.2d.TO.FROM [to], [map, {x, y}], [barrier]`, and
    `[map, {x, y}], [from]` for global memory."""
    if words[0] not in _RANKS:
        raise x.refuse()
    spaces = _spaces(x, words[1:])
    if spaces == _WITHIN_SHARED:
        raise x.refuse()
    if spaces == _TO_GLOBAL:
        _only(x, words[3:], "tile", "bulk_group", _CACHE_HINT)
        tensor, coordinates = _tensor(x, _RANKS[words[0]])
        shared = x.take_address()
        _take_hints(x, words)
        copy_tile(x, ("global", "shared"), tensor, shared, coordinates, x.guard)
        return
    _only(x, words[3:], "tile", _COMPLETION, _MULTICAST, _CACHE_HINT)
    shared = x.take_address()
    tensor, coordinates = _tensor(x, _RANKS[words[0]])
    barrier = x.take_address()
    ranks = _take_hints(x, words)
    for rank, guard in each_of(x, x.cluster_blocks, ranks, x.guard):
        there = at_rank(x, shared, rank)
        copy_tile(x, ("shared", "global"), tensor, there, coordinates, guard)
        bring(x, at_rank(x, barrier, rank), tile_bytes(x, tensor, guard), guard)


def _spaces(x: PtxLift, words: tuple[str, ...]) -> tuple[str, str]:
    """Where a copy goes and where it comes from."""
    spaces = (words[0].replace("shared::cta", "shared::cluster"), words[1])
    if spaces not in (_TO_SHARED, _WITHIN_SHARED, _TO_GLOBAL):
        raise x.refuse()
    return spaces


def _tensor(x: PtxLift, rank: int) -> tuple[Address, tuple[Operand, ...]]:
    """A tensor map, at a generic address, and the coordinates behind it."""
    tensor, first = x.take_address(), x.take()
    coordinates = first.elements if isinstance(first, Vector) else (first,)
    if not isinstance(tensor.base, Register) or len(coordinates) != rank:
        raise x.refuse()
    return tensor, coordinates


def _only(x: PtxLift, words: tuple[str, ...], *known: str) -> None:
    if not set(words) <= set(known):
        raise x.refuse()


def _take_hints(x: PtxLift, words: tuple[str, ...]) -> Operand | None:
    """The blocks that a multicast goes to, as bits; the cache policy is dropped."""
    ranks = None
    if _MULTICAST in words:
        mask = x.take()
        ranks = x.let("cvt.u32.u16", mask) if isinstance(mask, Register) else mask
    if _CACHE_HINT in words:
        x.take()
    return ranks
