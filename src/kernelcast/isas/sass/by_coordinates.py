"""How machine code names what it reads and writes by coordinates: textures and surfaces.

`TEX.LL RZ, R7, R6, R4, UR4, 0x0, 2D, 0x1`: the channels of the mask (all four without one), of
which R7 and the register behind it take the first two and RZ the others; coordinates from R6 on, a
level of detail, and the texture. Up to compute capability 8.9 registers of coordinates come in
pairs, the level behind them in the second one, and a texture is a word of constant bank 0
(`0x0, 0x58`) or, with `.B`, the first register of the second pair.
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

_TEXTURE_READS = ("TEX", "TLD")
_SURFACE_ACCESSES = ("SULD", "SUST")
_RANKS = {"1D": 1, "2D": 2, "3D": 3}
_ALL, _PAIR, _WORD_BYTES = 0xF, 2, 4
_SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_TEXTURE_MODIFIERS = {"SCR", "B", "LL", "LZ"}
_SURFACE_MODIFIERS = {"D", "BA", "STRONG", "WEAK", "CTA", "SM", "GPU", "SYS", "TRAP", "IGN"}


@dataclass(frozen=True, slots=True)
class ByCoordinates:
    """What a read or write by coordinates names.

    Attributes
    ----------
    channels:
        Channels, by number, and the register of each; of surfaces, words.
    coordinates:
        Registers, x first.
    level:
        The level of detail, where there is one.
    handle:
        The register that says which texture; or the offset in bytes of that word in constant
        bank 0.
    """

    channels: tuple[tuple[int, SassRegister], ...]
    coordinates: tuple[SassRegister, ...]
    level: SassRegister | None
    handle: SassRegister | int

    @property
    def reads(self) -> tuple[SassRegister, ...]:
        """Registers read but for data that are stored."""
        others = [self.level, self.handle]
        return (*self.coordinates, *(r for r in others if isinstance(r, SassRegister)))


def by_coordinates(native: SassInstruction) -> ByCoordinates | None:
    """What the instruction names; None where its form is not known."""
    if native.opcode in _TEXTURE_READS:
        return _texture_read(native)
    return _surface_access(native) if native.opcode in _SURFACE_ACCESSES else None


def surface_bytes(native: SassInstruction) -> int:
    """Bytes that a lane moves."""
    return next((_SIZES[m] for m in native.modifiers if m in _SIZES), _WORD_BYTES)


def _texture_read(native: SassInstruction) -> ByCoordinates | None:
    operands, modifiers = list(native.operands), set(native.modifiers)
    mask = _ALL
    last = operands[-1]
    if isinstance(last, IntegerOperand):
        mask = last.value
        operands.pop()
    shape = operands.pop()
    rank = _RANKS.get(shape.name) if isinstance(shape, NameOperand) else None
    if rank is None or not modifiers <= _TEXTURE_MODIFIERS:
        return None
    others, first, coordinates, *rest = operands
    held = [n for n in range(4) if mask >> n & 1]
    targets = [*_from(first, len(held[:2])), *_from(others, len(held[2:]))]
    second: list[SassOperand] = []
    while rest and _is_vector_register(rest[0]):
        second.append(rest.pop(0))
    has_level = "LL" in modifiers
    handle: SassRegister | int | None
    if rest and isinstance(rest[0], RegisterOperand):
        handle = _handle(rest)
        given, levels = _from(coordinates, rank), [r for o in second for r in _from(o, 1)]
    elif "B" in modifiers:
        if rank > _PAIR or len(second) != 1 or rest:
            return None
        handle, *levels = _from(second[0], 2 if has_level else 1)
        given = _from(coordinates, rank)
    else:
        handle = _handle(rest)
        beyond = [r for o in second for r in _from(o, max(rank - _PAIR, 0) + has_level)]
        given = [*_from(coordinates, min(rank, _PAIR)), *beyond][:rank]
        levels = beyond[max(rank - _PAIR, 0) :]
    if handle is None or len(given) != rank or len(targets) != len(held):
        return None
    level = levels[0] if levels else None
    return ByCoordinates(tuple(zip(held, targets, strict=True)), tuple(given), level, handle)


def _surface_access(native: SassInstruction) -> ByCoordinates | None:
    operands, modifiers = list(native.operands), set(native.modifiers)
    rank = next((_RANKS[m] for m in native.modifiers if m in _RANKS), None)
    known = {*_SURFACE_MODIFIERS, *_SIZES, *_RANKS}
    if rank is None or not {"D", "BA"} <= modifiers <= known:
        return None
    place = operands.pop(0 if native.opcode == "SUST" else 1)
    data = operands.pop(0)
    handle = _handle(operands)
    if handle is None or not isinstance(place, AddressOperand) or len(place.registers) != 1:
        return None
    words = max(surface_bytes(native) // _WORD_BYTES, 1)
    coordinates = _from(place.registers[0], rank)
    return ByCoordinates(tuple(enumerate(_from(data, words))), tuple(coordinates), None, handle)


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
