"""Matrix fragments in shared memory and in registers: `LDSM`, `STSM` and `MOVM`, which PTX calls
ldmatrix, stmatrix and movmatrix."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Immediate, Operand, Register
from kernelcast.isas.ptx import matrices
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.memory import address


def _load_matrices(x: SassLift) -> None:
    """`LDSM.16.M88.4 d, [a]`: one, `.2` or `.4` matrices into as many registers; with `.MT88`
    their transposes. The address of row r of matrix q is that of lane 8 q + r."""
    count = _matrices(x)
    registers = x.words(x.take(), count)
    rows = _rows(x, x.take())
    x.done()
    matrices.load(x, registers or (), rows, count, transposes=x.has("MT88"))


def _store_matrices(x: SassLift) -> None:
    """`STSM.16.M88.4 [a], d`: the counterpart of `LDSM`."""
    count = _matrices(x)
    rows = _rows(x, x.take())
    fragments: Sequence[Operand] = x.words(x.take(), count) or (Immediate(0),) * count
    x.done()
    matrices.store(x, fragments, rows, transposes=x.has("MT88"))


def _move_matrix(x: SassLift) -> None:
    """`MOVM.16.MT88 d, a`: the transpose of a matrix."""
    x.only("16", "MT88")
    if not x.has("MT88") or not x.has("16"):
        raise x.refuse()
    target = x.take()
    x.write(target, matrices.transposed(x, x.b32(x.take())))


def _matrices(x: SassLift) -> int:
    """How many matrices an instruction moves."""
    x.only("16", "M88", "MT88", "2", "4")
    if not x.has("16") or x.has("M88") == x.has("MT88"):
        raise x.refuse()
    return next((n for n in (2, 4) if x.has(str(n))), 1)


def _rows(x: SassLift, operand: sass.SassOperand) -> Register:
    """The addresses of the rows."""
    where = address(x, operand)
    base: Operand = where.base if isinstance(where.base, Register) else Immediate(0)
    return x.let("add.u32", base, Immediate(where.offset))


MEANINGS = {"LDSM": _load_matrices, "STSM": _store_matrices, "MOVM": _move_matrix}
