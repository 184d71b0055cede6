"""Matrix fragments in shared memory and in registers: `LDSM`, `STSM` and `MOVM`, which PTX calls
ldmatrix, stmatrix and movmatrix.

A matrix has 8 x 8 halves. Lane l holds of it the two halves in row l / 4 and columns 2 (l mod 4)
and 2 (l mod 4) + 1, in one register.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Address, Immediate, Operand, Register, SpecialRegister
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import Lift
from kernelcast.isas.sass.meaning.memory import address

_ROWS = 8
_LAST_LANE = Immediate(31)
_ALL_LANES = Immediate((1 << 32) - 1)


def load_matrices(x: Lift) -> None:
    """`LDSM.16.M88.4 d, [a]`: one, `.2` or `.4` matrices into as many registers; with `.MT88`
    their transposes. The address of row r of matrix q is that of lane 8 q + r."""
    count = _matrices(x)
    registers = x.words(x.take(), count)
    places = _places(x, x.take(), count)
    x.done()
    values = []
    for place in places:
        value = x.temporary("b32")
        x.do("ld.shared.b32", value, place, guard=x.guard)
        values.append(transposed(x, value) if x.has("MT88") else value)
    for register, value in zip(registers or (), values, strict=False):
        x.do("mov.b32", register, value, guard=x.guard)


def store_matrices(x: Lift) -> None:
    """`STSM.16.M88.4 [a], d`: the counterpart of `LDSM`."""
    count = _matrices(x)
    places = _places(x, x.take(), count)
    source = x.take()
    fragments: Sequence[Operand] = x.words(source, count) or (Immediate(0),) * count
    x.done()
    for place, fragment in zip(places, fragments, strict=True):
        value = transposed(x, fragment) if x.has("MT88") else fragment
        x.do("st.shared.b32", place, value, guard=x.guard)


def move_matrix(x: Lift) -> None:
    """`MOVM.16.MT88 d, a`: the transpose of a matrix."""
    x.only("16", "MT88")
    if not x.has("MT88") or not x.has("16"):
        raise x.refuse()
    target = x.take()
    x.write(target, transposed(x, x.b32(x.take())))


def _matrices(x: Lift) -> int:
    """How many matrices an instruction moves."""
    x.only("16", "M88", "MT88", "2", "4")
    if not x.has("16") or x.has("M88") == x.has("MT88"):
        raise x.refuse()
    return next((n for n in (2, 4) if x.has(str(n))), 1)


def _places(x: Lift, operand: sass.Operand, count: int) -> list[Address]:
    """Where the fragment of each matrix lies, given the addresses of the rows."""
    where = address(x, operand)
    base: Operand = where.base if isinstance(where.base, Register) else Immediate(0)
    rows = x.let("add.u32", base, Immediate(where.offset))
    lane = x.let("mov.b32", SpecialRegister("laneid"))
    row = x.let("shr.u32", lane, Immediate(2))
    column = x.let("shl.b32", x.let("and.b32", lane, Immediate(3)), Immediate(2))
    places = []
    for matrix in range(count):
        source = x.let("add.u32", row, Immediate(_ROWS * matrix))
        places.append(Address(x.let("add.u32", _from_lane(x, rows, source), column)))
    return places


def transposed(x: Lift, fragment: Operand) -> Register:
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


def _from_lane(x: Lift, value: Operand, lane: Register) -> Register:
    target = x.temporary("b32")
    x.do("shfl.sync.idx.b32", target, value, lane, _LAST_LANE, _ALL_LANES)
    return target


MEANINGS = {"LDSM": load_matrices, "STSM": store_matrices, "MOVM": move_matrix}
