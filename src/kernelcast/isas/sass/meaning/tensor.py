"""Products of matrix fragments: `HMMA` of half precision, `IMMA` of bytes, `DMMA` of doubles.

`xMMA.MNK d, a, b, c` adds the product of a (M x K) and b (K x 8) to c (M x 8). A *word* is what one
register holds along k: two halves, four bytes, a TF32 number, or in two registers a double. With
g = lane / 4 and t = lane mod 4, the words of a lane are

    a   row g, and for M = 16 also row g + 8; word t of every four along k
    b   column g; word t of every four along k
    c   row g, and for M = 16 also row g + 8; columns 2 t and 2 t + 1

in the order: all rows, then the next four words along k. (PTX ISA 9.0, section 9.7.14, has the same
fragments.)

Sums of floats are computed in order of k, each product added by one fused operation of single
precision. The hardware adds several products at once and rounds in its own way, so sums that are
not exact differ in their last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelcast.ir import Immediate, Operand, Register, SpecialRegister
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.control import nothing
from kernelcast.isas.sass.meaning.lift import Lift

_ALL_LANES = Immediate((1 << 32) - 1)
_LAST_LANE = Immediate(31)
_WITHIN_ROWS = Immediate(0x1C1F)
"""Shuffles between the four lanes of equal g."""

_ACROSS_ROWS = Immediate(0x031F)
"""Shuffles between the eight lanes of equal t."""

_LANES_OF_ROW = 4
_ROWS_OF_LANES = 8
_COLUMNS_OF_LANE = 2

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
"""Rows of a, and its length along k."""

_BYTES = {"S8": "s32", "U8": "u32"}

Numbers = Callable[[Lift, Operand], Sequence[Operand]]
"""Takes a word apart into what is multiplied, in order of k."""


def half_product(x: Lift) -> None:
    """`HMMA.16816.F32.BF16 d, a, b, c`: c in single or in half precision; a and b in f16 unless
    `.BF16` or `.TF32` stands there."""
    x.only(*_SHAPES, "F32", "F16", "BF16", "TF32")
    if x.has("F32") == x.has("F16"):
        raise x.refuse("the types")
    numbers, count = _f16_numbers, 2
    if x.has("BF16"):
        numbers = _bf16_numbers
    elif x.has("TF32"):
        numbers, count = _tf32_number, 1
    rows, parts = _shape(x, count)
    target = x.take()
    a, b = _registers(x, parts * rows // _ROWS_OF_LANES), _registers(x, parts)
    if x.has("F32"):
        c = _registers(x, _sums(rows))
        _write(x, target, product(x, "fma.rn.f32", numbers, a, b, c))
        return
    packed = _registers(x, _sums(rows) // 2)
    c = [number for word in packed for number in _f16_numbers(x, word)]
    sums = product(x, "fma.rn.f32", numbers, a, b, c)
    pairs = zip(sums[::2], sums[1::2], strict=True)
    _write(x, target, [x.let("cvt.rn.f16x2.f32", high, low) for low, high in pairs])


def byte_product(x: Lift) -> None:
    """`IMMA.16832.S8.U8 d, a, b, c`: the types of a and b; sums wrap around."""
    x.only(*_SHAPES, *_BYTES)
    types = [_BYTES[m] for m in x.native.modifiers if m in _BYTES]
    if len(types) != 2:
        raise x.refuse("the types")
    rows, parts = _shape(x, 4)
    target = x.take()
    a, b = _registers(x, parts * rows // _ROWS_OF_LANES), _registers(x, parts)
    c = _registers(x, _sums(rows))
    _write(x, target, product(x, f"dp4a.{types[0]}.{types[1]}", _whole_word, a, b, c))


def double_product(x: Lift) -> None:
    """`DMMA.8x8x4 d, a, b, c`."""
    x.only(*_SHAPES)
    rows, parts = _shape(x, 1)
    target = x.take()
    a, b = _pairs(x, parts * rows // _ROWS_OF_LANES), _pairs(x, parts)
    c = _pairs(x, _sums(rows))
    sums = product(x, "fma.rn.f64", _whole_word, a, b, c)
    _write(x, target, [word for total in sums for word in x.halves(total)])


def product(
    x: Lift,
    multiply: str,
    numbers: Numbers,
    a: Sequence[Operand],
    b: Sequence[Operand],
    c: Sequence[Operand],
) -> list[Operand]:
    """The fragment a * b + c.

    For each number along k every lane takes those of its rows of a and of its columns of b from
    the lanes that hold them.
    """
    sums = list(c)
    groups = len(a) // len(b)
    for part, word in enumerate(b):
        of_a = [numbers(x, a[groups * part + group]) for group in range(groups)]
        of_b = numbers(x, _turned(x, word))
        for t in range(_LANES_OF_ROW):
            for at, number in enumerate(of_b):
                right = [
                    _shuffled(x, number, _LANES_OF_ROW * (_LANES_OF_ROW * odd + t), _ACROSS_ROWS)
                    for odd in range(_COLUMNS_OF_LANE)
                ]
                for group in range(groups):
                    left = _shuffled(x, of_a[group][at], t, _WITHIN_ROWS)
                    for odd in range(_COLUMNS_OF_LANE):
                        n = _COLUMNS_OF_LANE * group + odd
                        sums[n] = x.let(multiply, left, right[odd], sums[n])
    return sums


def _turned(x: Lift, word: Operand) -> Operand:
    """What lane 8 t + g holds, in lane 4 g + t: so the columns 2 t and 2 t + 1 that a lane needs
    are in lanes of its own t."""
    lane = x.let("mov.b32", SpecialRegister("laneid"))
    t = x.let("and.b32", lane, Immediate(_LANES_OF_ROW - 1))
    g = x.let("shr.u32", lane, Immediate(2))
    return _shuffled(x, word, x.let("mad.lo.u32", t, Immediate(_ROWS_OF_LANES), g), _LAST_LANE)


def _shuffled(x: Lift, value: Operand, lane: Register | int, segments: Immediate) -> Operand:
    """The value of another lane, given by its number in the segment."""
    if isinstance(value, Immediate):
        return value
    assert isinstance(value, Register)
    if value.type == "b64":
        return x.pack([_shuffled(x, half, lane, segments) for half in x.halves(value)])
    target = x.temporary("b32")
    source = Immediate(lane) if isinstance(lane, int) else lane
    x.do("shfl.sync.idx.b32", target, value, source, segments, _ALL_LANES)
    return target


def _whole_word(_: Lift, word: Operand) -> Sequence[Operand]:
    return (word,)


def _f16_numbers(x: Lift, word: Operand) -> Sequence[Operand]:
    high = x.let("shr.u32", word, Immediate(16))
    return x.let("cvt.f32.f16", word), x.let("cvt.f32.f16", high)


def _bf16_numbers(x: Lift, word: Operand) -> Sequence[Operand]:
    """Such a number is the upper half of one in single precision."""
    return x.let("shl.b32", word, Immediate(16)), x.let("and.b32", word, Immediate(0xFFFF_0000))


def _tf32_number(x: Lift, word: Operand) -> Sequence[Operand]:
    """One in single precision whose last 13 bits are not looked at."""
    return (x.let("and.b32", word, Immediate(0xFFFF_E000)),)


def _shape(x: Lift, numbers_of_word: int) -> tuple[int, int]:
    """The rows of a, and the words that a lane holds of a column of b."""
    shapes = [_SHAPES[m] for m in x.native.modifiers if m in _SHAPES]
    if len(shapes) != 1:
        raise x.refuse("the shape")
    ((rows, depth),) = shapes
    parts, rest = divmod(depth, _LANES_OF_ROW * numbers_of_word)
    if not parts or rest:
        raise x.refuse("the shape")
    return rows, parts


def _sums(rows: int) -> int:
    """The numbers of c that a lane holds."""
    return rows // _ROWS_OF_LANES * _COLUMNS_OF_LANE


def _registers(x: Lift, count: int) -> Sequence[Operand]:
    """The words of the next operand, zeros for RZ."""
    operand = x.take()
    if not isinstance(operand, sass.RegisterOperand) or operand.decoration.prefix:
        raise x.refuse(f"operand {operand}")
    return x.words(operand, count) or (Immediate(0),) * count


def _pairs(x: Lift, count: int) -> Sequence[Operand]:
    """The doubles of the next operand."""
    words = _registers(x, 2 * count)
    return [x.pack(words[at : at + 2]) for at in range(0, 2 * count, 2)]


def _write(x: Lift, target: sass.Operand, words: Sequence[Operand]) -> None:
    x.done()
    for register, word in zip(x.words(target, len(words)) or (), words, strict=False):
        x.do("mov.b32", register, word, guard=x.guard)


MEANINGS = {
    "HMMA": half_product,
    "IMMA": byte_product,
    "DMMA": double_product,
    # Warps that multiply together wait for one another and for their products.
    "WARPGROUP": nothing,
}
