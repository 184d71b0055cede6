"""Matrix fragments in shared memory and in registers: `ldmatrix`, `stmatrix` and `movmatrix`.

A matrix has 8 x 8 halves. Lane l holds of it the two halves in row l / 4 and columns 2 (l mod 4)
and 2 (l mod 4) + 1, in one register.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Address, Immediate, Operand, Register, SpecialRegister, Symbol, Vector
from kernelcast.isas.masks import ALL_LANES
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning
from kernelcast.isas.ptx.opcodes import TYPE_BYTES
from kernelcast.isas.ptx.steps import Steps

_ROWS = 8
_LAST_LANE = Immediate(31)
_COUNTS = {"x1": 1, "x2": 2, "x4": 4}
_SHARED = ("shared", "shared::cta")
_WORDS = ("sync", "aligned", "m8n8", "trans", "b16")


def load(
    x: Steps, targets: Sequence[Operand], rows: Operand, count: int, *, transposes: bool
) -> None:
    """Load matrices into as many registers, or their transposes. The address of row r of matrix q
    is `rows` in lane 8 q + r; no targets stand for results that nobody needs."""
    values = []
    for place in _places(x, rows, count):
        value = x.temporary("b32")
        x.do("ld.shared.b32", value, place, guard=x.guard)
        values.append(transposed(x, value) if transposes else value)
    for target, value in zip(targets, values, strict=False):
        if target is not None:
            x.do("mov.b32", target, value, guard=x.guard)


def store(x: Steps, fragments: Sequence[Operand], rows: Operand, *, transposes: bool) -> None:
    """Store matrices, or their transposes."""
    places = _places(x, rows, len(fragments))
    for place, fragment in zip(places, fragments, strict=True):
        value = transposed(x, fragment) if transposes else fragment
        x.do("st.shared.b32", place, value, guard=x.guard)


def transposed(x: Steps, fragment: Operand) -> Register:
    """The fragment of the transpose: halves (2 t, g) and (2 t + 1, g), t = l mod 4, g = l / 4.

    Half (r, c) is in lane 4 r + c / 2, low where c is even.
    """
    lane = x.let("mov.b32", SpecialRegister("laneid"))
    g = x.let("shr.u32", lane, Immediate(2))
    t = x.let("and.b32", lane, Immediate(3))
    near = x.let("shr.u32", g, Immediate(1))
    shift = x.let("shl.b32", x.let("and.b32", g, Immediate(1)), Immediate(4))
    halves = []
    for odd in range(2):
        row = x.let("mad.lo.u32", t, Immediate(2), Immediate(odd))
        source = x.let("mad.lo.u32", row, Immediate(4), near)
        halves.append(x.let("shr.u32", _from_lane(x, fragment, source), shift))
    return x.let("prmt.b32", halves[0], halves[1], Immediate(0x5410))


def _places(x: Steps, rows: Operand, count: int) -> list[Address]:
    """Where the fragment of each matrix lies, given the addresses of the rows."""
    lane = x.let("mov.b32", SpecialRegister("laneid"))
    row = x.let("shr.u32", lane, Immediate(2))
    column = x.let("shl.b32", x.let("and.b32", lane, Immediate(3)), Immediate(2))
    places = []
    for matrix in range(count):
        source = x.let("add.u32", row, Immediate(_ROWS * matrix))
        places.append(Address(x.let("add.u32", _from_lane(x, rows, source), column)))
    return places


def _from_lane(x: Steps, value: Operand, lane: Register) -> Register:
    target = x.temporary("b32")
    x.do("shfl.sync.idx.b32", target, value, lane, _LAST_LANE, ALL_LANES)
    return target


def _load_matrices(x: PtxLift) -> None:
    """`ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {d, ...}, [a]`."""
    count = _count(x)
    targets = _elements(x.take())
    if len(targets) != count:
        raise x.refuse()
    load(x, targets, _rows(x), count, transposes="trans" in x.modifiers)


def _store_matrices(x: PtxLift) -> None:
    """`stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [a], {b, ...}`."""
    count = _count(x)
    rows = _rows(x)
    fragments = _elements(x.take())
    if len(fragments) != count:
        raise x.refuse()
    store(x, fragments, rows, transposes="trans" in x.modifiers)


def _move_matrix(x: PtxLift) -> None:
    """`movmatrix.sync.aligned.m8n8.trans.b16 d, a`."""
    x.only(*_WORDS)
    target, source = x.take(), x.take()
    x.do("mov.b32", target, transposed(x, source), guard=x.guard)


def _count(x: PtxLift) -> int:
    x.only(*_WORDS, *_COUNTS, *_SHARED)
    (count,) = [n for word, n in _COUNTS.items() if word in x.modifiers] or [0]
    if "m8n8" not in x.modifiers or not count:
        raise x.refuse()
    return count


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _rows(x: PtxLift) -> Operand:
    """The address of the next operand, in 32 bits."""
    is_shared = any(word in x.modifiers for word in _SHARED)
    where = x.shared_address(x.take_address(), is_shared=is_shared)
    base: Operand = where.base or Immediate(0)
    if isinstance(base, Symbol):
        base = x.let("mov.b64", base)
    if isinstance(base, Register) and TYPE_BYTES[base.type] > 4:
        base = x.let("cvt.u32.u64", base)
    return x.let("add.u32", base, Immediate(where.offset))


MEANINGS: dict[str, PtxMeaning] = {
    "ldmatrix": _load_matrices,
    "stmatrix": _store_matrices,
    "movmatrix": _move_matrix,
}
