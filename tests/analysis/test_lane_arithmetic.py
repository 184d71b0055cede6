"""What lanes hold: exact arithmetic beside the reference interpreter's, and grains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernelcast.analysis.lane_arithmetic import (
    ANYTHING_UNIFORM,
    WarpValue,
    both_words,
    joined,
    result,
    uniform,
)
from kernelcast.analysis.lane_numbers import computed
from kernelcast.execution.reference import bits, comparisons, conversions, integers, moves
from kernelcast.execution.reference.values import WIDTHS, decode, encode, unsigned
from kernelcast.ir import Instruction, OpClass, Register

DEFINITIONS = {
    **integers.DEFINITIONS,
    **bits.DEFINITIONS,
    **comparisons.DEFINITIONS,
    **conversions.DEFINITIONS,
    **moves.DEFINITIONS,
}
FORMS = [
    *(f"{opcode}.{kind}" for opcode in ("add", "sub", "min", "max") for kind in ("s32", "u32")),
    *("mul.lo.s32", "mul.lo.u32", "mul.wide.s32", "mul.wide.u32", "mad.lo.s32", "mad.wide.u32"),
    *("div.s32", "div.u32", "rem.s32", "rem.u32", "neg.s32", "abs.s32", "mov.b32", "selp.b32"),
    *("and.b32", "or.b32", "xor.b32", "not.b32", "shl.b32", "shr.s32", "shr.u32"),
    *("add.s64", "sub.u64", "shl.b64", "shr.s64", "and.b64", "not.pred", "xor.pred"),
    *("setp.lt.s32", "setp.ge.u32", "setp.ne.s64", "setp.eq.and.s32", "setp.gt.or.u32"),
    *("cvt.s64.s32", "cvt.u64.u32", "cvt.u32.u64"),
]
words = st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-40, 70)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30)
@given(numbers=st.lists(words, min_size=3, max_size=3))
def test_exact_results_are_the_interpreters(form, numbers):
    opcode, *modifiers = form.split(".")
    registers = tuple(Register(name, "b32") for name in "dabc"[: 1 + SOURCES.get(opcode, 2)])
    if opcode == "setp" and len(modifiers) == 3:
        registers += (Register("p", "pred"),)
    instruction = Instruction(0, opcode, tuple(modifiers), registers, OpClass.MOVE)
    meaning = DEFINITIONS[opcode](instruction)
    given_numbers = [
        number & 1 if kind == "pred" else number
        for number, kind in zip(numbers, meaning.sources, strict=False)
    ]
    found = computed(opcode, tuple(modifiers), [np.array([[n]]) for n in given_numbers])
    inputs = [
        decode(kind, np.array([n & (1 << WIDTHS[kind]) - 1]).astype(unsigned(WIDTHS[kind])))
        for n, kind in zip(given_numbers, meaning.sources, strict=True)
    ]
    assume(found is not None)
    assert found is not None
    expected = meaning.function(*inputs)
    first = expected[0] if isinstance(expected, tuple) else expected
    width = WIDTHS[meaning.results[0]]
    assert int(found[0, 0]) & (1 << width) - 1 == int(encode(meaning.results[0], first)[0])


SOURCES = {"neg": 1, "abs": 1, "not": 1, "mov": 1, "cvt": 1, "mad": 3, "selp": 3}


@given(st.integers(0, 8), st.integers(1, 64), st.integers(0, 3), st.integers(0, 9))
def test_what_is_affine_is_known_whatever_is_not(stride, step, begin, turns):
    """base + stride lane + step m: the lanes of every m are whole grains further."""
    lane = WarpValue(np.arange(32, dtype=np.int64)[np.newaxis])
    other = WarpValue(uniform(0).lanes, grain=step)
    scaled = result("mul", ("lo", "s32"), [lane, uniform(stride)])
    found = result("add", ("s32",), [result("add", ("s32",), [scaled, other]), uniform(begin)])
    assert found is not None
    truth = np.arange(32) * stride + begin + step * turns
    apart = truth - found.lanes[0]
    assert (apart == apart[0]).all()
    assert apart[0] % found.grain == 0


def test_a_join_keeps_what_both_have():
    lane = WarpValue(np.arange(32, dtype=np.int64)[np.newaxis])
    later = WarpValue(lane.lanes + 12, grain=8)
    found = joined(lane, later)
    assert found is not None and found.grain == 4
    assert joined(lane, WarpValue(2 * lane.lanes)) is None


def test_lanes_choose_by_a_predicate_of_their_own_nothing_in_common():
    one, other = uniform(0, 4), uniform(2, 4)
    assert result("selp", ("b32",), [one, other, None]) is None
    alike = result("selp", ("b32",), [one, other, ANYTHING_UNIFORM])
    assert alike is not None and alike.grain == 2


def test_signs_of_what_is_not_below_0_are_0():
    """The idiom of a signed division by 8: (x + (x >> 31 >>> 29)) >> 3."""
    x = WarpValue(np.arange(32, dtype=np.int64)[np.newaxis], grain=64, natural=True)
    sign = result("shr", ("s32",), [x, uniform(31)])
    assert sign is not None and sign.constant == 0
    unknown = WarpValue(x.lanes, grain=64)
    assert result("shr", ("s32",), [unknown, uniform(31)]) is None


def test_64_bits_of_two_words():
    found = both_words(uniform(-1), uniform(2))
    assert found is not None and found.constant == (2 << 32) + (1 << 32) - 1
    grained = uniform(0, 4)
    assert both_words(grained, uniform(0)) is grained
