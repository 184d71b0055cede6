"""Products of matrices: `HMMA` of halves, `QMMA` and `IMMA` of bytes and `DMMA` of doubles are
`mma` of PTX; `HGMMA`, `QGMMA` and `IGMMA` are `wgmma.mma_async`.

Fragments in registers are those of PTX (`isas/ptx/products.py`). Sums of floats are computed in
order of the depth, each product added by one fused operation. The hardware adds several products at
once and rounds in its own way, so sums that are not exact differ in their last bits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelcast.ir import Immediate, Operand, Register, Vector
from kernelcast.isas.ptx.products import CLAMPED, NUMBER_BYTES, Product, warp_product
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.control import nothing
from kernelcast.isas.sass.meaning.lift import SassLift, consecutive

_SHAPES = {
    "884": (8, 4),
    "8x8x4": (8, 4),
    "8816": (8, 16),
    "1684": (16, 4),
    "1688": (16, 8),
    "16816": (16, 16),
    "16832": (16, 32),
    "16x8x4": (16, 4),
    "16x8x8": (16, 8),
    "16x8x16": (16, 16),
}
"""Rows of a, and the depth."""

_GROUP_SHAPE = re.compile(r"64x(\d+)x(\d+)")
_SUMS = {"F16": "f16", "F32": "f32"}
_HALVES = {"BF16": "bf16", "TF32": "tf32"}
_EIGHT_BIT_FLOATS = {"E4M3": "e4m3", "E5M2": "e5m2"}
_BYTES = {"S8": "s8", "U8": "u8"}

_LAYOUT = {"ROW", "COL", "reuse"}
"""Suffixes of operands that say what is always so."""

_DESCRIPTORS = "gdesc"
_GROUP = "gsb0"
"""The name of the scoreboard that products of a group take until they are done."""


def _half_product(x: SassLift) -> None:
    """`HMMA.16816.F32.BF16 d, a, b, c`: c in single or in half precision; a and b in f16 unless
    `.BF16` or `.TF32` stands there."""
    x.only(*_SHAPES, *_SUMS, *_HALVES)
    number = _one(x, _HALVES, "f16")
    _warp_product(x, _one(x, _SUMS), number, number)


def _eight_bit_product(x: SassLift) -> None:
    """`QMMA.16832.F32.E4M3.E5M2 d, a, b, c`: the types of c, a and b."""
    x.only(*_SHAPES, *_SUMS, *_EIGHT_BIT_FLOATS)
    _warp_product(x, _one(x, _SUMS), *_two(x, _EIGHT_BIT_FLOATS))


def _byte_product(x: SassLift) -> None:
    """`IMMA.16832.S8.U8 d, a, b, c`: the types of a and b; sums wrap around without `.SAT`."""
    x.only(*_SHAPES, *_BYTES, "SAT")
    _warp_product(x, "s32", *_two(x, _BYTES), is_clamped="SAT" in x.native.modifiers)


def _double_product(x: SassLift) -> None:
    """`DMMA.8x8x4 d, a, b, c`."""
    x.only(*_SHAPES)
    _warp_product(x, "f64", "f64", "f64")


def _half_group_product(x: SassLift) -> None:
    """`HGMMA.64x128x16.F32.BF16 d, a, gdesc[UR4], c, P, gsb0`: types as those of `HMMA`."""
    number = _one(x, _HALVES, "f16")
    _group_product(x, (*_SUMS, *_HALVES), _one(x, _SUMS), number, number)


def _eight_bit_group_product(x: SassLift) -> None:
    """`QGMMA.64x128x32.F32.E4M3.E5M2 d, a, gdesc[UR4], c, P, gsb0`."""
    types = _two(x, _EIGHT_BIT_FLOATS)
    _group_product(x, (*_SUMS, *_EIGHT_BIT_FLOATS), _one(x, _SUMS), *types)


def _byte_group_product(x: SassLift) -> None:
    """`IGMMA.64x128x32.S8.U8 d, a, gdesc[UR4], c, P, gsb0`."""
    _group_product(x, tuple(_BYTES), "s32", *_two(x, _BYTES))


def _warp_product(x: SassLift, sums: str, a: str, b: str, *, is_clamped: bool = False) -> None:
    shapes = [_SHAPES[m] for m in x.native.modifiers if m in _SHAPES]
    if len(shapes) != 1:
        raise x.refuse("the shape")
    ((rows, depth),) = shapes
    head = ("sync", "aligned", f"m{rows}n8k{depth}", "row", "col")
    modifiers = (*head, *((CLAMPED,) if is_clamped else ()), sums, a, b, sums)
    kind = warp_product(modifiers)
    if kind is None:
        raise x.refuse("the shape")
    target = x.take()
    counts = (kind.a_registers, kind.b_registers, kind.sum_registers)
    sources = [_words(x, n, is_wide=sums == "f64") for n in counts]
    x.done()
    name = ".".join(("mma", *modifiers))
    if sums == "f64":
        _double_results(x, name, target, kind, sources)
        return
    results = x.words(target, kind.sum_registers) or (None,) * kind.sum_registers
    x.do(name, Vector(results), *sources, guard=x.guard)


def _double_results(
    x: SassLift, name: str, target: sass.SassOperand, kind: Product, sources: Sequence[Vector]
) -> None:
    """Each result is split into a pair of registers."""
    results = tuple(x.temporary("b64") for _ in range(kind.sum_registers))
    x.do(name, Vector(results), *sources)
    words = x.words(target, 2 * kind.sum_registers)
    if words is not None:
        for at, result in enumerate(results):
            x.do("mov.b64", Vector(words[2 * at : 2 * at + 2]), result, guard=x.guard)


def _group_product(x: SassLift, known: Sequence[str], sums: str, a: str, b: str) -> None:
    """The descriptor of b is in the two uniform registers behind those of a, wherever a is; the old
    sums count unless they are RZ, and where a predicate, if one stands there, holds."""
    shape = _GROUP_SHAPE.fullmatch(x.native.modifiers[0])
    if shape is None:
        raise x.refuse("the shape")
    x.only(x.native.modifiers[0], *known)
    # The shape says how many registers the sums take.
    columns, depth = map(int, shape.groups())
    kind = Product(16, columns, depth, a, b, sums)
    results = x.words(x.take(), kind.sum_registers)
    if results is None or depth * NUMBER_BYTES[a] != 32 or columns % 8:
        raise x.refuse("this form of product")
    # The left matrix lies in registers or in shared memory, the right one in shared memory.
    left, scales = _left(x, kind)
    right, suffixes = _descriptors(x)
    if not isinstance(left, Vector):
        left, scales = right[0], (-1 if "negA" in suffixes else 1,)
    # The old sums are the results' own registers, or RZ for none.
    old = x.take()
    if not isinstance(old, sass.RegisterOperand) or old.decoration.prefix:
        raise x.refuse(f"operand {old}")
    is_zero = old.register.number is None
    if not is_zero and x.words(old, 1) != results[:1]:
        raise x.refuse(f"operand {old}")
    keeps = x.predicate(x.take()) if x.takes_predicate() else Immediate(1)
    if x.operands and str(x.operands[0]) == _GROUP:
        x.take()
    x.done()
    # PTX names the signs and the transpositions as immediates.
    immediates = (*scales, -1 if "negB" in suffixes else 1) if sums != "s32" else ()
    if NUMBER_BYTES[a] == 2:
        across = ("tnspB",) if isinstance(left, Vector) else ("tnspA", "tnspB")
        immediates += tuple(int(word in suffixes) for word in across)
    x.do(
        f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{sums}.{a}.{b}",
        Vector(results),
        left,
        right[1],
        Immediate(0) if is_zero else keeps,
        *map(Immediate, immediates),
        guard=x.guard,
    )


def _left(x: SassLift, kind: Product) -> tuple[Operand, tuple[int, ...]]:
    """Matrix a where it is in registers, with its scale: `R4`, `-R4`."""
    operand = x.operands[0]
    if not isinstance(operand, sass.RegisterOperand):
        return None, ()
    x.take()
    words = x.words(operand, kind.a_registers)
    if words is None or operand.decoration.prefix not in ("", "-"):
        raise x.refuse(f"operand {operand}")
    return Vector(words), (-1 if operand.decoration.prefix else 1,)


def _descriptors(x: SassLift) -> tuple[tuple[Register, Register], tuple[str, ...]]:
    """Those of a and b, `gdesc[UR4].negA.tnspB`, and what follows them."""
    operand = x.take()
    if not isinstance(operand, sass.AddressOperand) or operand.space != _DESCRIPTORS:
        raise x.refuse(f"operand {operand}")
    suffixes = operand.decoration.suffixes
    words = consecutive(operand.registers[0].register, 4) if len(operand.registers) == 1 else None
    if words is None or operand.offset or set(suffixes) - {"negA", "negB", "tnspA", "tnspB"}:
        raise x.refuse(f"operand {operand}")
    return (x.pack(words[:2]), x.pack(words[2:])), suffixes


def _one(x: SassLift, types: dict[str, str], default: str = "") -> str:
    """The type that stands among the modifiers."""
    found = [types[m] for m in x.native.modifiers if m in types]
    if len(found) > 1 or not (found or default):
        raise x.refuse("the types")
    return found[0] if found else default


def _two(x: SassLift, types: dict[str, str]) -> tuple[str, str]:
    found = [types[m] for m in x.native.modifiers if m in types]
    if len(found) != 2:
        raise x.refuse("the types")
    return found[0], found[1]


def _words(x: SassLift, count: int, *, is_wide: bool) -> Vector:
    """The words of the next operand, of 64 bits if they are wide; zeros for RZ."""
    operand = x.take()
    if not isinstance(operand, sass.RegisterOperand) or operand.decoration.prefix:
        raise x.refuse(f"operand {operand}")
    if set(operand.decoration.suffixes) - _LAYOUT:
        raise x.refuse(f"operand {operand}")
    if x.words(operand, 1) is None:
        return Vector((Immediate(0),) * count)
    words = x.words(operand, 2 * count if is_wide else count)
    assert words is not None
    if is_wide:
        return Vector(tuple(x.pack(words[at : at + 2]) for at in range(0, 2 * count, 2)))
    return Vector(words)


MEANINGS = {
    "HMMA": _half_product,
    "QMMA": _eight_bit_product,
    "IMMA": _byte_product,
    "DMMA": _double_product,
    "HGMMA": _half_group_product,
    "QGMMA": _eight_bit_group_product,
    "IGMMA": _byte_group_product,
    # Warps that multiply together wait for one another and for their products.
    "WARPGROUP": nothing,
}
