"""Which pipe an instruction keeps busy, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import LaneMatch, MatrixProduct, OpClass, Traits
from kernelcast.machines.classes import product_cycles
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.latency import timing
from kernelcast.models.terms.throughput import worksheet


def rows(case) -> dict[Bottleneck, float]:
    sheet = worksheet(case, Estimate.CENTRAL, "this test")
    return {use.resource: use.cycles_per_warp for use in sheet.uses}


def test_counts_of_bits_go_where_special_functions_go(make_case):
    """Nsight Compute on an H100: what POPC, MUFU and F2I execute adds up to the XU's count."""
    classes = (OpClass.SFU, OpClass.CONVERT, OpClass.BIT_COUNT)
    code = [{"op_class": op_class, "times": 10} for op_class in classes]
    cycles = rows(make_case(load_machine("h100-sxm"), code))
    assert cycles[Bottleneck.SFU] == pytest.approx(30 * 32 / 16)
    assert Bottleneck.INT not in cycles


def test_counts_of_bits_without_a_rate_are_integer_arithmetic(make_case, set_numbers):
    machine = set_numbers(load_machine("h100-sxm"), {"throughput.bit_count": None})
    cycles = rows(make_case(machine, [{"op_class": OpClass.BIT_COUNT, "times": 10}]))
    assert cycles[Bottleneck.INT] == pytest.approx(10 * 32 / 64)
    assert Bottleneck.SFU not in cycles


def test_reductions_and_matches_of_a_warp_have_a_pipe_of_their_own(make_case):
    """On an H100 REDUX takes 2 cycles, MATCH.ANY 2 for each different value of 32 bits, here 32."""
    match = {"op_class": OpClass.MATCH, "times": 10, "traits": Traits(match=LaneMatch(1, True))}
    code = [{"op_class": OpClass.REDUCE, "times": 10}, match]
    cycles = rows(make_case(load_machine("h100-sxm"), code))
    assert cycles[Bottleneck.ADU] == pytest.approx(10 * (2 + 64))


@pytest.mark.parametrize(
    ("match", "known", "cycles", "notes"),
    [
        (LaneMatch(1, True), {0: 3.5}, 7.0, 0),
        (LaneMatch(2, True), {0: 3.5}, 14.0, 0),
        (LaneMatch(2, True), {}, 128.0, 1),  # nobody recorded it: 32, which is said
        (LaneMatch(1, False), {}, 2.0, 0),
    ],
)
def test_a_match_takes_as_long_as_lanes_hold_different_values(
    make_case, match, known, cycles, notes
):
    traits = Traits(match=match)
    code = [{"op_class": OpClass.MATCH, "times": 10, "traits": traits}]
    case = make_case(load_machine("h100-sxm"), code)
    case = replace(case, profile=replace(case.profile, different_values=known))
    assert rows(case)[Bottleneck.ADU] == pytest.approx(10 * cycles)
    sheet = worksheet(case, Estimate.CENTRAL, "this test")
    assert sum("nobody recorded" in text for text in sheet.assumptions) == notes
    timed = timing(case, 500.0, "this test")
    assert timed.latency[0] == pytest.approx(22 + 8.7 * cycles / 2 / match.words + cycles)


def test_a_match_without_a_rate_is_left_out(make_case, set_numbers):
    traits = Traits(match=LaneMatch(1, True))
    machine = set_numbers(load_machine("h100-sxm"), {"throughput.match": None})
    case = make_case(machine, [{"op_class": OpClass.MATCH, "times": 10, "traits": traits}])
    sheet = worksheet(case, Estimate.CENTRAL, "this test")
    assert "match instructions on the adu pipe: no throughput" in sheet.left_out


FLOATS, PRODUCTS = OpClass.FP32, OpClass.INT_MUL


@pytest.mark.parametrize(
    ("floats", "products", "cycles"),
    [
        (100, 0, 100 * 32 / 128),
        (0, 100, 100 * 32 / 64),
        # An FFMA in the other half for every IMAD.
        (100, 100, 100 * 32 / 64),
        (300, 100, 400 * 32 / 128),
    ],
)
def test_one_half_of_the_pipe_multiplies_integers(make_case, floats, products, cycles):
    code = [{"op_class": FLOATS, "times": floats}, {"op_class": PRODUCTS, "times": products}]
    found = rows(make_case(load_machine("h100-sxm"), [row for row in code if row["times"]]))
    assert found[Bottleneck.FP32] == pytest.approx(cycles)


@pytest.mark.parametrize("gpu", ["a100-sxm-40gb", "gtx-980"])
def test_lanes_that_all_multiply_integers_take_turns(make_case, gpu):
    machine = load_machine(gpu)
    code = [{"op_class": FLOATS, "times": 100}, {"op_class": PRODUCTS, "times": 100}]
    rates = [machine.number(f"throughput.{op_class}") for op_class in (FLOATS, PRODUCTS)]
    expected = sum(100 * 32 / rate for rate in rates)
    assert rows(make_case(machine, code))[Bottleneck.FP32] == pytest.approx(expected)


def test_an_upper_half_of_a_product_takes_twice_as_long(make_case, set_numbers):
    """Of an H100, Nsight Compute counts two cycles of the FMA pipe for each IMAD.WIDE and .HI."""
    traits = Traits(widens=True)
    code = [
        {"op_class": PRODUCTS, "times": 10},
        {"op_class": PRODUCTS, "times": 10, "traits": traits},
    ]
    found = rows(make_case(load_machine("h100-sxm"), code))
    assert found[Bottleneck.FP32] == pytest.approx(10 * 32 / 64 + 10 * 32 / 32)
    floats = {"op_class": FLOATS, "times": 100}
    beside = rows(make_case(load_machine("h100-sxm"), [floats, code[1]]))
    assert beside[Bottleneck.FP32] == pytest.approx(100 * 32 / 128 + 10 * 32 / 32)
    unknown = set_numbers(load_machine("a100-sxm-40gb"), {"throughput.int_mul_wide": None})
    assert rows(make_case(unknown, code))[Bottleneck.FP32] == pytest.approx(20 * 32 / 64)


@pytest.mark.parametrize(
    ("product", "cycles"),
    [
        # Of a scheduler's tensor core, as an H100 takes for every shape.
        (MatrixProduct(16, 8, 16, 16), 6.05),
        (MatrixProduct(16, 8, 8, 16), 4.05),
        (MatrixProduct(16, 8, 8, 32), 6.05),
        (MatrixProduct(16, 8, 4, 32), 4.05),
        (MatrixProduct(16, 8, 32, 8), 6.05),
        (MatrixProduct(16, 8, 16, 8), 4.05),
        # A quarter of what four warps do together takes its work alone.
        (MatrixProduct(64, 256, 16, 16, warps=4), 128),
    ],
)
def test_a_product_of_one_warp_takes_longer_than_its_work(product, cycles):
    of_pipe = product_cycles(load_machine("h100-sxm"), product)
    assert of_pipe
    assert 4 * of_pipe == pytest.approx(cycles, rel=0.03)


def test_a_machine_that_tells_no_rate_of_one_warp_takes_the_work():
    assert product_cycles(load_machine("a100-sxm-40gb"), MatrixProduct(16, 8, 16, 16)) == 2
