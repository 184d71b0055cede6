"""How machine code names what it reads and writes by coordinates: textures and surfaces.

`TEX.LL RZ, R7, R6, R4, UR4, 0x0, ARRAY_2D, 0x1`: the channels of the mask (all four without one),
of which R7 and the register behind it take the first two and RZ the others; from R6 on a layer and
coordinates; a level of detail; and the texture. Up to compute capability 8.9 a texture is a word of
constant bank 0 (`0x0, 0x58`) or, with `.B`, the first register of the operand with the level; and
with `.SCR` half of the registers stand in the second operand. In gradients (`TXD`) and accesses to
surfaces the layer comes behind the coordinates, and with `.B` the texture before them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.operands import (
    AddressOperand,
    IntegerOperand,
    NameOperand,
    RegisterFile,
    RegisterOperand,
    SassOperand,
    SassRegister,
)

_TEXTURE_READS = ("TEX", "TLD", "TLD4", "TXD")
_SURFACE_ACCESSES = ("SULD", "SUST", "SURED")
_QUERY = "TXQ"
_HEADER = "TEX_HEADER_DIMENSION"
_RANKS = {"1D": 1, "2D": 2, "3D": 3, "CUBE": 3}
_LAYERED = "ARRAY_"
_SURFACES = {"1D": 1, "2D": 2, "3D": 3, "1D_ARRAY": 1, "2D_ARRAY": 2}
_ALL, _PAIR, _WORD_BYTES = 0xF, 2, 4
_SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "U64": 8, "S64": 8, "128": 16}
_COMPONENTS = "RGBA"
_TEXTURE_MODIFIERS = {"SCR", "B", "LL", "LZ", "CL"}
_SURFACE_MODIFIERS = {"D", "BA", "STRONG", "WEAK", "CTA", "SM", "GPU", "SYS", "TRAP", "IGN"}
_REDUCTIONS = {"ADD", "MIN", "MAX", "AND", "OR", "XOR", "INC", "DEC", "S32"}


@dataclass(frozen=True, slots=True)
class ByCoordinates:
    """What a read or write by coordinates names.

    Attributes
    ----------
    channels:
        Channels, by number, and the register of each; of surfaces, words.
    coordinates:
        Registers, x first.
    handle:
        The register that says which texture; or the offset in bytes of that word in constant
        bank 0.
    level:
        The level of detail, where there is one.
    layer:
        The register of the layer, where there are layers.
    gradients:
        How the first coordinate changes along x and along y of the picture, the next one, ...
    component:
        Of which channel four texels are read.
    is_cube:
        Whether coordinates are a direction.
    """

    channels: tuple[tuple[int, SassRegister], ...]
    coordinates: tuple[SassRegister, ...]
    handle: SassRegister | int
    level: SassRegister | None = None
    layer: SassRegister | None = None
    gradients: tuple[SassRegister, ...] = ()
    component: int | None = None
    is_cube: bool = False

    @property
    def reads(self) -> tuple[SassRegister, ...]:
        """Registers read but for data that are stored."""
        others = [self.level, self.layer, self.handle]
        found = (r for r in others if isinstance(r, SassRegister))
        return (*self.coordinates, *self.gradients, *found)


def by_coordinates(native: SassInstruction) -> ByCoordinates | None:
    """What the instruction names; None where its form is not known."""
    if native.opcode in _TEXTURE_READS:
        return _texture_read(native)
    if native.opcode == _QUERY:
        return _query(native)
    return _surface_access(native) if native.opcode in _SURFACE_ACCESSES else None


def surface_bytes(native: SassInstruction) -> int:
    """Bytes that a lane moves."""
    return next((_SIZES[m] for m in native.modifiers if m in _SIZES), _WORD_BYTES)


def _texture_read(native: SassInstruction) -> ByCoordinates | None:
    operands, modifiers = list(native.operands), list(native.modifiers)
    component = _component(modifiers) if native.opcode == "TLD4" else None
    mask = _mask(operands)
    shape = operands.pop()
    if not isinstance(shape, NameOperand) or not set(modifiers) <= _TEXTURE_MODIFIERS:
        return None
    rank, is_layered = _RANKS.get(shape.name.removeprefix(_LAYERED)), _LAYERED in shape.name
    if rank is None or (native.opcode == "TLD4") != (component is not None):
        return None
    channels = _channels(operands[1], operands[0], mask)
    rest, layers, is_bindless = operands[2:], int(is_layered), "B" in modifiers
    if native.opcode == "TXD":
        split = _split(rest, [is_bindless + rank + layers, 2 * rank], 0 if is_bindless else None)
        if channels is None or split is None:
            return None
        handle, words = split
        layer, gradients = words[rank] if layers else None, words[rank + layers :]
        return ByCoordinates(channels, words[:rank], handle, None, layer, gradients)
    level = int("LL" in modifiers)
    shares = _shares(modifiers, layers + rank, level)
    split = _split(rest, shares, 1 if is_bindless else None)
    if channels is None or split is None:
        return None
    handle, words = split
    return ByCoordinates(
        channels,
        words[layers : layers + rank],
        handle,
        words[-1] if level else None,
        words[0] if layers else None,
        (),
        component,
        "CUBE" in shape.name,
    )


def _component(modifiers: list[str]) -> int | None:
    """Takes the modifier that says which channel is gathered, of two `.B` one: the other says that
    a register holds the texture."""
    found = next((m for m in modifiers if m in _COMPONENTS), None)
    if found is None:
        return None
    modifiers.remove(found)
    return _COMPONENTS.index(found)


def _mask(operands: list[SassOperand]) -> int:
    """Takes the mask, where there is one."""
    last = operands[-1]
    if isinstance(last, IntegerOperand):
        operands.pop()
        return last.value
    return _ALL


def _channels(
    first: SassOperand, others: SassOperand, mask: int
) -> tuple[tuple[int, SassRegister], ...] | None:
    """The channels of a mask: two go to the first registers, the rest to the others."""
    held = [n for n in range(4) if mask >> n & 1]
    targets = [*_from(first, len(held[:_PAIR])), *_from(others, len(held[_PAIR:]))]
    return tuple(zip(held, targets, strict=True)) if len(held) == len(targets) else None


def _shares(modifiers: list[str], words: int, level: int) -> list[int]:
    """How many registers begin at each operand."""
    is_bindless, total = "B" in modifiers, words + level
    if "SCR" not in modifiers:
        return [words, is_bindless + level]
    if is_bindless:
        return [min(total, _PAIR), 1 + max(total - _PAIR, 0)]
    return [-(-total // 2), total // 2]


def _split(
    rest: list[SassOperand], shares: list[int], bindless: int | None
) -> tuple[SassRegister | int, tuple[SassRegister, ...]] | None:
    """The texture, and the registers of operands at which so many begin each; of the operand that
    is `bindless` the first is the texture."""
    shares = [share for share in shares if share]
    given, rest = rest[: len(shares)], rest[len(shares) :]
    if len(given) < len(shares) or not all(map(_is_vector_register, given)):
        return None
    parts = [_from(operand, share) for operand, share in zip(given, shares, strict=True)]
    handle = _handle(rest)
    if bindless is not None:
        handle = None if rest else parts[bindless].pop(0)
    return None if handle is None else (handle, tuple(r for part in parts for r in part))


def _query(native: SassInstruction) -> ByCoordinates | None:
    """`TXQ RZ, R9, R8, TEX_HEADER_DIMENSION, UR4, 0x0, 0x1`: extents of level R8."""
    operands = list(native.operands)
    mask = _mask(operands)
    if len(operands) < 4 or operands[3] != NameOperand(_HEADER):
        return None
    others, first, level, _, *rest = operands
    is_bindless = "B" in native.modifiers
    split = _split([level, *rest], [1 + is_bindless], 0 if is_bindless else None)
    channels = _channels(first, others, mask)
    if split is None or channels is None or set(native.modifiers) > {"B"}:
        return None
    handle, (register,) = split
    return ByCoordinates(channels, (), handle, register)


def _surface_access(native: SassInstruction) -> ByCoordinates | None:
    operands, modifiers = list(native.operands), set(native.modifiers)
    shape = next((m for m in native.modifiers if m in _SURFACES), None)
    is_reduction = native.opcode == "SURED"
    known = {*_SURFACE_MODIFIERS, *_SIZES, *_SURFACES, *(_REDUCTIONS if is_reduction else ())}
    needed = {"D"} if is_reduction else {"D", "BA"}
    if shape is None or not needed <= modifiers <= known:
        return None
    place = operands.pop(1 if native.opcode == "SULD" else 0)
    data = operands.pop(0)
    handle = _handle(operands)
    if handle is None or not isinstance(place, AddressOperand) or len(place.registers) != 1:
        return None
    rank, is_layered = _SURFACES[shape], shape.endswith("ARRAY")
    words = max(surface_bytes(native) // _WORD_BYTES, 1)
    given = _from(place.registers[0], rank + is_layered)
    return ByCoordinates(
        tuple(enumerate(_from(data, words))),
        tuple(given[:rank]),
        handle,
        layer=given[rank] if is_layered else None,
    )


def _handle(rest: list[SassOperand]) -> SassRegister | int | None:
    match rest:
        case [RegisterOperand(register)] | [RegisterOperand(register), IntegerOperand(0)]:
            return register
        case [IntegerOperand(0), IntegerOperand(word)]:
            return _WORD_BYTES * word
    return None


def _is_vector_register(operand: SassOperand) -> bool:
    return isinstance(operand, RegisterOperand) and operand.register.file is RegisterFile.GENERAL


def _from(operand: SassOperand, count: int) -> list[SassRegister]:
    """`count` registers from one on; RZ stands for as many."""
    if not isinstance(operand, RegisterOperand):
        return []
    file, number = operand.register.file, operand.register.number
    return [SassRegister(file, None if number is None else number + n) for n in range(count)]
