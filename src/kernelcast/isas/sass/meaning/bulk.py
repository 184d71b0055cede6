"""Bulk copies, which a unit of its own carries out: `UBLKCP`, `UTMALDG`, `UTMASTG`.

They are executed once for a warp, whichever of its lanes are active: the first one stands for all.
Prefetches and the waits for copies are of no effect, since copies are done at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Address, Guard, Immediate, Operand, Register, Vector
from kernelcast.isas.masks import ALL_LANES
from kernelcast.isas.ptx.bulk import UNIT_BYTES, copy, copy_tile, tile_bytes
from kernelcast.isas.ptx.clusters import at_rank, each_of
from kernelcast.isas.ptx.mbarriers import bring
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift

_UNITS = Immediate(0xFFFF)
"""The bits of a size that count units of 16 bytes; those above are the blocks of a multicast."""

_RANKS = {f"{n}D": n for n in range(1, 6)}
_SPACES = {"S": "shared", "G": "global"}


def _copy_bytes(x: SassLift) -> None:
    """`UBLKCP.S.G [to, barrier], [from], size` and `.G.S [to], [from], size`, in units of 16 bytes;
    an address in global memory is a pair of registers."""
    x.only("S", "G", "MULTICAST")
    ends = [m for m in x.native.modifiers if m in _SPACES]
    if ends not in (["S", "G"], ["S", "S"], ["G", "S"]):
        raise x.refuse()
    brings = ends[0] == "S"
    to, source, size = _address(x), _address(x), x.take()
    _policy(x)
    lane = _first_lane(x)
    units = x.let("and.b32", x.b32(size), _UNITS)
    size_bytes = x.let("mul.lo.u32", units, Immediate(UNIT_BYTES))
    into, out_of = (_SPACES[end] for end in ends)
    ranks = None
    if x.has("MULTICAST"):
        ranks = _multicast(x, x.b32(size))
    for rank, guard in each_of(x, x.code.cluster_blocks, ranks, lane):
        there = at_rank(x, _place(x, to, into), rank)
        copy(x, (into, out_of), there, _place(x, source, out_of), size_bytes, guard)
        if brings:
            bring(x, at_rank(x, Address(_words(x, to, 2)[1]), rank), size_bytes, guard)


def _load_tile(x: SassLift) -> None:
    """`UTMALDG.2D [to, barrier, x, y], [map]`; of a multicast the blocks it goes to follow."""
    x.only("MULTICAST", *_RANKS)
    rank = _rank(x)
    block, tensor = _address(x), _address(x)
    ranks = _multicast(x, x.b32(x.take())) if x.has("MULTICAST") else None
    _policy(x)
    lane = _first_lane(x)
    to, barrier, *coordinates = _words(x, block, 2 + rank)
    for block_rank, guard in each_of(x, x.code.cluster_blocks, ranks, lane):
        place = Address(x.pack(_words(x, tensor, 2)))
        there = at_rank(x, Address(to), block_rank)
        copy_tile(x, ("shared", "global"), place, there, coordinates, guard)
        # The place of the map once more, for a part of its own.
        place = Address(x.pack(_words(x, tensor, 2)))
        arrives_at = at_rank(x, Address(barrier), block_rank)
        bring(x, arrives_at, tile_bytes(x, place, guard), guard)


def _store_tile(x: SassLift) -> None:
    """`UTMASTG.2D [from, x, y], [map]`."""
    x.only(*_RANKS)
    rank = _rank(x)
    block, tensor = _address(x), _address(x)
    _policy(x)
    guard = _first_lane(x)
    source, *coordinates = _words(x, block, 1 + rank)
    place = Address(x.pack(_words(x, tensor, 2)))
    copy_tile(x, ("global", "shared"), place, Address(source), coordinates, guard)


def _nothing(x: SassLift) -> None:
    """Prefetches of memory and of tensor maps; the end of a group of copies."""


def _multicast(x: SassLift, word: Operand) -> Register:
    """The blocks of the cluster that a copy goes to, as bits."""
    return x.let("shr.u32", word, Immediate(_UNITS.value.bit_length()))


def _first_lane(x: SassLift) -> Guard:
    lane, chosen = x.temporary("b32"), x.temporary("pred")
    x.do("mov.pred", chosen, Immediate(0))
    x.do("elect.sync", Vector((lane, chosen)), ALL_LANES, guard=x.guard)
    return Guard(chosen)


def _rank(x: SassLift) -> int:
    (rank,) = (n for m, n in _RANKS.items() if x.has(m))
    return rank


def _address(x: SassLift) -> sass.RegisterOperand:
    """The first of the registers that an operand in brackets stands for."""
    operand = x.take()
    if (
        not isinstance(operand, sass.AddressOperand)
        or operand.space
        or operand.descriptor
        or operand.offset
        or len(operand.registers) != 1
    ):
        raise x.refuse(f"operand {operand}")
    return operand.registers[0]


def _policy(x: SassLift) -> None:
    """`desc[UR4]` at the end says how the caches should treat the bytes."""
    if x.operands and str(x.operands[0]).startswith("desc["):
        x.take()
    x.done()


def _words(x: SassLift, operand: sass.RegisterOperand, count: int) -> Sequence[Register]:
    words = x.words(operand, count)
    if words is None:
        raise x.refuse(f"operand {operand}")
    return words


def _place(x: SassLift, operand: sass.RegisterOperand, space: str) -> Address:
    if space == "shared":
        return Address(_words(x, operand, 1)[0])
    return Address(x.pack(_words(x, operand, 2)))


MEANINGS = {
    "UBLKCP": _copy_bytes,
    "UTMALDG": _load_tile,
    "UTMASTG": _store_tile,
    **dict.fromkeys(("UBLKPF", "UTMAPF", "UTMACCTL", "UTMACMDFLUSH"), _nothing),
}
