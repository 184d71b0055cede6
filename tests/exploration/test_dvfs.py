"""Time against clocks, and the scaling of stalls beside it: by hand and as laws."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.exploration.dvfs import (
    StallScaling,
    clock_curve,
    stall_scaling,
    usual_clocks,
)
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models import load_model, model_names
from kernelcast.models.volkov import Volkov
from kernelcast.profiling.profile import Footprint

LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("x",)}
STORE = {"op_class": OpClass.STORE, "space": Space.GLOBAL, "reads": ("x",)}
ADD = {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",)}
H100 = load_machine("h100-sxm")
OWN = H100.number("clock.sm")

# ------------------------------------------------------------------- stalls, by hand


def test_stalls_stay_and_computation_beyond_them_grows():
    """Loads of 8 s over computation of 3 s, 2 s of it alone, stores that hide 1 s more."""
    run = StallScaling(fixed_s=1, load_path_s=8, under_loads_s=3, store_path_s=3, computation_s=2)
    assert run.time_s(1) == 1 + 8 + 3
    assert run.time_s(1.5) == 1 + 8 + 3  # stores hide what computation grew by
    assert run.time_s(2) == 1 + 8 + 4
    assert run.time_s(4) == 1 + 12 + 8  # computation under the loads is longer than these
    assert run.time_s(0.5) == 1 + 8 + 3


SECONDS = st.floats(0, 1e3)


@given(st.builds(StallScaling, SECONDS, SECONDS, SECONDS, SECONDS, SECONDS), st.floats(1, 100))
def test_no_clock_costs_more_than_it_is_slower(run, slower):
    assert run.time_s(1) <= run.time_s(slower) * (1 + 1e-12)
    assert run.time_s(slower) <= slower * run.time_s(1) * (1 + 1e-12)


# ------------------------------------------------------------------------- of cases


def from_dram(make_case, ops, *, blocks=1 << 14, threads=256):
    """A launch all of whose accesses, four sectors a warp, miss every cache."""
    times = sum(op.get("times", 1) for op in ops if op.get("space"))
    sectors = 4.0 * times * blocks * threads / 32
    reads = any(op["op_class"] is OpClass.LOAD for op in ops)
    array = Footprint("a", 1, reads, not reads, sectors, sectors, sectors)
    return make_case(H100, ops, blocks=blocks, threads=threads, footprints=[array])


@pytest.fixture(params=["one warp", "streams", "adds", "stores"])
def case(request, make_case):
    """Launches bound by latency, by the DRAM, by arithmetic, and one of stores alone."""
    kinds = {
        "one warp": ([LOAD, ADD], {"blocks": 1, "threads": 32}),
        "streams": ([LOAD, ADD], {}),
        "adds": ([LOAD, {**ADD, "times": 4000}], {}),
        "stores": ([STORE], {}),
    }
    ops, shape = kinds[request.param]
    return from_dram(make_case, ops, **shape)


@pytest.mark.parametrize("name", model_names())
def test_the_nominal_run_is_scaled_to_itself(case, name):
    nominal = load_model(name).predict(case)
    scaling = stall_scaling(nominal)
    assert scaling.time_s(1) == pytest.approx(nominal.time_s)


@pytest.mark.parametrize("name", model_names())
def test_the_point_at_the_own_clocks_is_the_forecast(case, name):
    model = load_model(name)
    curve = clock_curve(case, model, [OWN], [H100.number("clock.memory")])
    (own,) = curve.points
    assert (own.time_s, own.scaled_s) == pytest.approx((curve.nominal.time_s,) * 2)


@pytest.mark.parametrize("name", ["roofline", "volkov"])
def test_no_launch_is_faster_with_slower_sms(case, name):
    """By these two; baghsorkhi hides more latency of memory the longer computation takes."""
    times = [p.time_s for p in clock_curve(case, load_model(name), usual_clocks(H100)).points]
    for slower, faster in pairwise(times):
        assert faster <= slower * (1 + 1e-9)


def test_what_arithmetic_binds_follows_the_clock_but_for_starting(make_case):
    case = make_case(H100, [{**ADD, "times": 4000}])
    overhead = H100.number("launch.cold_overhead")
    curve = clock_curve(case, Volkov(), [OWN / 2, OWN])
    slow, own = curve.points
    assert slow.time_s - overhead == pytest.approx(2 * (own.time_s - overhead))
    assert slow.scaled_s == pytest.approx(slow.time_s)


def test_what_the_memory_binds_follows_its_clock_alone(make_case):
    # So many loads, none waiting for another, that neither blocks that begin nor latency bind.
    case = from_dram(make_case, [{**LOAD, "writes": f"x{i}", "reads": ()} for i in range(8)])
    memory = H100.number("clock.memory")
    slow, own, both, halved = clock_curve(
        case, Volkov(), [OWN / 2, OWN], [memory, memory / 2]
    ).points
    overhead = H100.number("launch.cold_overhead")
    assert slow.time_s == pytest.approx(own.time_s, rel=0.01)
    assert slow.scaled_s == pytest.approx(own.time_s, rel=0.01)
    assert halved.time_s - overhead == pytest.approx(2 * (own.time_s - overhead), rel=0.01)
    assert (halved.scaled_s, both.scaled_s) == (None, None)


def test_one_warp_that_waits_for_memory_waits_as_long_at_half_the_clock(make_case):
    """It used to wait as many cycles."""
    chain = from_dram(make_case, [{**LOAD, "times": 1000}], blocks=1, threads=32)
    slow, own = clock_curve(chain, Volkov(), [OWN / 2, OWN]).points
    assert own.time_s < slow.time_s < 1.2 * own.time_s


# -------------------------------------------------------------------------- clocks


def test_clocks_that_nobody_names():
    clocks = usual_clocks(H100)
    assert (clocks[0], clocks[-1], len(clocks)) == (OWN / 2, OWN, 6)


@pytest.mark.parametrize("hz", [0.0, -1e9, 1e12])
def test_impossible_clocks_are_refused(make_case, hz):
    with pytest.raises(InputError, match="out of range"):
        clock_curve(make_case(H100, [ADD]), Volkov(), [hz])


def test_a_memory_of_unknown_clock_cannot_be_clocked(make_case):
    with pytest.raises(InputError, match=r"no clock\.memory"):
        clock_curve(make_case(load_machine("gh200"), [LOAD]), Volkov(), [OWN], [1e9])
