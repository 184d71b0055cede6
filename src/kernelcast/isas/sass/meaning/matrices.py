"""Matrix fragments in shared memory: `LDSM`, which PTX calls ldmatrix, and `MOVM`."""

from __future__ import annotations

from kernelcast.ir import Address, Immediate, Operand, Register, SpecialRegister
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import Lift
from kernelcast.isas.sass.meaning.memory import address

_ROWS = 8
_COLUMN_BYTES = 4
_LAST_LANE = Immediate(31)
_ALL_LANES = Immediate((1 << 32) - 1)


def load_matrices(x: Lift) -> None:
    """`LDSM.16.M88.n d, [a]`: n matrices of 8 x 8 halves.

    The address of row r of matrix q is that of lane 8 q + r. Lane l gets of each matrix the two
    halves in row l / 4 and columns 2 (l mod 4) and 2 (l mod 4) + 1; with `.MT88` of its transpose.
    """
    matrices = int(x.native.modifiers[-1]) if x.native.modifiers[-1] in ("1", "2", "4") else 1
    if not x.has("16") or not x.has("M88", "MT88"):
        raise x.refuse()
    registers = x.words(x.take(), matrices)
    rows = _rows(x, x.take())
    lane = x.let("mov.b32", SpecialRegister("laneid"))
    row = x.let("shr.u32", lane, Immediate(2))
    column = x.let("shl.b32", x.let("and.b32", lane, Immediate(3)), Immediate(2))
    values = []
    for matrix in range(matrices):
        source = x.let("add.u32", row, Immediate(_ROWS * matrix))
        place = x.let("add.u32", _from_lane(x, rows, source), column)
        value = x.temporary("b32")
        x.do("ld.shared.b32", value, Address(x.let("cvt.u64.u32", place)), guard=x.guard)
        values.append(transposed(x, value) if x.has("MT88") else value)
    for register, value in zip(registers or (), values, strict=False):
        x.do("mov.b32", register, value, guard=x.guard)


def move_matrix(x: Lift) -> None:
    """`MOVM.16.MT88 d, a`: the transpose of a matrix of 8 x 8 halves."""
    if not x.has("MT88") or not x.has("16"):
        raise x.refuse()
    target = x.take()
    x.write(target, transposed(x, x.b32(x.take())))


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


def _rows(x: Lift, operand: sass.Operand) -> Register:
    """The 32-bit address that each lane gives."""
    where = address(x, operand)
    base: Operand = where.base if isinstance(where.base, Register) else Immediate(0)
    low = x.halves(base)[0] if isinstance(base, Register) else base
    return x.let("add.u32", low, Immediate(where.offset))


def _from_lane(x: Lift, value: Operand, lane: Register) -> Register:
    target = x.temporary("b32")
    x.do("shfl.sync.idx.b32", target, value, lane, _LAST_LANE, _ALL_LANES)
    return target


MEANINGS = {"LDSM": load_matrices, "MOVM": move_matrix}
