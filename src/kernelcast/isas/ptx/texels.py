"""What texels read and written by coordinates are, in steps of PTX: of all ISAs.

What a kernel holds is the place of a descriptor among its parameters (`ir/texture.py`). Filtering,
addressing and the conversion of texels are those of the CUDA C++ Programming Guide, texture
fetching: of N texels the coordinate x names texel floor(x); linear filtering reads texels i and
i + 1 for x - 0.5 = i + a, where a has 8 bits of fraction, weighted 1 - a and a, in every dimension.

Loads are of words of 32 bits, as many as the texel has, so that one instruction accesses memory in
one width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from kernelcast.ir import Address, Guard, Immediate, Operand, Register
from kernelcast.ir.texture import FLOAT, MODES, OFFSETS, SIGNED
from kernelcast.isas.ptx.steps import Steps

ALL_CHANNELS = (0, 1, 2, 3)

_AXES = "xyz"
_WRAP, _MIRROR, _BORDER = MODES.index("wrap"), MODES.index("mirror"), MODES.index("border")
_HALF, _ONE, _MINUS_ONE, _STEPS = 0x3F000000, 0x3F800000, 0xBF800000, 0x43800000
"""0.5, 1, -1 and 256 as floats."""


@dataclass(frozen=True)
class TexelPlace:
    """What coordinates name: numbers, or whole numbers where they are not `from_float`, in a
    layer, where there are any. The face of a cube, a layer, has its own edge."""

    coordinates: Sequence[Operand]
    from_float: bool
    layer: Operand | None = None
    is_face: bool = False


@dataclass(frozen=True)
class LevelNumbers:
    """A descriptor at a place among the parameters."""

    x: Steps
    place: Address

    def word(self, name: str) -> Register:
        """A number of 32 bits."""
        return self._load(name, "b32")

    def wide(self, name: str) -> Register:
        """A number of 64 bits."""
        return self._load(name, "b64")

    def test(self, name: str, value: int) -> Register:
        """Whether a number is `value`."""
        return self.x.let("setp.eq.u32", self.word(name), Immediate(value))

    def mode(self, axis: int) -> Register:
        """What stands beyond the edge along a dimension."""
        shifted = self.x.let("shr.u32", self.word("modes"), Immediate(8 * axis))
        return self.x.let("and.b32", shifted, Immediate(0xFF))

    def layer(self, number: Operand) -> Register:
        """The layer of a number: past the end it is the last."""
        count = self.x.let("max.u32", self.word("z"), Immediate(1))
        last = self.x.let("sub.u32", count, Immediate(1))
        return self.x.let("min.u32", number, last)

    def _load(self, name: str, type_: str) -> Register:
        at = Address(self.place.base, self.place.offset + OFFSETS[name])
        return self.x.let(f"ld.param.{type_}", at)


@dataclass(frozen=True)
class _Along:
    """Along one dimension: the texels that are read, with their weights, and whether there is one
    at all; the second is read where filtering is linear."""

    texels: tuple[Register, ...]
    weights: tuple[Operand, ...]
    exists: tuple[Register, ...]


def filtered(
    held: LevelNumbers,
    at: TexelPlace,
    guard: Guard | None,
    *,
    to_float: bool,
    channels: Sequence[int] = ALL_CHANNELS,
) -> list[Operand]:
    """Some of the four channels of what coordinates name in one level; `to_float` is whether the
    reader takes them for floating point where the descriptor says so."""
    x = held.x
    axes = _axes(held, at)
    is_linear = held.test("is_linear", 1) if to_float and at.from_float else None
    decode = _Decoding(held, to_float)
    totals: list[Operand] = [Immediate(0)] * len(channels)
    for corner in product(*(range(2 if is_linear else 1) for _ in axes)):
        taken = guard if not any(corner) else x.both(guard, is_linear or Immediate(1))
        words = _texel_words(held, axes, corner, at.layer, taken)
        texel = [decode.channel(words, channel) for channel in channels]
        if is_linear is None:
            totals = texel
        else:
            totals = _weighted(x, totals, texel, axes, corner, is_linear)
    return totals


def gathered(
    held: LevelNumbers, at: TexelPlace, guard: Guard | None, channel: int, *, to_float: bool
) -> list[Operand]:
    """A channel of the four texels that linear filtering would read, from the lower left one on
    against the clock (PTX ISA, tld4). The place has 8 bits of fraction before it is cut off
    (CUDA C++ Programming Guide, texture gather)."""
    axes = _axes(held, at, gathers=True)
    decode = _Decoding(held, to_float)
    return [
        decode.channel(_texel_words(held, axes, corner, at.layer, guard), channel)
        for corner in ((0, 1), (1, 1), (1, 0), (0, 0))
    ]


def _axes(held: LevelNumbers, at: TexelPlace, *, gathers: bool = False) -> list[_Along]:
    if not at.from_float:
        return [_texel_of(held, n, value) for n, value in enumerate(at.coordinates)]
    return [
        _along(held, n, value, Immediate(0) if at.is_face else held.mode(n), gathers)
        for n, value in enumerate(at.coordinates)
    ]


def _texel_of(held: LevelNumbers, at: int, value: Operand) -> _Along:
    """The texel that a whole number names."""
    x = held.x
    extent = x.let("max.u32", held.word(_AXES[at]), Immediate(1))
    index = x.let("mov.b32", value)
    return _Along((_inside(x, index, extent),), (Immediate(_ONE),), (_exists(x, index, extent),))


def _along(held: LevelNumbers, at: int, value: Operand, mode: Operand, gathers: bool) -> _Along:
    """The texels about a number, by the mode of what stands beyond the edge."""
    x = held.x
    written = held.word(_AXES[at])
    extent = x.let("max.u32", written, Immediate(1))
    is_border, is_wrap = (x.let("setp.eq.u32", mode, Immediate(m)) for m in (_BORDER, _WRAP))
    is_mirror = x.let("setp.eq.u32", mode, Immediate(_MIRROR))
    place = _unnormalized(held, value, extent, is_wrap, is_mirror)
    is_linear: Operand = Immediate(1) if gathers else held.test("is_linear", 1)
    shifted = x.let("sub.f32", place, Immediate(_HALF))
    if gathers:
        shifted = in_steps(x, shifted)
    start = x.let("selp.b32", shifted, place, is_linear)
    if at:  # machine code gives textures of one dimension a second coordinate
        is_there = x.let("setp.ne.u32", written, Immediate(0))
        start = x.let("selp.b32", start, Immediate(0), is_there)
    whole = x.let("cvt.rmi.f32.f32", start)
    index = x.let("cvt.rzi.s32.f32", whole)
    alpha = in_steps(x, x.let("sub.f32", start, whole))
    alpha = x.let("selp.b32", alpha, Immediate(0), is_linear)
    rest = x.let("sub.f32", Immediate(_ONE), alpha)
    indices = (index, x.let("add.s32", index, Immediate(1)))
    texels, exists = [], []
    for each in indices:
        clamped = _inside(x, each, extent)
        texels.append(x.let("selp.b32", _wrapped(x, each, extent), clamped, is_wrap))
        there = _exists(x, each, extent)
        anyway = x.let("not.pred", is_border)
        exists.append(x.let("or.pred", there, anyway))
    return _Along(tuple(texels), (rest, alpha), tuple(exists))


def in_steps(x: Steps, number: Operand) -> Register:
    """A number with 8 bits of fraction."""
    scaled = x.let("fma.rn.f32", number, Immediate(_STEPS), Immediate(_HALF))
    return x.let("div.rn.f32", x.let("cvt.rmi.f32.f32", scaled), Immediate(_STEPS))


def _unnormalized(
    held: LevelNumbers, value: Operand, extent: Register, is_wrap: Register, is_mirror: Register
) -> Register:
    """The coordinate in texels: as it is, or a share of the extent, repeated as the mode says."""
    x = held.x
    whole = x.let("cvt.rmi.f32.f32", value)
    fraction = x.let("sub.f32", value, whole)
    odd = x.let("and.b32", x.let("cvt.rzi.s32.f32", whole), Immediate(1))
    is_odd = x.let("setp.ne.u32", odd, Immediate(0))
    turned = x.let("selp.b32", x.let("sub.f32", Immediate(_ONE), fraction), fraction, is_odd)
    share = x.let("selp.b32", fraction, value, is_wrap)
    share = x.let("selp.b32", turned, share, is_mirror)
    texels = x.let("mul.f32", share, x.let("cvt.rn.f32.u32", extent))
    return x.let("selp.b32", texels, value, held.test("is_normalized", 1))


def _inside(x: Steps, index: Register, extent: Register) -> Register:
    last = x.let("sub.s32", extent, Immediate(1))
    return x.let("min.s32", x.let("max.s32", index, Immediate(0)), last)


def _wrapped(x: Steps, index: Register, extent: Register) -> Register:
    rest = x.let("rem.s32", index, extent)
    is_negative = x.let("setp.lt.s32", rest, Immediate(0))
    return x.let("selp.b32", x.let("add.s32", rest, extent), rest, is_negative)


def _exists(x: Steps, index: Register, extent: Register) -> Register:
    return x.let("setp.lt.u32", index, extent)


def _texel_words(
    held: LevelNumbers,
    axes: Sequence[_Along],
    corner: Sequence[int],
    layer: Operand | None,
    guard: Guard | None,
) -> list[Register]:
    """The words of one texel, zeros where there is none."""
    x = held.x
    there: Register = axes[0].exists[corner[0]]
    for axis, side in zip(axes[1:], corner[1:], strict=True):
        there = x.let("and.pred", there, axis.exists[side])
    steps = (held.word("texel_bytes"), held.wide("pitch"), held.wide("slice"))
    address = held.wide("base")
    for axis, side, step in zip(axes, corner, steps, strict=False):
        wide = x.let("cvt.u64.u32", axis.texels[side])
        size = x.let("cvt.u64.u32", step) if step.type == "b32" else step
        address = x.let("add.u64", address, x.let("mul.lo.u64", wide, size))
    if layer is not None:
        address = _in_layer(held, address, held.layer(layer))
    low = x.let("cvt.u32.u64", address)
    shift = x.let("shl.b32", x.let("and.b32", low, Immediate(3)), Immediate(3))
    aligned = x.let("and.b64", address, Immediate((1 << 64) - 4))
    words = []
    for at in ALL_CHANNELS:
        long_enough = x.let("setp.gt.u32", held.word("texel_bytes"), Immediate(4 * at))
        taken = x.both(guard, x.let("and.pred", there, long_enough))
        word = x.temporary("b32")
        x.do("mov.b32", word, Immediate(0))
        x.do("ld.global.nc.b32", word, Address(aligned, 4 * at), guard=taken)
        words.append(word)
    words[0] = x.let("shr.u32", words[0], shift)
    return words


class _Decoding:
    """How the channels of a texel become values, the same for all texels of an instruction."""

    def __init__(self, held: LevelNumbers, to_float: bool) -> None:
        x = self.x = held.x
        self.to_float = to_float
        self.is_byte, self.is_half = held.test("bits", 8), held.test("bits", 16)
        self.is_signed, self.is_float = held.test("kind", SIGNED), held.test("kind", FLOAT)
        self.is_fraction = held.test("reads_fraction", 1)
        bits = held.word("bits")
        self.last: Operand = Immediate(1)
        """What the fourth channel is where a texel has fewer: one."""
        if to_float:
            is_real = x.let("or.pred", self.is_float, self.is_fraction)
            self.last = x.let("selp.b32", Immediate(_ONE), Immediate(1), is_real)
        self.unused = x.let("sub.s32", Immediate(32), bits)
        one = Immediate(1)
        self.most = x.let("sub.s32", x.let("shl.b32", one, bits), one)
        half = x.let("sub.s32", bits, one)
        self.signed_most = x.let("sub.s32", x.let("shl.b32", one, half), one)
        size = held.word("texel_bytes")
        self.count = x.let("div.u32", x.let("shl.b32", size, Immediate(3)), bits)

    def channel(self, words: Sequence[Register], at: int) -> Operand:
        """A channel; of those that a texel has not the last is one, the others zero."""
        x = self.x
        # At the top of a word, then down again with its sign or without.
        word = x.let("selp.b32", words[at // 2], words[at], self.is_half)
        word = x.let("selp.b32", words[0], word, self.is_byte)
        shift = x.let("selp.b32", Immediate(16 - 16 * (at % 2)), Immediate(0), self.is_half)
        shift = x.let("selp.b32", Immediate(24 - 8 * at), shift, self.is_byte)
        top = x.let("shl.b32", word, shift)
        low = x.let("shr.u32", top, self.unused)
        signed = x.let("shr.s32", top, self.unused)
        number = x.let("selp.b32", signed, low, self.is_signed)
        if self.to_float:
            half = x.let("cvt.f32.f16", x.let("cvt.u16.u32", low))
            real = x.let("selp.b32", half, low, self.is_half)
            fraction = self._fraction(low, signed)
            number = x.let("selp.b32", fraction, number, self.is_fraction)
            number = x.let("selp.b32", real, number, self.is_float)
        missing = self.last if at == ALL_CHANNELS[-1] else Immediate(0)
        is_there = x.let("setp.gt.u32", self.count, Immediate(at))
        return x.let("selp.b32", number, missing, is_there)

    def _fraction(self, low: Register, signed: Register) -> Register:
        """Unsigned numbers as 0 to 1, signed ones as -1 to 1."""
        x = self.x
        positive = x.let(
            "div.rn.f32", x.let("cvt.rn.f32.u32", low), x.let("cvt.rn.f32.u32", self.most)
        )
        either = x.let(
            "div.rn.f32", x.let("cvt.rn.f32.s32", signed), x.let("cvt.rn.f32.s32", self.signed_most)
        )
        either = x.let("max.f32", either, Immediate(_MINUS_ONE))
        return x.let("selp.b32", either, positive, self.is_signed)


def _weighted(
    x: Steps,
    totals: Sequence[Operand],
    texel: Sequence[Operand],
    axes: Sequence[_Along],
    corner: Sequence[int],
    is_linear: Register,
) -> list[Operand]:
    """The sums with one texel more; where nothing is filtered the first is all of them."""
    weight: Operand = axes[0].weights[corner[0]]
    for axis, side in zip(axes[1:], corner[1:], strict=True):
        weight = x.let("mul.f32", weight, axis.weights[side])
    sums: list[Operand] = []
    for total, value in zip(totals, texel, strict=True):
        filtered = x.let("fma.rn.f32", weight, value, total)
        alone = value if not any(corner) else total
        sums.append(x.let("selp.b32", filtered, alone, is_linear))
    return sums


def _in_layer(held: LevelNumbers, address: Register, layer: Register) -> Register:
    """An address that many slices on."""
    x = held.x
    offset = x.let("mul.lo.u64", x.let("cvt.u64.u32", layer), held.wide("slice"))
    return x.let("add.u64", address, offset)


def surface_address(
    x: Steps,
    place: Address,
    coordinates: Sequence[Operand],
    layer: Operand | None,
    size_bytes: int,
    beyond: str,
) -> tuple[Address, Register]:
    """Where an element is, and whether it is there; beyond the edge a `trap` leads nowhere. The
    first coordinate counts bytes; one of no bytes is in texels."""
    held = LevelNumbers(x, place)
    size = held.word("texel_bytes")
    extents = [x.let("mul.lo.u32", held.word("x"), size), held.word("y"), held.word("z")]
    if not size_bytes:
        coordinates = [x.let("mul.lo.u32", coordinates[0], size), *coordinates[1:]]
    steps = (None, held.wide("pitch"), held.wide("slice"))
    along = list(zip(coordinates, extents, steps, strict=False))
    if layer is not None:
        along.append((layer, extents[2], steps[2]))
    address = held.wide("base")
    exists: Register | None = None
    for coordinate, extent, step in along:
        index = x.let("mov.b32", coordinate)
        least = Immediate(1) if step is not None else Immediate(size_bytes) if size_bytes else size
        last = x.let("sub.s32", extent, least)
        inside = x.let("setp.le.u32", index, last)
        if beyond == "clamp":
            index = x.let("min.s32", x.let("max.s32", index, Immediate(0)), last)
        exists = inside if exists is None else x.let("and.pred", exists, inside)
        wide = x.let("cvt.u64.u32", index)
        offset = wide if step is None else x.let("mul.lo.u64", wide, step)
        address = x.let("add.u64", address, offset)
    assert exists is not None
    if beyond == "trap":
        address = x.let("selp.b64", address, Immediate(0), exists)
    return Address(address, 0), exists
