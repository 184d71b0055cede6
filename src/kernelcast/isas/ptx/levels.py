"""Which levels of detail of a texture a read takes, and faces of cubes, in steps of PTX.

The level follows from what the instruction says, or from how far the coordinates of neighbours lie
apart, as in Vulkan 1.3, 16.6.7, without anisotropy: lambda = log2(max(|du|, |dv|)), where du and dv
are the two gradients in texels; then the bias is added, and what comes is kept between the least
and the most. Between two levels the weight has 8 bits of fraction, as within one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelcast.ir import Address, Immediate, Operand, Register
from kernelcast.ir.texture import CUBE_FACES, DESCRIPTOR_BYTES
from kernelcast.isas.ptx.steps import Steps
from kernelcast.isas.ptx.texels import (
    ALL_CHANNELS,
    LevelNumbers,
    TexelPlace,
    filtered,
    gathered,
    in_steps,
)

_HALF, _SIGN = 0x3F000000, 0x80000000


@dataclass(frozen=True)
class TextureRead:
    """A read of a texture.

    Attributes
    ----------
    at:
        What coordinates name; of a cube a direction, and a layer is one of its layers.
    is_cube:
        Whether the texture is one.
    level:
        The level of detail, a number, or a whole one where the coordinates are; None is the first.
    gradients:
        How the coordinates change along x and along y of the picture, in place of a level.
    to_float:
        Whether the reader takes channels for floating point where the descriptor says so.
    """

    at: TexelPlace
    to_float: bool
    is_cube: bool = False
    level: Operand | None = None
    gradients: tuple[Sequence[Operand], Sequence[Operand]] | None = None


def read_texture(
    x: Steps, place: Address, read: TextureRead, channels: Sequence[int] = ALL_CHANNELS
) -> list[Operand]:
    """Some of the four channels of what a read gives."""
    first = LevelNumbers(x, place)
    if read.is_cube:
        read = _on_face(first, read)
    level, share = _level(first, read)
    upper = filtered(
        _at_level(x, place, level), read.at, x.guard, to_float=read.to_float, channels=channels
    )
    if share is None:
        return upper
    is_mixed = x.let("and.pred", _has_levels(first), first.test("is_linear_between", 1))
    following = x.let("add.u32", level, Immediate(1))
    last = x.let("sub.u32", first.word("levels"), Immediate(1))
    below = x.let("selp.b32", x.let("min.u32", following, last), Immediate(0), is_mixed)
    guard = x.both(x.guard, is_mixed)
    lower = filtered(
        _at_level(x, place, below), read.at, guard, to_float=read.to_float, channels=channels
    )
    return [_mixed(x, a, b, share, is_mixed) for a, b in zip(upper, lower, strict=True)]


def gather_texture(x: Steps, place: Address, read: TextureRead, channel: int) -> list[Operand]:
    """A channel of the four texels that linear filtering would read in the first level."""
    held = LevelNumbers(x, place)
    if read.is_cube:
        read = _on_face(held, read)
    return gathered(held, read.at, x.guard, channel, to_float=read.to_float)


def at_level(x: Steps, place: Address, level: Operand) -> LevelNumbers:
    """The descriptor of a level; past the end it is the last."""
    held = LevelNumbers(x, place)
    last = x.let("sub.u32", held.word("levels"), Immediate(1))
    return _at_level(x, place, x.let("min.u32", level, last))


def _mixed(x: Steps, a: Operand, b: Operand, share: Operand, is_mixed: Register) -> Register:
    between = x.let("fma.rn.f32", share, x.let("sub.f32", b, a), a)
    return x.let("selp.b32", between, a, is_mixed)


def _has_levels(held: LevelNumbers) -> Register:
    return held.x.let("setp.gt.u32", held.word("levels"), Immediate(1))


def _at_level(x: Steps, place: Address, level: Register) -> LevelNumbers:
    base = place.base
    assert isinstance(base, Register)
    offset = x.let("mul.lo.u32", level, Immediate(DESCRIPTOR_BYTES))
    if base.type.endswith("64"):
        offset = x.let("cvt.u64.u32", offset)
    kind = "u64" if base.type.endswith("64") else "u32"
    return LevelNumbers(x, Address(x.let(f"add.{kind}", base, offset), place.offset))


def _level(held: LevelNumbers, read: TextureRead) -> tuple[Register, Register | None]:
    """The level that is read, and the share of the next one where two may be mixed."""
    x = held.x
    has_levels = _has_levels(held)
    last = x.let("sub.u32", held.word("levels"), Immediate(1))
    if not read.at.from_float:
        given = read.level if read.level is not None else Immediate(0)
        whole = x.let("min.s32", x.let("max.s32", given, Immediate(0)), last)
        return x.let("selp.b32", whole, Immediate(0), has_levels), None
    least = held.word("least")
    detail: Operand = least
    if read.gradients is not None:
        detail = _apart(held, read.at.coordinates, read.gradients)
    elif read.level is not None:
        detail = read.level
    biased = x.let("add.f32", detail, held.word("bias"))
    kept = x.let("min.f32", x.let("max.f32", biased, least), held.word("most"))
    end = x.let("cvt.rn.f32.u32", last)
    kept = x.let("min.f32", x.let("max.f32", kept, Immediate(0)), end)
    is_mixed = held.test("is_linear_between", 1)
    nearest = x.let("add.f32", kept, Immediate(_HALF))
    start = x.let("selp.b32", kept, nearest, is_mixed)
    whole = x.let("cvt.rmi.f32.f32", start)
    level = x.let("selp.b32", x.let("cvt.rzi.u32.f32", whole), Immediate(0), has_levels)
    if read.level is None and read.gradients is None:
        return level, None
    return level, in_steps(x, x.let("sub.f32", kept, whole))


def _apart(
    held: LevelNumbers,
    coordinates: Sequence[Operand],
    gradients: tuple[Sequence[Operand], Sequence[Operand]],
) -> Register:
    """The logarithm of how many texels the neighbour further apart is away."""
    x = held.x
    squares: list[Operand] = []
    for gradient in gradients:
        total: Operand = Immediate(0)
        for axis, (_, part) in enumerate(zip(coordinates, gradient, strict=False)):
            extent = x.let("cvt.rn.f32.u32", held.word("xyz"[axis]))
            texels = x.let("mul.f32", part, extent)
            total = x.let("fma.rn.f32", texels, texels, total)
        squares.append(total)
    logarithm = x.let("lg2.approx.f32", x.let("max.f32", *squares))
    return x.let("mul.f32", logarithm, Immediate(_HALF))


def _on_face(held: LevelNumbers, read: TextureRead) -> TextureRead:
    """The place on the face of a cube that a direction meets (CUDA C++ Programming Guide, cubemap
    textures): its longest part m chooses the face, and the place is ((s/m + 1)/2, (t/m + 1)/2)."""
    x = held.x
    direction = read.at.coordinates
    face = _Face(x, direction)
    s, t, m = face.parts(direction)
    inverse = x.let("div.rn.f32", Immediate(_HALF), m)
    place = [x.let("fma.rn.f32", part, inverse, Immediate(_HALF)) for part in (s, t)]
    number: Operand = face.number
    if read.at.layer is not None:
        # Six faces are a layer; past the end it is the last.
        count = x.let("div.u32", held.word("z"), Immediate(CUBE_FACES))
        cube = x.let("min.u32", read.at.layer, x.let("sub.u32", count, Immediate(1)))
        number = x.let("add.u32", x.let("mul.lo.u32", cube, Immediate(CUBE_FACES)), number)
    gradients = read.gradients
    if gradients is not None:
        along = [_along_face(x, (s, t, m), face.parts(each)) for each in gradients]
        gradients = along[0], along[1]
    return replace(
        read,
        at=TexelPlace(place, from_float=True, layer=number, is_face=True),
        gradients=gradients,
        is_cube=False,
    )


class _Face:
    """The face of a cube that a direction meets: which one, and the parts of vectors along it."""

    def __init__(self, x: Steps, direction: Sequence[Operand]) -> None:
        self.x = x
        longest = [x.let("abs.f32", part) for part in direction]
        is_x = x.let("setp.ge.f32", longest[0], longest[1])
        self.is_x = x.let("and.pred", is_x, x.let("setp.ge.f32", longest[0], longest[2]))
        self.is_y = x.let("setp.ge.f32", longest[1], longest[2])
        self.is_negative = x.let("setp.lt.f32", self._major(direction), Immediate(0))
        axis = x.let("selp.b32", Immediate(2), Immediate(4), self.is_y)
        axis = x.let("selp.b32", Immediate(0), axis, self.is_x)
        odd = x.let("selp.b32", Immediate(1), Immediate(0), self.is_negative)
        self.number = x.let("add.u32", axis, odd)

    def parts(self, vector: Sequence[Operand]) -> tuple[Register, Register, Register]:
        """s, t and m of a vector: of the faces x, -x, y, -y, z and -z in turn (-z, -y, x),
        (z, -y, -x), (x, z, y), (x, -z, -y), (x, -y, z) and (-x, -y, -z)."""
        x, _, z = vector
        minus_x, minus_y, minus_z = (self._minus(part) for part in vector)
        s = self._chosen(self._either(minus_z, z), x, self._either(x, minus_x))
        t = self._chosen(minus_y, self._either(z, minus_z), minus_y)
        major = self._major(vector)
        return s, t, self._either(major, self._minus(major))

    def _major(self, vector: Sequence[Operand]) -> Register:
        return self._chosen(*vector)

    def _chosen(self, of_x: Operand, of_y: Operand, of_z: Operand) -> Register:
        other = self.x.let("selp.b32", of_y, of_z, self.is_y)
        return self.x.let("selp.b32", of_x, other, self.is_x)

    def _either(self, positive: Operand, negative: Operand) -> Register:
        return self.x.let("selp.b32", negative, positive, self.is_negative)

    def _minus(self, part: Operand) -> Register:
        return self.x.let("xor.b32", part, Immediate(_SIGN))


def _along_face(
    x: Steps, at: Sequence[Register], change: Sequence[Register]
) -> tuple[Register, Register]:
    """How s/m/2 and t/m/2 change with the direction: (ds m - s dm) / (2 m m)."""
    *places, m = at
    *changes, dm = change
    square = x.let("mul.f32", m, m)
    found = []
    for place, ds in zip(places, changes, strict=True):
        crossed = x.let("neg.f32", x.let("mul.f32", place, dm))
        top = x.let("fma.rn.f32", ds, m, crossed)
        found.append(x.let("mul.f32", x.let("div.rn.f32", top, square), Immediate(_HALF)))
    return found[0], found[1]
