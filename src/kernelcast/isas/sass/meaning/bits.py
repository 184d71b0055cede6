"""Logic, shifts, permutations and bit fields."""

from __future__ import annotations

from kernelcast.ir import Immediate
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.truth_tables import lookup


def _logic3(x: SassLift) -> None:
    """`LOP3.LUT P, d, a, b, c, table, Q`: any function of three bits; P is (d != 0) | Q."""
    x.only("LUT", "PAND")
    predicates = x.take_predicates()
    target = x.take()
    sources = [x.u32(x.take()) for _ in range(3)]
    table = immediate(x, x.take())
    other = x.predicate(x.take())
    x.done()
    value = lookup(x, table, sources, "b32")
    if any(x.destination(p) is not None for p in predicates):
        joined = "and" if x.has("PAND") else "or"
        holds = x.let(f"setp.ne.{joined}.u32", value, Immediate(0), other)
        x.write(predicates[0], holds)
    x.write(target, value)


def immediate(x: SassLift, operand: sass.SassOperand) -> int:
    """An operand that has to be a number."""
    if not isinstance(operand, sass.IntegerOperand):
        raise x.refuse(f"operand {operand}")
    return operand.value


def _shift(x: SassLift) -> None:
    """`SHF d, low, n, high`: the pair high:low, shifted; its low word, with `.HI` the high one.

    n is clamped to 32, of `.U64` and `.S64` to 64; with `.W` it wraps.
    """
    x.only("L", "R", "W", "HI", "U32", "S32", "U64", "S64")
    target = x.take()
    low = x.u32(x.take())
    amount = x.u32(x.take())
    high = x.u32(x.take())
    x.done()
    wide, left = x.has("U64", "S64"), x.has("L")
    sign = "s" if x.has("S32", "S64") else "u"
    if wide and left == x.has("HI"):
        pair = x.pack([low, high])
        if x.has("W"):
            amount = x.let("and.b32", amount, Immediate(63))
        shifted = x.let("shl.b64" if left else f"shr.{sign}64", pair, amount)
        x.write(target, x.halves(shifted)[1 if left else 0])
    elif left != x.has("HI"):
        # Bits move out of this word only: the other one of the pair has no part in it.
        if x.has("W"):
            amount = x.let("and.b32", amount, Immediate(63 if wide else 31))
        if left:
            x.set(target, "shl.b32", low, amount)
        else:
            x.set(target, f"shr.{sign}32", high, amount)
    else:
        mode = "wrap" if x.has("W") else "clamp"
        side = "l" if left else "r"
        x.set(target, f"shf.{side}.{mode}.b32", low, high, amount)


_PERMUTATIONS = ("F4E", "B4E", "RC8", "ECL", "ECR", "RC16")


def _permute(x: SassLift) -> None:
    """`PRMT d, a, selector, b`: four of the eight bytes of b:a."""
    x.only(*_PERMUTATIONS)
    target = x.take()
    low, selector, high = (x.u32(x.take()) for _ in range(3))
    x.done()
    mode = "".join(f".{m.lower()}" for m in x.native.modifiers)
    x.set(target, f"prmt.b32{mode}", low, high, selector)


def _bit_mask(x: SassLift) -> None:
    """`BMSK d, position, n`: n ones from a position on, both clamped to 32 or wrapped (`.W`)."""
    x.only("W", "C")
    target = x.take()
    position, length = x.u32(x.take()), x.u32(x.take())
    x.done()
    x.set(target, f"bmsk.{'wrap' if x.has('W') else 'clamp'}.b32", position, length)


def _extend(x: SassLift) -> None:
    """`SGXT d, a, n`: the low n bits of a, extended by their sign, or by zeros (`.U32`)."""
    x.only("W", "C", "U32")
    target = x.take()
    value, width = x.u32(x.take()), x.u32(x.take())
    x.done()
    mode = "wrap" if x.has("W") else "clamp"
    x.set(target, f"szext.{mode}.{'u32' if x.has('U32') else 's32'}", value, width)


def _find_leading(x: SassLift) -> None:
    """`FLO d, a`: where the highest bit lies that is no sign; `.SH` how far it is from the top."""
    x.only("U32", "S32", "SH")
    target = x.take()
    for predicate in x.take_predicates():
        if x.destination(predicate) is not None:
            raise x.refuse("a predicate result")
    value = x.u32(x.take())
    x.done()
    amount = ".shiftamt" if x.has("SH") else ""
    x.set(target, f"bfind{amount}.{'u32' if x.has('U32') else 's32'}", value)


def _count_ones(x: SassLift) -> None:
    """`POPC d, a`: the number of ones."""
    _unary(x, "popc.b32")


def _reverse(x: SassLift) -> None:
    """`BREV d, a`: the bits in reverse order."""
    _unary(x, "brev.b32")


def _unary(x: SassLift, name: str) -> None:
    x.only()
    target = x.take()
    value = x.u32(x.take())
    x.done()
    x.set(target, name, value)


MEANINGS = {
    **dict.fromkeys(("LOP3", "ULOP3"), _logic3),
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("PRMT", "UPRMT"), _permute),
    **dict.fromkeys(("BMSK", "UBMSK"), _bit_mask),
    **dict.fromkeys(("SGXT", "USGXT"), _extend),
    **dict.fromkeys(("FLO", "UFLO"), _find_leading),
    **dict.fromkeys(("POPC", "UPOPC"), _count_ones),
    **dict.fromkeys(("BREV", "UBREV"), _reverse),
}
