"""What kernels ask about a texture or surface (PTX ISA 9.0, 9.7.10.3, txq), in steps of PTX."""

from __future__ import annotations

from kernelcast.ir import Address, Immediate, Operand, Register
from kernelcast.ir.texture import FLOAT, SIGNED
from kernelcast.isas.ptx.levels import at_level
from kernelcast.isas.ptx.steps import Steps
from kernelcast.isas.ptx.texels import LevelNumbers

_EXTENTS = {"width": "x", "height": "y", "depth": "z", "array_size": "z"}
_WORDS = {"num_mipmap_levels": "levels", "normalized_coords": "is_normalized"}

_CHANNEL_ORDERS = (0x10B0, 0x10B2, 0x10B5)
"""Of texels of 1, 2 and 4 channels (PTX ISA, table of OpenCL channel orders)."""

_SHARES, _UNSIGNED_SHARES, _SIGNED, _UNSIGNED, _HALF, _FLOAT = (
    *(0x10D0, 0x10D2, 0x10D7, 0x10DA, 0x10DD, 0x10DE),
)
"""Types of channels, each the first of its kind: 8 bits, then 16 and 32 (PTX ISA, table of OpenCL
channel data types)."""


def query(x: Steps, place: Address, what: str, level: Operand | None = None) -> Register | None:
    """The answer, of a level where one is given; None where nobody knows it."""
    held = LevelNumbers(x, place) if level is None else at_level(x, place, level)
    if what in _EXTENTS:
        return x.let("max.u32", held.word(_EXTENTS[what]), Immediate(1))
    if what in _WORDS:
        return held.word(_WORDS[what])
    if what == "channel_data_type":
        return _channel_type(held)
    return _channel_order(held) if what == "channel_order" else None


def _channel_type(held: LevelNumbers) -> Register:
    x = held.x
    bits = held.word("bits")
    size = x.let("shr.u32", bits, Immediate(4))  # 0, 1 and 2 of 8, 16 and 32 bits
    is_signed, is_share = held.test("kind", SIGNED), held.test("reads_fraction", 1)
    whole = x.let("selp.b32", Immediate(_SIGNED), Immediate(_UNSIGNED), is_signed)
    share = x.let("selp.b32", Immediate(_SHARES), Immediate(_UNSIGNED_SHARES), is_signed)
    number = x.let("add.u32", x.let("selp.b32", share, whole, is_share), size)
    is_half = x.let("setp.eq.u32", bits, Immediate(16))
    real = x.let("selp.b32", Immediate(_HALF), Immediate(_FLOAT), is_half)
    return x.let("selp.b32", real, number, held.test("kind", FLOAT))


def _channel_order(held: LevelNumbers) -> Register:
    x = held.x
    bits = x.let("shl.b32", held.word("texel_bytes"), Immediate(3))
    count = x.let("div.u32", bits, held.word("bits"))
    one, two, four = map(Immediate, _CHANNEL_ORDERS)
    more = x.let("selp.b32", two, four, x.let("setp.eq.u32", count, Immediate(2)))
    return x.let("selp.b32", one, more, x.let("setp.eq.u32", count, Immediate(1)))
