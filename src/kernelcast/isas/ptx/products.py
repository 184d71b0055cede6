"""Products of matrices taken apart: `mma.sync` of a warp, `wgmma.mma_async` of four warps.

Both add the product of a (rows x depth) and b (depth x columns) to sums (rows x columns). A *word*
is what one register holds along the depth: two halves, four bytes, a TF32 number, or in 64 bits a
double. With g = lane / 4 and t = lane mod 4, the fragments of a lane are

    a      rows g and, of 16 rows, g + 8; word t of every four along the depth
    b      column g; word t of every four along the depth
    sums   rows g and, of 16 rows, g + 8; columns 2 t and 2 t + 1 of every eight

in the order: all rows, then the next four words or eight columns. Halves of sums share a register
with their neighbour (PTX ISA 9.0, sections 9.7.14.5 and 9.7.15.5.1).

Of the 64 rows of `wgmma.mma_async` every warp holds 16, so its share is the product of a warp with
as many columns as the instruction has. Its matrix b, and a unless it is in registers, lie in shared
memory where a descriptor says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kernelcast.ir import Immediate, Instruction, Operand, Vector

NUMBER_BYTES = {
    **dict.fromkeys(("e4m3", "e5m2", "s8", "u8"), 1),
    **dict.fromkeys(("f16", "bf16"), 2),
    "tf32": 4,
    "f64": 8,
}
"""Types of a and b: bytes of a number in memory and in registers."""

CLAMPED = "satfinite"
"""The modifier with which sums of integers do not wrap around."""

LANES_OF_ROW = 4
ROWS_OF_LANES = 8
COLUMNS_OF_LANES = 8
GROUP_WARPS = 4
GROUP_DEPTH_BYTES = 32
"""Bytes of every row of a, and of every column of b, in one product of a warp group."""

_GROUP_ROWS = 64
_WARP_ROWS = 16
_EIGHT_BIT_FLOATS = ("e4m3", "e5m2")
_SUMS = {
    **dict.fromkeys(("f16", *_EIGHT_BIT_FLOATS), ("f16", "f32")),
    **dict.fromkeys(("bf16", "tf32"), ("f32",)),
    **dict.fromkeys(("s8", "u8"), ("s32",)),
    "f64": ("f64",),
}
"""Types of sums, by that of a."""

_KINDS = (("s8", "u8"), _EIGHT_BIT_FLOATS)
"""Types that a and b may mix."""

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_WARP_WORDS = ("sync", "aligned", "row", "col")
_GROUP_WORDS = ("mma_async", "sync", "aligned")


@dataclass(frozen=True, slots=True)
class Product:
    """The product that one warp makes: its shape, and the types of a, b and the sums.

    Sums of integers wrap around, or stay at the least or the largest number if `is_clamped`.
    """

    rows: int
    columns: int
    depth: int
    a: str
    b: str
    sums: str
    is_clamped: bool = False

    @property
    def word_bytes(self) -> int:
        """Size of a register of a and b."""
        return 8 if self.a == "f64" else 4

    @property
    def groups(self) -> int:
        """Rows of a that a lane holds words of."""
        return self.rows // ROWS_OF_LANES

    @property
    def a_registers(self) -> int:
        """Registers of a lane for a."""
        return self.groups * self.b_registers

    @property
    def b_registers(self) -> int:
        """Registers of a lane for eight columns of b."""
        return self.depth * NUMBER_BYTES[self.a] // (LANES_OF_ROW * self.word_bytes)

    @property
    def sum_bytes(self) -> int:
        """Size of a register of the sums."""
        return 8 if self.sums == "f64" else 4

    @property
    def sum_registers(self) -> int:
        """Registers of a lane for the sums."""
        return self.rows * self.columns // (64 if self.sums == "f16" else 32)


@dataclass(frozen=True, slots=True)
class GroupProduct:
    """A `wgmma.mma_async`: the share of a warp, and its operands.

    `a` is registers or a descriptor, `b` a descriptor. The old sums count where `keeps` holds.
    `is_negated` tells that the product is subtracted. `a_across` and `b_across` are matrices whose
    rows or columns, not the depth, lie next to each other in memory.
    """

    product: Product
    sums: Operand
    a: Operand
    b: Operand
    keeps: Operand
    is_negated: bool
    a_across: bool
    b_across: bool

    @property
    def a_in_registers(self) -> bool:
        """Whether a is in registers."""
        return isinstance(self.a, Vector)


@lru_cache(maxsize=256)
def warp_product(modifiers: tuple[str, ...]) -> Product | None:
    """The product of an `mma` with these modifiers; None where there is no such form here."""
    words = [m for m in modifiers if not m.startswith("kind::") and m != CLAMPED]
    if tuple(words[:2] + words[3:5]) != _WARP_WORDS or len(words) != 9:
        return None
    d, a, b, c = words[5:]
    found = _product(words[2], a, b, d)
    if found is None or c != d or found.columns != COLUMNS_OF_LANES:
        return None
    if CLAMPED in modifiers:
        if d != "s32":
            return None
        found = replace(found, is_clamped=True)
    is_whole = found.rows in (8, 16) and found.b_registers in (1, 2, 4)
    return found if is_whole and found.a_registers <= 8 else None


def group_product(instruction: Instruction) -> GroupProduct | None:
    """A `wgmma.mma_async` taken apart; None where there is no such form here."""
    modifiers = instruction.modifiers
    if modifiers[:3] != _GROUP_WORDS or len(modifiers) != 7 or len(instruction.operands) < 4:
        return None
    d, a, b = modifiers[4:]
    whole = _product(modifiers[3], a, b, d)
    if whole is None or whole.rows != _GROUP_ROWS or a == "f64":
        return None
    if whole.depth * NUMBER_BYTES[a] != GROUP_DEPTH_BYTES or not 8 <= whole.columns <= 256:
        return None
    share = Product(_WARP_ROWS, whole.columns, whole.depth, a, b, d)
    sums, left, right, keeps, *rest = instruction.operands
    in_registers = isinstance(left, Vector)
    numbers = _immediates(rest)
    expected = _immediate_count(a, in_registers)
    if numbers is None or len(numbers) != expected or not _fits(share, sums, left):
        return None
    scales, majors = numbers[:2], numbers[2:]
    if not set(scales) <= {1, -1} or not set(majors) <= {0, 1}:
        return None
    is_negated = len(scales) == 2 and scales[0] != scales[1]
    a_across = len(majors) == 2 and majors[0] == 1
    b_across = bool(majors) and majors[-1] == 1
    return GroupProduct(share, sums, left, right, keeps, is_negated, a_across, b_across)


def is_known(instruction: Instruction) -> bool:
    """Whether it is a form of `mma` or `wgmma` with a meaning here."""
    if instruction.opcode == "mma":
        return warp_product(instruction.modifiers) is not None
    if instruction.opcode != "wgmma":
        return False
    return "mma_async" not in instruction.modifiers or group_product(instruction) is not None


def _product(shape: str, a: str, b: str, sums: str) -> Product | None:
    found = _SHAPE.fullmatch(shape)
    is_pair = a == b or any({a, b} <= set(kind) for kind in _KINDS)
    if found is None or not is_pair or sums not in _SUMS.get(a, ()):
        return None
    rows, columns, depth = map(int, found.groups())
    return Product(rows, columns, depth, a, b, sums) if columns % COLUMNS_OF_LANES == 0 else None


def _immediate_count(a: str, in_registers: bool) -> int:
    """Floats have a scale for a and for b, and of 16 bits a major-ness for each in memory."""
    if a in ("s8", "u8"):
        return 0
    if NUMBER_BYTES[a] != 2:
        return 2
    return 3 if in_registers else 4


def _immediates(operands: Sequence[Operand]) -> tuple[int, ...] | None:
    values = tuple(o.value for o in operands if isinstance(o, Immediate))
    return values if len(values) == len(operands) else None


def _fits(share: Product, sums: Operand, a: Operand) -> bool:
    """Whether the operands in registers have as many as their fragments."""
    if not isinstance(sums, Vector) or len(sums.elements) != share.sum_registers:
        return False
    return not isinstance(a, Vector) or len(a.elements) == share.a_registers
