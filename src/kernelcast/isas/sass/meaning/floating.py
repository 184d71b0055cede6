"""Single-precision arithmetic, comparison and selection, and packed pairs of single precision.

`-x` and `|x|` act on the sign bit. Results are rounded to nearest unless `.RM`, `.RP` or `.RZ`
says otherwise; `.FTZ` flushes subnormal operands and results to zeros of their sign.
"""

from __future__ import annotations

from dataclasses import replace

from kernelcast.ir import Immediate, Operand, Vector
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift

ROUNDINGS = ("RM", "RP", "RZ")
_ORDERED = ("LT", "EQ", "LE", "GT", "NE", "GE")
RELATIONS = (*_ORDERED, *(f"{relation}U" for relation in _ORDERED), "NUM", "NAN")
JOINS = ("AND", "OR", "XOR")


def rounding(x: SassLift) -> str:
    """The part of a PTX name that says in which direction a result is rounded."""
    return next((f".{m.lower()}" for m in ROUNDINGS if x.has(m)), ".rn")


def flag(x: SassLift, modifier: str, name: str = "") -> str:
    """The part of a PTX name that a modifier stands for, empty where it is not there."""
    return f".{name or modifier.lower()}" if x.has(modifier) else ""


def plain(x: SassLift, operand: sass.SassOperand) -> sass.SassOperand:
    """The operand, refused where a suffix selects a part of it."""
    if any(s != "reuse" for s in suffixes(operand)):
        raise x.refuse(f"operand {operand}")
    return operand


def suffixes(operand: sass.SassOperand) -> tuple[str, ...]:
    """What is written behind an operand: `F32x2.HI_LO`, `H0_H0`, `reuse`."""
    if isinstance(operand, sass.RegisterOperand | sass.ConstantOperand):
        return operand.decoration.suffixes
    return ()


def undecorated(
    x: SassLift, operand: sass.SassOperand
) -> sass.RegisterOperand | sass.ConstantOperand:
    """A register or constant without what stands around it."""
    if not isinstance(operand, sass.RegisterOperand | sass.ConstantOperand):
        raise x.refuse(f"operand {operand}")
    return replace(operand, decoration=sass.PLAIN)


def single(x: SassLift) -> Operand:
    """The next operand, a number of single precision."""
    return x.f32(plain(x, x.take()))


def _magnitude(x: SassLift) -> Operand:
    """The next operand, which is `|a|`, without its bars."""
    operand = plain(x, x.take())
    number = undecorated(x, operand)
    assert isinstance(operand, sass.RegisterOperand | sass.ConstantOperand)
    if operand.decoration.prefix or not operand.decoration.is_absolute:
        raise x.refuse(f"operand {operand}")
    return x.f32(number)


def _arithmetic(x: SassLift) -> None:
    """`FADD d, a, b`, `FMUL`, and `FFMA d, a, b, c`: a * b + c, rounded once."""
    if x.has(*_DIVISORS):
        _scaled_product(x)
        return
    x.only(*ROUNDINGS, "FTZ", "SAT")
    operation, count = _OPERATIONS[x.native.opcode.removeprefix("U")]
    target = x.take()
    sources = [single(x) for _ in range(count)]
    x.done()
    name = f"{operation}{rounding(x)}{flag(x, 'FTZ')}{flag(x, 'SAT')}.f32"
    x.set(target, name, *sources)


def _scaled_product(x: SassLift) -> None:
    """`FMUL.D2 d, a, b`: a * b / 2, rounded once, and so with `.D4` and `.D8`.

    In double precision the product and its fraction are exact.
    """
    x.only(*_DIVISORS)
    (factor,) = (bits for m, bits in _DIVISORS.items() if x.has(m))
    target = x.take()
    a, b = (x.let("cvt.f64.f32", single(x)) for _ in range(2))
    x.done()
    product = x.let("mul.rn.f64", x.let("mul.rn.f64", a, b), Immediate(factor << 52))
    x.set(target, "cvt.rn.f32.f64", product)


def _packed_arithmetic(x: SassLift) -> None:
    """`FADD2 d, a, b` and the like: the same on two numbers in a pair of registers."""
    x.only(*ROUNDINGS, "FTZ")
    operation, count = _OPERATIONS[x.native.opcode.removesuffix("2")]
    target = x.take()
    sources = [_pair(x, x.take()) for _ in range(count)]
    x.done()
    name = f"{operation}{rounding(x)}{flag(x, 'FTZ')}.f32"
    results = [x.let(name, *elements) for elements in zip(*sources, strict=True)]
    x.write64(target, x.pack(results))


_DIVISORS = {"D2": 0x3FE, "D4": 0x3FD, "D8": 0x3FC}
"""Exponents of a half, a quarter and an eighth in double precision."""

_OPERATIONS = {"FADD": ("add", 2), "FMUL": ("mul", 2), "FFMA": ("fma", 3)}
"""The operation of PTX and the number of its sources."""


