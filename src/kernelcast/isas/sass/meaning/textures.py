"""Reads and writes by coordinates: textures and surfaces."""

from __future__ import annotations

from kernelcast.ir import Address, Immediate, Operand, Register
from kernelcast.isas.ptx.texels import read_texel, surface_address
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.by_coordinates import ByCoordinates, by_coordinates, surface_bytes
from kernelcast.isas.sass.meaning.lift import SassLift, ir_register
from kernelcast.isas.sass.meaning.memory import load_words, store_words

_CONSTANTS = 0


def _read(x: SassLift) -> None:
    """`TEX` by numbers, `TLD` by whole ones: the channels of the mask."""
    form = _form(x)
    values = read_texel(
        x, _place(x, form), _coordinates(form), from_float=x.native.opcode == "TEX", to_float=True
    )
    for channel, target in form.channels:
        register = ir_register(target)
        if register is not None:
            x.do("mov.b32", register, values[channel], guard=x.guard)


def _load(x: SassLift) -> None:
    """`SULD.D.BA.2D.TRAP d, [x, y], surface`, where x counts bytes; beyond the edge with `.TRAP` it
    fails, with `.IGN` it reads zeros, with neither what is nearest."""
    target, where, exists, beyond = _surface(x, 0)
    guard = x.guard
    if beyond == "zero":
        for _, register in _form(x).channels:
            zeroed = ir_register(register)
            if zeroed is not None:
                x.do("mov.b32", zeroed, Immediate(0), guard=x.guard)
        guard = x.both(x.guard, exists)
    load_words(x, "ld.global", target, where, guard)


def _store(x: SassLift) -> None:
    """`SUST.D.BA.2D.TRAP [x, y], a, surface`: the counterpart; `.IGN` drops what lies beyond."""
    source, where, exists, beyond = _surface(x, 1)
    guard = x.both(x.guard, exists) if beyond == "zero" else x.guard
    store_words(x, "st.global", where, source, guard)


def _surface(x: SassLift, data: int) -> tuple[sass.SassOperand, Address, Register, str]:
    """What is loaded or stored, its address, whether it is there, and what happens if not."""
    form = _form(x)
    beyond = "trap" if x.has("TRAP") else "zero" if x.has("IGN") else "clamp"
    size = surface_bytes(x.native)
    where, exists = surface_address(x, _place(x, form), _coordinates(form), size, beyond)
    return x.native.operands[data], where, exists, beyond


def _form(x: SassLift) -> ByCoordinates:
    form = by_coordinates(x.native)
    if form is None:
        raise x.refuse()
    return form


def _coordinates(form: ByCoordinates) -> list[Operand]:
    return [ir_register(register) or Immediate(0) for register in form.coordinates]


def _place(x: SassLift, form: ByCoordinates) -> Address:
    """Where the descriptor stands among the parameters."""
    if isinstance(form.handle, sass.SassRegister):
        return Address(ir_register(form.handle), 0)
    return Address(x.constant(sass.ConstantOperand(_CONSTANTS, None, form.handle), "b32"), 0)


MEANINGS = {"TEX": _read, "TLD": _read, "SULD": _load, "SUST": _store}
