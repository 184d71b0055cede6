"""Reads and writes of textures and surfaces by coordinates (PTX ISA 9.0, 9.7.10 and 9.7.11)."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Address, Immediate, Operand, Register, Vector
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning
from kernelcast.isas.ptx.texels import read_texel, surface_address

_RANKS = {"1d": 1, "2d": 2, "3d": 3}


_LEVELS = {"level": 1, "grad": 2}
"""Ways to say which level of a texture is read, and how many operands they take."""


def _fetch(x: PtxLift) -> None:
    """`tex.2d.v4.f32.f32 d, [texture, {x, y}]`, with `level` of a level behind it, or `grad` of two
    gradients: of one level, what all textures have, neither changes what is read."""
    words = [word for word in x.modifiers if word not in _LEVELS]
    if len(words) != 4 or words[0] not in _RANKS or words[1] != "v4":
        raise x.refuse()
    to_float, from_float = words[2] == "f32", words[3] == "f32"
    if words[2] not in ("f32", "s32", "u32") or words[3] not in ("f32", "s32"):
        raise x.refuse()
    result, place, coordinates = x.take(), x.take_address(), _coordinates(x, _RANKS[words[0]])
    for word in x.modifiers:
        for _ in range(_LEVELS.get(word, 0)):
            x.take()
    if not isinstance(result, Vector) or not isinstance(place.base, Register):
        raise x.refuse()
    totals = read_texel(x, place, coordinates, from_float=from_float, to_float=to_float)
    for target, value in zip(result.elements, totals, strict=True):
        x.do("mov.b32", target, value, guard=x.guard)


def _coordinates(x: PtxLift, rank: int) -> Sequence[Operand]:
    """As many coordinates as there are dimensions; a vector of them has 1, 2 or 4."""
    first = x.take()
    elements = first.elements if isinstance(first, Vector) else (first,)
    if len(elements) < rank:
        raise x.refuse()
    return elements[:rank]


def _load(x: PtxLift) -> None:
    """`suld.b.2d.v4.b8.trap d, [surface, {x, y}]`, where x counts bytes."""
    rank, type_, beyond = _surface_form(x)
    result, place = x.take(), x.take_address()
    address, exists = _surface_address(x, rank, place, type_, beyond)
    if beyond == "zero":
        targets = result.elements if isinstance(result, Vector) else (result,)
        for target in targets:
            assert isinstance(target, Register)
            x.do(f"mov.{target.type}", target, Immediate(0), guard=x.guard)
    guard = x.both(x.guard, exists) if beyond == "zero" else x.guard
    x.do(f"ld.global.{type_}", result, address, guard=guard)


def _store(x: PtxLift) -> None:
    """`sust.b.2d.v4.b8.trap [surface, {x, y}], values`."""
    rank, type_, beyond = _surface_form(x)
    place = x.take_address()
    address, exists = _surface_address(x, rank, place, type_, beyond)
    guard = x.both(x.guard, exists) if beyond == "zero" else x.guard
    x.do(f"st.global.{type_}", address, x.take(), guard=guard)


def _surface_form(x: PtxLift) -> tuple[int, str, str]:
    """Dimensions, what is moved, such as `v4.b8`, and what happens beyond the edge."""
    words = x.modifiers
    if len(words) < 4 or words[0] != "b" or words[1] not in _RANKS:
        raise x.refuse()
    if words[-1] not in ("trap", "clamp", "zero"):
        raise x.refuse()
    return _RANKS[words[1]], ".".join(words[2:-1]), words[-1]


def _surface_bytes(type_: str) -> int:
    *vector, element = type_.split(".")
    return int(element[1:]) // 8 * (int(vector[0][1:]) if vector else 1)


def _surface_address(
    x: PtxLift, rank: int, place: Address, type_: str, beyond: str
) -> tuple[Address, Register]:
    if not isinstance(place.base, Register):
        raise x.refuse()
    return surface_address(x, place, _coordinates(x, rank), _surface_bytes(type_), beyond)


MEANINGS: dict[str, PtxMeaning] = {"tex": _fetch, "suld": _load, "sust": _store}
