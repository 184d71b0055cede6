"""Conversions between numbers: integers, floats, and both.

A narrow result fills its register as PTX does: integers are extended by their sign or by zeros,
half precision by zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.ptx.eight_bit_floats import halves_of_pair, pair_of_halves, pair_of_numbers
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.floating import flag, plain, rounding, suffixes, undecorated
from kernelcast.isas.sass.meaning.lift import SassLift

_INTEGERS = {f"{kind}{bits}": f"{kind.lower()}{bits}" for kind in "SU" for bits in (8, 16, 32, 64)}
_FLOATS = {name: name.lower() for name in ("F16", "BF16", "F32", "F64")}
_TYPES = _INTEGERS | _FLOATS
_TO_INTEGRAL = {"TRUNC": "rzi", "FLOOR": "rmi", "CEIL": "rpi"}
_DIRECTIONS = ("RM", "RP", "RZ")
_HALF_SIGN = 0x8000
_PARTS = {"H0": (0, 16), "H1": (16, 16), **{f"B{n}": (8 * n, 8) for n in range(4)}}
"""Parts of a register by the suffix that selects them: first bit, and bits."""


def _float_to_integer(x: SassLift) -> None:
    """`F2I.U32.F64.TRUNC d, a`: s32 from f32 and rounding to nearest, where nothing else is said.

    NaN gives 0 with `.NTZ` and the integer of the sign bit alone without it. The types decide
    that in PTX; any other pairing is refused.
    """
    x.only(*_INTEGERS, *_FLOATS, *_TO_INTEGRAL, "FTZ", "NTZ")
    result = _named(x, _INTEGERS, "s32")
    source = _named(x, _FLOATS, "f32")
    if x.has("NTZ") == (source == "f64" or result.endswith("64")):
        raise x.refuse("NaN in this form")
    _convert(x, f"cvt.{_integral(x)}{flag(x, 'FTZ')}", result, source)


def _integer_to_float(x: SassLift) -> None:
    """`I2F.F64.U32 d, a`, `I2FP`: to f32 from s32, where nothing else is said."""
    x.only(*_INTEGERS, *_FLOATS, *_DIRECTIONS)
    result, source = _named(x, _FLOATS, "f32"), _named(x, _INTEGERS, "s32")
    _convert(x, f"cvt{rounding(x)}", result, source)


def _float_to_float(x: SassLift) -> None:
    """`F2F.F16.F32 d, a`: the type of the result first."""
    x.only(*_FLOATS, *_DIRECTIONS, "FTZ")
    types = [_FLOATS[m] for m in x.native.modifiers if m in _FLOATS]
    if len(types) != 2:
        raise x.refuse("the types")
    result, source = types
    is_wider = result == "f64" or (result == "f32" and source.endswith("16"))
    _convert(x, f"cvt{'' if is_wider else rounding(x)}{flag(x, 'FTZ')}", result, source)


def _to_integral(x: SassLift) -> None:
    """`FRND.F64.FLOOR d, a`: the float that is the nearest integer, of f32 if nothing is said."""
    x.only(*_FLOATS, *_TO_INTEGRAL, "FTZ")
    type = _named(x, _FLOATS, "f32")
    _convert(x, f"cvt.{_integral(x)}{flag(x, 'FTZ')}", type, type)


def _integer_to_integer(x: SassLift) -> None:
    """`I2I.U8.S32.SAT d, a`: the type of the result first."""
    x.only(*_INTEGERS, "SAT")
    types = [_INTEGERS[m] for m in x.native.modifiers if m in _INTEGERS]
    if len(types) != 2 or not x.has("SAT"):
        raise x.refuse("the types")
    _convert(x, "cvt.sat", *types)


def _packed_integers(x: SassLift) -> None:
    """`I2IP.U8.S32.SAT d, a, b, c`: a and b clamped side by side, above them the low half of c, or
    the one that a suffix of c selects."""
    x.only("S16", "U16", "S8", "U8", "S32", "SAT")
    narrow = [_INTEGERS[m] for m in x.native.modifiers if m in ("S16", "U16", "S8", "U8")]
    if len(narrow) != 1 or not x.has("S32") or not x.has("SAT"):
        raise x.refuse("the types")
    target = x.take()
    a, b = (x.u32(plain(x, x.take())) for _ in range(2))
    c = number(x, x.take(), "b16")
    x.done()
    if narrow[0].endswith("8"):
        x.set(target, f"cvt.pack.sat.{narrow[0]}.s32.b32", a, b, c)
    elif c == Immediate(0):
        x.set(target, f"cvt.pack.sat.{narrow[0]}.s32", a, b)
    else:
        raise x.refuse("a third operand")


def _packed_floats(x: SassLift) -> None:
    """`F2FP.F16.F32.PACK_AB d, a, b`: a in the high half and b in the low one.

    Before sm_89 `.F16` and `.F32` are not printed. `MERGE_C d, a, RZ` is of a alone.
    """
    if x.has("E4M3") or x.has("E5M2"):
        _eight_bit_floats(x)
        return
    x.only("F16", "BF16", "F32", "PACK_AB", "MERGE_C", "RZ", "RELU")
    type = "bf16" if x.has("BF16") else "f16"
    target = x.take()
    a, b = (x.f32(plain(x, x.take())) for _ in range(2))
    x.done()
    name = f"cvt{rounding(x)}{flag(x, 'RELU')}.{type}"
    if x.has("PACK_AB"):
        x.set(target, f"{name}x2.f32", a, b)
    elif b == Immediate(0):
        x.set(target, f"{name}.f32", a)
    else:
        raise x.refuse("a third operand")


def _eight_bit_floats(x: SassLift) -> None:
    """`F2FP.F16.E4M3.UNPACK_B d, a`: halves of two bytes. `F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C
    d, a, b, c`: bytes of two floats, a's the high one, `.F16.UNPACK_B_MERGE_C d, a, c` of the two
    halves of a; above them the low half of c, or the one that a suffix of it selects."""
    (name,) = (m.lower() for m in x.native.modifiers if m in ("E4M3", "E5M2"))
    target = x.take()
    if x.has("UNPACK_B"):
        x.only("F16", "E4M3", "E5M2", "UNPACK_B")
        x.write(target, halves_of_pair(x, number(x, x.take(), "b16"), name))
        x.done()
        return
    x.only("SATFINITE", "E4M3", "E5M2", "F16", "F32", "PACK_AB_MERGE_C", "UNPACK_B_MERGE_C")
    if not x.has("SATFINITE") or x.has("F32") != x.has("PACK_AB_MERGE_C"):
        raise x.refuse("the types")
    if x.has("F32"):
        high, low = (x.f32(plain(x, x.take())) for _ in range(2))
        pair = pair_of_numbers(x, high, low, name)
    else:
        pair = pair_of_halves(x, x.b32(x.take()), name)
    above = number(x, x.take(), "b16")
    x.done()
    if above != Immediate(0):
        pair = x.let("or.b32", pair, x.let("shl.b32", above, Immediate(16)))
    x.write(target, pair)


def _packed_bytes(x: SassLift) -> None:
    """`F2IP.U8.F32.TRUNC.NTZ d, RZ, a, RZ`: one float to a byte."""
    x.only("U8", "S8", "F32", "NTZ", *_TO_INTEGRAL)
    target = x.take()
    above, value, rest = (x.f32(plain(x, x.take())) for _ in range(3))
    x.done()
    if (above, rest) != (Immediate(0), Immediate(0)) or not x.has("NTZ"):
        raise x.refuse("more than one float")
    result = "s8" if x.has("S8") else "u8"
    x.set(target, f"cvt.{_integral(x)}.{result}.f32", value)


def _convert(x: SassLift, name: str, result: str, source: str) -> None:
    """Convert the only operand."""
    target = x.take()
    value = number(x, x.take(), source)
    x.done()
    name = f"{name}.{result}.{source}"
    if result.endswith("64"):
        x.write64(target, x.let(name, value))
    else:
        x.set(target, name, value)


def number(x: SassLift, operand: sass.SassOperand, type: str) -> Operand:
    """An operand as a number of a type; a suffix selects a part of it."""
    selected = [s for s in suffixes(operand) if s != "reuse"]
    if type.endswith("f16"):
        return _half(x, operand, selected, type)
    if selected:
        return _part(x, operand, selected, type)
    if type == "f64":
        return x.f64(operand)
    if type == "f32":
        return x.f32(operand)
    if type.endswith("64"):
        return x.u64(operand)
    return x.u32(operand) if type in ("s32", "u32") else x.b32(operand)


def _half(x: SassLift, operand: sass.SassOperand, selected: Sequence[str], type: str) -> Operand:
    """A number of 16 bits in the low half of a word, or in the one that a suffix selects."""
    if not isinstance(operand, sass.RegisterOperand | sass.ConstantOperand):
        return x.b32(operand)
    bare = undecorated(x, operand)
    value = _part(x, bare, selected, type) if selected else x.b32(bare)
    if operand.decoration.is_absolute:
        value = x.let("and.b32", value, Immediate(_HALF_SIGN - 1))
    if operand.decoration.prefix == "-":
        value = x.let("xor.b32", value, Immediate(_HALF_SIGN))
    return value


def _part(x: SassLift, operand: sass.SassOperand, selected: Sequence[str], type: str) -> Operand:
    if len(selected) != 1 or selected[0] not in _PARTS:
        raise x.refuse(f"operand {operand}")
    first, bits = _PARTS[selected[0]]
    if not type.endswith(str(bits)):
        raise x.refuse(f"operand {operand} as {type}")
    return x.let("shr.u32", x.b32(operand), Immediate(first)) if first else x.b32(operand)


def _named(x: SassLift, types: dict[str, str], default: str) -> str:
    """The type that a modifier names."""
    found = [types[m] for m in x.native.modifiers if m in types]
    if len(found) > 1:
        raise x.refuse("the types")
    return found[0] if found else default


def _integral(x: SassLift) -> str:
    return next((word for m, word in _TO_INTEGRAL.items() if x.has(m)), "rni")


MEANINGS = {
    **dict.fromkeys(("F2I", "UF2I"), _float_to_integer),
    **dict.fromkeys(("I2F", "I2FP", "UI2F", "UI2FP"), _integer_to_float),
    **dict.fromkeys(("F2F", "UF2F"), _float_to_float),
    **dict.fromkeys(("FRND", "UFRND"), _to_integral),
    "F2FP": _packed_floats,
    "I2I": _integer_to_integer,
    "I2IP": _packed_integers,
    "F2IP": _packed_bytes,
}
