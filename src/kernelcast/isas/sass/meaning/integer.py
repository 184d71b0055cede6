"""Integer sums and products."""

from __future__ import annotations

from dataclasses import replace

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.sums import (
    Term,
    is_zero,
    read_term,
    sum_and_carries,
    take_carries_in,
    write_carries,
    write_sum,
)

_WORD_BITS = 32


def _add3(x: SassLift) -> None:
    """`IADD3 d, P, Q, a, b, c`: their sum; P and Q where it carries once and twice.

    `.X` adds predicates, `.64` adds pairs of registers.
    """
    x.only("X", "64")
    target, carries = x.take(), x.take_predicates()
    bits = 64 if x.has("64") else 32
    terms = []
    while x.operands and not x.takes_predicate():
        terms.append(read_term(x, x.take(), bits))
    carried = take_carries_in(x)
    x.done()
    if bits == 32:
        write_sum(x, target, carries, [*terms, *carried])
    else:
        wide = [Term(_widened(x, t.value)) for t in carried]
        total, *out = sum_and_carries(x, [*terms, *wide], 64, carries)
        x.write64(target, total)
        write_carries(x, carries, out)


def _widened(x: SassLift, value: Operand) -> Operand:
    """32 bits extended by zeros to 64."""
    return value if isinstance(value, Immediate) else x.let("cvt.u64.u32", value)


def _multiply_add(x: SassLift) -> None:
    """`IMAD d, a, b, c`: the low word of a * b + c; nvdisasm adds what it is used for, such as
    `.MOV`.

    `.WIDE` adds a pair to all 64 bits of the product, `.HI` keeps the high word of that. `.X` adds
    a predicate.
    """
    if x.has("WIDE", "HI"):
        _multiply_wide(x)
        return
    x.only("MOV", "IADD", "SHL", "U32", "X")
    target = x.take()
    a, b = x.u32(x.take()), x.u32(x.take())
    addend = read_term(x, x.take())
    carried = take_carries_in(x)
    x.done()
    if is_zero(a) or is_zero(b):
        write_sum(x, target, [], [addend, *carried])
    elif b == Immediate(1):
        write_sum(x, target, [], [Term(a), addend, *carried])
    elif is_zero(addend.value) and not carried:
        x.set(target, "mul.lo.u32", a, b)
    elif addend.is_negated or carried:
        product = x.let("mul.lo.u32", a, b)
        write_sum(x, target, [], [Term(product), addend, *carried])
    else:
        x.set(target, "mad.lo.u32", a, b, addend.value)


def _multiply_wide(x: SassLift) -> None:
    x.only("WIDE", "HI", "U32", "X")
    target, carries = x.take(), x.take_predicates()
    a, a_is_negated = _magnitude(x, x.take())
    b, b_is_negated = _magnitude(x, x.take())
    addend = read_term(x, x.take(), 64)
    carried = [Term(_widened(x, t.value)) for t in take_carries_in(x)]
    x.done()
    is_negated = a_is_negated != b_is_negated
    type = "u32" if x.has("U32") else "s32"
    if x.has("WIDE") and not (carries or carried or is_negated or addend.is_negated):
        x.write64(target, x.let(f"mad.wide.{type}", a, b, addend.value))
        return
    terms = [Term(x.let(f"mul.wide.{type}", a, b), is_negated), addend, *carried]
    total, *out = sum_and_carries(x, terms, 64, carries)
    if x.has("WIDE"):
        x.write64(target, total)
    else:
        x.write(target, x.halves(total)[1])
    write_carries(x, carries, out)


def _magnitude(x: SassLift, operand: sass.SassOperand) -> tuple[Operand, bool]:
    """A factor without its minus sign, and whether it had one: it belongs to the product, since
    the most negative number has no negative of 32 bits."""
    if isinstance(operand, sass.RegisterOperand | sass.ConstantOperand):
        decoration = operand.decoration
        if decoration.prefix == "-":
            return x.u32(replace(operand, decoration=replace(decoration, prefix=""))), True
    return x.u32(operand), False


def _shift_add(x: SassLift) -> None:
    """`LEA d, P, a, b, n`: (a << n) + b; P where the sum carries.

    `.HI d, P, a, b, c, n` shifts the pair c:a and adds b to its high word; in `.SX32` the high
    word is the sign of a. `.X` adds a predicate.
    """
    x.only("HI", "X", "SX32")
    target, carries = x.take(), x.take_predicates()
    shifted_operand, addend_operand = x.take(), x.take()
    if x.has("HI"):
        shifted = _high_shifted(x, shifted_operand)
    else:
        term = read_term(x, shifted_operand)
        amount = _shift_amount(x)
        value = x.let("shl.b32", term.value, Immediate(amount)) if amount else term.value
        shifted = Term(value, term.is_negated)
    terms = [shifted, read_term(x, addend_operand), *take_carries_in(x)]
    x.done()
    write_sum(x, target, carries, terms)


def _high_shifted(x: SassLift, low: sass.SassOperand) -> Term:
    """The high word of a pair that is shifted left."""
    if isinstance(low, sass.RegisterOperand) and low.decoration.prefix:
        raise x.refuse(f"operand {low}")
    value = x.u32(low)
    high = Immediate(0) if x.has("SX32") else x.u32(x.take())
    amount = _shift_amount(x)
    if x.has("SX32"):
        return Term(x.let("shr.s32", value, Immediate(_WORD_BITS - amount)))
    if is_zero(high):
        return Term(x.let("shr.u32", value, Immediate(_WORD_BITS - amount)))
    return Term(x.let("shf.l.wrap.b32", value, high, Immediate(amount)))


def _shift_amount(x: SassLift) -> int:
    operand = x.take()
    if isinstance(operand, sass.IntegerOperand) and 0 <= operand.value < _WORD_BITS:
        return operand.value
    raise x.refuse(f"shift {operand}")


def _absolute(x: SassLift) -> None:
    """`IABS d, a`: the magnitude; the most negative number is its own."""
    x.only()
    target = x.take()
    value = x.u32(x.take())
    x.done()
    x.set(target, "abs.s32", value)


MEANINGS = {
    **dict.fromkeys(("IADD3", "IADD", "UIADD3"), _add3),
    **dict.fromkeys(("IMAD", "UIMAD"), _multiply_add),
    **dict.fromkeys(("LEA", "ULEA"), _shift_add),
    **dict.fromkeys(("IABS", "UIABS"), _absolute),
}
