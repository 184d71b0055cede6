"""Reads and writes of textures and surfaces by coordinates (PTX ISA 9.0, 9.7.10 and 9.7.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelcast.ir import Address, Guard, Immediate, Operand, Register, Vector
from kernelcast.isas.ptx.levels import TextureRead, gather_texture, read_texture
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning
from kernelcast.isas.ptx.queries import query
from kernelcast.isas.ptx.texels import TexelPlace, surface_address


@dataclass(frozen=True, slots=True)
class _Coordinates:
    """How many coordinates name a texel, and whether a layer stands before them."""

    coordinates: int
    is_layered: bool = False
    is_cube: bool = False


_SHAPES = {
    "1d": _Coordinates(1),
    "2d": _Coordinates(2),
    "3d": _Coordinates(3),
    "a1d": _Coordinates(1, is_layered=True),
    "a2d": _Coordinates(2, is_layered=True),
    "cube": _Coordinates(3, is_cube=True),
    "acube": _Coordinates(3, is_layered=True, is_cube=True),
}
_LEVELS = {"level": 1, "grad": 2}
"""Ways to say which level of a texture is read, and how many operands they take."""

_COMPONENTS = "rgba"
_TEXELS = ("f32", "s32", "u32")
_BEYOND = ("trap", "clamp", "zero")


def _fetch(x: PtxLift) -> None:
    """`tex.2d.v4.f32.f32 d, [texture, {x, y}]`, with `level` of a level behind it, or `grad` of two
    gradients."""
    ways = [word for word in x.modifiers if word in _LEVELS]
    words = [word for word in x.modifiers if word not in _LEVELS]
    result, place, read = _read(x, words)
    level, gradients = None, None
    if ways == ["level"]:
        level = x.take()
    elif ways == ["grad"]:
        gradients = _elements(x.take()), _elements(x.take())
    elif ways:
        raise x.refuse()
    _deliver(x, result, read_texture(x, place, replace(read, level=level, gradients=gradients)))


def _gather(x: PtxLift) -> None:
    """`tld4.r.2d.v4.f32.f32 d, [texture, {x, y}]`: a component of four texels."""
    component, *words = x.modifiers
    if component not in _COMPONENTS:
        raise x.refuse()
    result, place, read = _read(x, words)
    _deliver(x, result, gather_texture(x, place, read, _COMPONENTS.index(component)))


def _read(x: PtxLift, words: Sequence[str]) -> tuple[Vector, Address, TextureRead]:
    """Where the channels go, the texture, and what is read of it."""
    if len(words) != 4 or words[0] not in _SHAPES or words[1] != "v4":
        raise x.refuse()
    if words[2] not in _TEXELS or words[3] not in ("f32", "s32"):
        raise x.refuse()
    shape = _SHAPES[words[0]]
    result, place = x.take(), x.take_address()
    if not isinstance(result, Vector) or not isinstance(place.base, Register):
        raise x.refuse()
    coordinates, layer = _coordinates(x, shape)
    at = TexelPlace(coordinates, from_float=words[3] == "f32", layer=layer)
    return result, place, TextureRead(at, words[2] == "f32", shape.is_cube)


def _deliver(x: PtxLift, result: Vector, values: Sequence[Operand]) -> None:
    for target, value in zip(result.elements, values, strict=True):
        x.do("mov.b32", target, value, guard=x.guard)


def _coordinates(x: PtxLift, shape: _Coordinates) -> tuple[Sequence[Operand], Operand | None]:
    """As many coordinates as there are dimensions, and the layer before them; a vector of them has
    1, 2 or 4."""
    elements = _elements(x.take())
    layer = elements[0] if shape.is_layered else None
    given = elements[shape.is_layered :][: shape.coordinates]
    if len(given) < shape.coordinates:
        raise x.refuse()
    return given, layer


def _elements(operand: Operand) -> Sequence[Operand]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _query(x: PtxLift) -> None:
    """`txq.width.b32 d, [texture]`, with `level` of the level behind it, and `suq`."""
    words = [word for word in x.modifiers if word != "level"]
    target, place = x.take(), x.take_address()
    level = x.take() if "level" in x.modifiers else None
    if len(words) != 2 or not isinstance(place.base, Register):
        raise x.refuse()
    answer = query(x, place, words[0], level)
    if answer is None:
        raise x.refuse()
    x.do("mov.b32", target, answer, guard=x.guard)


def _load(x: PtxLift) -> None:
    """`suld.b.2d.v4.b8.trap d, [surface, {x, y}]`, where x counts bytes."""
    shape, type_, beyond = _surface_form(x)
    result = x.take()
    address, exists = _surface_address(x, shape, _bytes_of(type_), beyond)
    if beyond == "zero":
        targets = result.elements if isinstance(result, Vector) else (result,)
        for target in targets:
            assert isinstance(target, Register)
            x.do(f"mov.{target.type}", target, Immediate(0), guard=x.guard)
    x.do(f"ld.global.{type_}", result, address, guard=_there(x, beyond, exists))


def _store(x: PtxLift) -> None:
    """`sust.b.2d.v4.b8.trap [surface, {x, y}], values`."""
    shape, type_, beyond = _surface_form(x)
    address, exists = _surface_address(x, shape, _bytes_of(type_), beyond)
    x.do(f"st.global.{type_}", address, x.take(), guard=_there(x, beyond, exists))


def _reduce(x: PtxLift) -> None:
    """`sured.b.add.2d.u32.trap [surface, {x, y}], value`; with `p` in place of `b` x counts texels,
    where no order among them matters."""
    unit, operation, *words = x.modifiers
    known = {"b": ("add", "min", "max", "and", "or"), "p": ("add", "and", "or")}
    if operation not in known.get(unit, ()):
        raise x.refuse()
    shape, type_, beyond = _form(x, words)
    address, exists = _surface_address(x, shape, _bytes_of(type_) if unit == "b" else 0, beyond)
    kind = type_.replace("b", "u") if operation == "add" else type_
    x.do(f"red.global.{operation}.{kind}", address, x.take(), guard=_there(x, beyond, exists))


def _surface_form(x: PtxLift) -> tuple[_Coordinates, str, str]:
    """The shape, what is moved, such as `v4.b8`, and what happens beyond the edge."""
    if x.modifiers[:1] != ("b",):
        raise x.refuse()
    return _form(x, x.modifiers[1:])


def _form(x: PtxLift, words: Sequence[str]) -> tuple[_Coordinates, str, str]:
    if len(words) < 3 or words[0] not in _SHAPES or words[-1] not in _BEYOND:
        raise x.refuse()
    shape = _SHAPES[words[0]]
    if shape.is_cube:
        raise x.refuse()
    return shape, ".".join(words[1:-1]), words[-1]


def _bytes_of(type_: str) -> int:
    *vector, element = type_.split(".")
    return int(element[1:]) // 8 * (int(vector[0][1:]) if vector else 1)


def _surface_address(
    x: PtxLift, shape: _Coordinates, size_bytes: int, beyond: str
) -> tuple[Address, Register]:
    place = x.take_address()
    if not isinstance(place.base, Register):
        raise x.refuse()
    coordinates, layer = _coordinates(x, shape)
    return surface_address(x, place, coordinates, layer, size_bytes, beyond)


def _there(x: PtxLift, beyond: str, exists: Register) -> Guard | None:
    """The lanes that access memory: where nothing is done beyond the edge, those within."""
    return x.both(x.guard, exists) if beyond == "zero" else x.guard


MEANINGS: dict[str, PtxMeaning] = {
    "tex": _fetch,
    "tld4": _gather,
    "txq": _query,
    "suq": _query,
    "suld": _load,
    "sust": _store,
    "sured": _reduce,
}
