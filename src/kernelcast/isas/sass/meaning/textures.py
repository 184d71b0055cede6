"""Reads and writes by coordinates: textures and surfaces."""

from __future__ import annotations

from kernelcast.ir import Address, Guard, Immediate, Operand, Register
from kernelcast.isas.ptx.levels import TextureRead, gather_texture, read_texture
from kernelcast.isas.ptx.queries import query
from kernelcast.isas.ptx.texels import TexelPlace, surface_address
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.by_coordinates import ByCoordinates, by_coordinates, surface_bytes
from kernelcast.isas.sass.meaning.lift import SassLift, ir_register
from kernelcast.isas.sass.meaning.memory import load_words, store_words

_CONSTANTS = 0
_HEADER = ("width", "height", "depth", "num_mipmap_levels")
"""What a header says of a texture, by the bits of a mask."""

_REDUCTIONS = {m: m.lower() for m in ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")}


def _read(x: SassLift) -> None:
    """`TEX` by numbers, `TXD` with gradients, `TLD` by whole ones: the channels of the mask."""
    form = _form(x)
    channels = [channel for channel, _ in form.channels]
    _deliver(x, form, read_texture(x, _place(x, form), _texture_read(x, form), channels))


def _gather(x: SassLift) -> None:
    """`TLD4.R`: a channel of four texels, those of the mask."""
    form = _form(x)
    assert form.component is not None
    values = gather_texture(x, _place(x, form), _texture_read(x, form), form.component)
    _deliver(x, form, [values[texel] for texel, _ in form.channels])


def _texture_read(x: SassLift, form: ByCoordinates) -> TextureRead:
    at = TexelPlace(
        _values(form.coordinates),
        from_float=x.native.opcode != "TLD",
        layer=None if form.layer is None else _value(form.layer),
    )
    gradients = _values(form.gradients)
    return TextureRead(
        at,
        to_float=True,
        is_cube=form.is_cube,
        level=None if form.level is None else _value(form.level),
        gradients=(gradients[::2], gradients[1::2]) if gradients else None,
    )


def _query(x: SassLift) -> None:
    """`TXQ d, level, TEX_HEADER_DIMENSION, texture`: extents, those of the mask."""
    form = _form(x)
    assert form.level is not None
    level, place = _value(form.level), _place(x, form)
    answers = [query(x, place, _HEADER[number], level) for number, _ in form.channels]
    _deliver(x, form, [answer or Immediate(0) for answer in answers])


def _deliver(x: SassLift, form: ByCoordinates, values: list[Operand]) -> None:
    for (_, target), value in zip(form.channels, values, strict=True):
        register = ir_register(target)
        if register is not None:
            x.do("mov.b32", register, value, guard=x.guard)


def _load(x: SassLift) -> None:
    """`SULD.D.BA.2D.TRAP d, [x, y], surface`, where x counts bytes; beyond the edge with `.TRAP` it
    fails, with `.IGN` it reads zeros, with neither what is nearest."""
    where, guard = _surface(x)
    if x.has("IGN"):
        for _, register in _form(x).channels:
            zeroed = ir_register(register)
            if zeroed is not None:
                x.do("mov.b32", zeroed, Immediate(0), guard=x.guard)
    load_words(x, "ld.global", x.native.operands[0], where, guard)


def _store(x: SassLift) -> None:
    """`SUST.D.BA.2D.TRAP [x, y], a, surface`: the counterpart; `.IGN` drops what lies beyond."""
    where, guard = _surface(x)
    store_words(x, "st.global", where, x.native.operands[1], guard)


def _reduce(x: SassLift) -> None:
    """`SURED.D.BA.2D.ADD [x, y], a, surface`; without `.BA` x counts texels."""
    operation = next((name for m, name in _REDUCTIONS.items() if x.has(m)), None)
    if operation is None:
        raise x.refuse()
    where, guard = _surface(x)
    bits = 8 * surface_bytes(x.native)
    kind = "b" if operation in ("and", "or", "xor") else "s" if x.has(f"S{bits}") else "u"
    value = x.native.operands[1]
    given = x.u64(value) if bits == 64 else x.b32(value)
    x.do(f"red.global.{operation}.{kind}{bits}", where, given, guard=guard)


def _surface(x: SassLift) -> tuple[Address, Guard | None]:
    """The address, and the lanes that access it."""
    form = _form(x)
    beyond = "trap" if x.has("TRAP") else "zero" if x.has("IGN") else "clamp"
    where, exists = surface_address(
        x,
        _place(x, form),
        _values(form.coordinates),
        None if form.layer is None else _value(form.layer),
        surface_bytes(x.native) if x.has("BA") else 0,
        beyond,
    )
    return where, x.both(x.guard, exists) if beyond == "zero" else x.guard


def _form(x: SassLift) -> ByCoordinates:
    form = by_coordinates(x.native)
    if form is None:
        raise x.refuse()
    return form


def _values(registers: tuple[sass.SassRegister, ...]) -> list[Operand]:
    return [_value(register) for register in registers]


def _value(register: sass.SassRegister) -> Operand:
    return ir_register(register) or Immediate(0)


def _place(x: SassLift, form: ByCoordinates) -> Address:
    """Where the descriptor stands among the parameters."""
    if isinstance(form.handle, sass.SassRegister):
        held = ir_register(form.handle)
    else:
        held = x.constant(sass.ConstantOperand(_CONSTANTS, None, form.handle), "b32")
    assert isinstance(held, Register)
    return Address(held, 0)


MEANINGS = {
    "TEX": _read,
    "TLD": _read,
    "TXD": _read,
    "TLD4": _gather,
    "TXQ": _query,
    "SULD": _load,
    "SUST": _store,
    "SURED": _reduce,
}