def _pair(x: SassLift, operand: sass.SassOperand) -> tuple[Operand, Operand]:
    """Two numbers, the one of the low register first: `.F32` is one number twice, and `.LO_HI` a
    pair with its numbers exchanged."""
    match [s for s in suffixes(operand) if s != "reuse"]:
        case ["F32"]:
            number = x.f32(operand)
            return number, number
        case ["F32x2", "HI_LO"]:
            return _elements(x, operand)
        case ["F32x2", "LO_HI"]:
            low, high = _elements(x, operand)
            return high, low
    raise x.refuse(f"operand {operand}")


def _elements(x: SassLift, operand: sass.SassOperand) -> tuple[Operand, Operand]:
    low, high = x.halves(x.u64(undecorated(x, operand)))
    assert isinstance(operand, sass.RegisterOperand | sass.ConstantOperand)
    if operand.decoration.is_absolute:
        raise x.refuse(f"operand {operand}")
    if operand.decoration.prefix == "-":
        return x.let("neg.f32", low), x.let("neg.f32", high)
    return low, high


def _extreme(x: SassLift) -> None:
    """`FMNMX d, a, b, P`: the minimum where P holds, else the maximum; `FMNMX3` of three.

    `.XORSIGN d, |a|, |b|, P` is negative where one of a and b is, the other not.
    """
    x.only("FTZ", "NAN", "XORSIGN")
    target = x.take()
    count = 3 if x.native.opcode.endswith("3") else 2
    sources = [_magnitude(x) if x.has("XORSIGN") else single(x) for _ in range(count)]
    is_least = x.predicate(x.take())
    x.done()
    name = f"{flag(x, 'FTZ')}{flag(x, 'NAN', 'NaN')}{flag(x, 'XORSIGN', 'xorsign.abs')}.f32"
    if isinstance(is_least, Immediate):
        x.set(target, ("min" if is_least.value else "max") + name, *sources)
        return
    least, greatest = x.let(f"min{name}", *sources), x.let(f"max{name}", *sources)
    x.set(target, "selp.b32", least, greatest, is_least)


def _compare(x: SassLift) -> None:
    """`FSETP.LT.AND P, Q, a, b, R`: P is a < b and R; Q is !(a < b) and R."""
    x.only(*RELATIONS, *JOINS, "FTZ")
    targets = [x.take(), x.take()]
    sources = [single(x), single(x)]
    write_comparison(x, targets, sources, f"{flag(x, 'FTZ')}.f32")


def _compare_to_word(x: SassLift) -> None:
    """`FSET.LT.AND d, a, b, R`: all ones where a < b and R, else 0; `.BF` 1.0 instead of ones."""
    x.only(*RELATIONS, *JOINS, "FTZ", "BF")
    target = x.take()
    sources = [single(x), single(x)]
    test, sources = comparison(x, sources)
    x.done()
    result = "f32" if x.has("BF") else "u32"
    x.set(target, f"set.{test}{flag(x, 'FTZ')}.{result}.f32", *sources)


def write_comparison(
    x: SassLift, targets: list[sass.SassOperand], sources: list[Operand], type: str
) -> None:
    """Write a comparison, joined with the last operand, and its counterpart to two predicates;
    `type` ends the name of the step."""
    test, sources = comparison(x, sources)
    x.done()
    first, second = (x.destination(t) for t in targets)
    if second is not None:
        x.do(f"setp.{test}{type}", Vector((first, second)), *sources, guard=x.guard)
    elif first is not None:
        x.do(f"setp.{test}{type}", first, *sources, guard=x.guard)


def comparison(x: SassLift, sources: list[Operand]) -> tuple[str, list[Operand]]:
    """The relation of two sources in the words of PTX, and what joins it with the next operand,
    a predicate, which is then one more source; a predicate that changes nothing is left out."""
    relation = _one_of(x, RELATIONS)
    join = _one_of(x, JOINS)
    condition = x.predicate(x.take())
    if condition == Immediate(1 if join == "and" else 0):
        return relation, sources
    return f"{relation}.{join}", [*sources, condition]


def _one_of(x: SassLift, modifiers: tuple[str, ...]) -> str:
    """The only one of some modifiers, in small letters."""
    found = [m.lower() for m in x.native.modifiers if m in modifiers]
    if len(found) != 1:
        raise x.refuse(f"{x.native.opcode} with {' and '.join(found) or 'no relation'}")
    return found[0]


def _select(x: SassLift) -> None:
    """`FSEL d, a, b, P`: a where P holds, else b."""
    x.only()
    target = x.take()
    sources = [single(x), single(x)]
    condition = x.predicate(x.take())
    x.done()
    x.set(target, "selp.b32", *sources, condition)


MEANINGS = {
    **dict.fromkeys(("FADD", "FMUL", "FFMA", "UFADD", "UFMUL", "UFFMA"), _arithmetic),
    **dict.fromkeys(("FADD2", "FMUL2", "FFMA2"), _packed_arithmetic),
    **dict.fromkeys(("FMNMX", "FMNMX3", "UFMNMX"), _extreme),
    **dict.fromkeys(("FSETP", "UFSETP"), _compare),
    "FSET": _compare_to_word,
    **dict.fromkeys(("FSEL", "UFSEL"), _select),
}
