"""What an exploration finds, by hand and by counting."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.exploration.conftest import CHIP, space
from tests.exploration.stub_models import Stub, StubOfArrays

from kernelcast import api
from kernelcast.errors import InputError, MissingNumberError
from kernelcast.exploration.design_space import DesignSpace, read_axis
from kernelcast.exploration.explore import explore
from kernelcast.exploration.explored import ExploredModel
from kernelcast.exploration.sweep import Chunk, sweep_of
from kernelcast.machines.schema import ENTRIES
from kernelcast.models import load_model, model_names

SMS = "sm.count=20:100:20"
BANDWIDTH = "dram.bandwidth=1e12,2e12,4e12"


def explored(shape: str | tuple[str, ...], times, nominal=1.0) -> ExploredModel:
    sweeps = (shape,) if isinstance(shape, str) else shape
    return ExploredModel("program", "stub", space(*sweeps), np.array(times, float), nominal)


def test_times_are_those_of_every_configuration_one_by_one(program):
    found = explore(space(SMS, BANDWIDTH, "clock.sm=1e9,2e9"), [program()], [Stub()])
    assert found.times_s.shape == (1, 30)
    for at, (sms, bandwidth, clock) in enumerate(zip(*found.numbers.values(), strict=True)):
        expected = max(100 / sms, 1e13 / bandwidth) * (1e9 / clock) ** 3
        assert found.times_s[0, at] == (
            pytest.approx(expected) if sms <= 90 else pytest.approx(np.nan, nan_ok=True)
        )
    assert found.refusals == (("more than 90 SMs", 6),)
    assert found.computed == 30


@pytest.mark.parametrize(
    "sweeps",
    [
        ("sm.count=20:80:20", BANDWIDTH),
        ("sm.count=20:80:20", "clock.sm=1e9,2e9", BANDWIDTH, "launch.overhead=1e-6,2e-6"),
        ("clock.sm=1e9,2e9", "sm.count=10"),
        ("clock.sm=1e9,2e9",),
    ],
)
def test_a_model_that_takes_arrays_says_what_it_says_one_by_one(program, sweeps):
    one_by_one = explore(space(*sweeps), [program()], [Stub()])
    at_once = explore(space(*sweeps), [program()], [StubOfArrays()])
    assert np.array_equal(one_by_one.times_s, at_once.times_s, equal_nan=True)


def test_what_a_model_of_arrays_refuses_is_said_of_each(program):
    found = explore(space("sm.count=100,120"), [program()], [StubOfArrays()])
    assert found.refusals == (("more than 90 SMs", 2),)
    assert found.program("program", "stub-of-arrays").fastest(5).tolist() == []


def test_a_chunk_is_the_same_alone_as_in_a_sweep(program):
    sweep = sweep_of(
        space("sm.count=10:80:1", "dram.bandwidth=1e12:9e12:1e12"), [program()], [Stub()]
    )
    assert len(sweep.chunks) == 3
    whole = explore(sweep.space, [program()], [Stub()]).times_s[0]
    for chunk in sweep.chunks:
        times = sweep.compute(chunk).times_s
        assert np.array_equal(times, whole[chunk.start : chunk.stop])
    assert sweep.chunks[1] == Chunk(0, 256, 512)


PLAYED = ("auto", "teg")
"""Models that play every configuration in time, for which a few of a small launch are enough."""


@pytest.mark.parametrize("name", model_names())
def test_models_say_of_a_configuration_what_they_say_of_the_machine(name, program):
    """Whatever configurations share, and whether they are asked one by one or at once."""
    sweeps: tuple[str, ...] = (
        "sm.count=6,132",
        "latency.dram=600,900",
        "dram.bandwidth=1e12,3e12",
        "noc.queue=64,256",
    )
    given = program()
    if name in PLAYED:
        sweeps, given = sweeps[:2], program(blocks=1 << 11)
    model = load_model(name)
    try:
        model.predict(given.cases[0])
    except MissingNumberError as error:
        pytest.skip(str(error))
    found = explore(space(*sweeps), [given], [model])
    for at in range(len(found.space)):
        settings = [f"{path}={values[at]}" for path, values in found.numbers.items()]
        case = given.cases[0].on(api.machine(CHIP, *settings))
        predicted = model.predict(case)
        assert found.times_s[0, at] == pytest.approx(predicted.time_s, rel=1e-9)
        assert found.sweep.bottleneck(0, at) == predicted.bottleneck


def test_launches_of_a_program_add_up_as_often_as_they_repeat(program):
    once = explore(space(SMS), [program()], [Stub()]).program("program", "stub")
    often = explore(space(SMS), [program(repeats=(1, 3))], [Stub()]).program("program", "stub")
    assert often.times_s[:4] == pytest.approx(4 * once.times_s[:4])
    assert often.nominal_s == pytest.approx(4 * once.nominal_s, nan_ok=True)


def test_programs_together_are_their_geometric_mean(program):
    programs = [program("a"), program("b", repeats=(4,))]
    found = explore(space(SMS), programs, [Stub()])
    a = found.program("a", "stub").times_s
    assert found.all_programs("stub").times_s[:4] == pytest.approx(2 * a[:4])


def test_the_best_is_the_fastest_and_of_equals_the_cheapest(program):
    found = explore(space(SMS, BANDWIDTH), [program()], [Stub()])
    # From 40 SMs on, at 4 TB/s, the bandwidth binds.
    model = found.program("program", "stub")
    assert model.fastest(3).tolist() == [5, 8, 11]
    numbers = [tuple(v[n] for v in found.numbers.values()) for n in (5, 8, 11)]
    assert numbers == [(40, 4e12), (60, 4e12), (80, 4e12)]
    assert found.bottleneck(model, 8) == "dram bandwidth"
    assert found.bottleneck(model, 2) == "fp32 pipe"
    assert len(model.fastest(100)) == 12


def test_numbers_that_change_nothing_are_named(program):
    found = explore(space(SMS, "l2.slices=1,80", "clock.sm=1e9"), [program()], [Stub()])
    assert found.without_effect == ("l2.slices",)
    assert explore(space(SMS), [program()], [Stub()]).without_effect == ()


def test_the_front_by_hand():
    # One number: less of it is cheaper; each must be faster than all below it.
    found = explored("sm.count=10,20,30,40", [4, 5, 3, 3])
    assert found.is_on_front.tolist() == [True, False, True, False]
    # Of a wait more is cheaper.
    found = explored("latency.dram=100,200,300,400", [3, 3, 5, 4])
    assert found.is_on_front.tolist() == [False, True, False, True]


times = st.sampled_from([1.0, 2.0, 3.0, 4.0, np.nan])


@given(arrays(np.float64, 12, elements=times), st.permutations([10, 20, 30, 40]))
def test_the_front_is_that_of_all_pairs(found, sms):
    sweeps = (f"sm.count={','.join(map(str, sms))}", "latency.dram=300,100,200")
    model = explored(sweeps, found)
    sm, latency = model.space.numbers(np.arange(12)).values()
    cost = list(zip(sm, -latency, strict=True))
    for n in range(12):
        beaten = any(
            found[m] <= found[n] and cost[m][0] <= cost[n][0] and cost[m][1] <= cost[n][1]
            for m in range(12)
            if m != n
        )
        assert model.is_on_front[n] == (not np.isnan(found[n]) and not beaten)


def test_sensitivities_by_hand():
    found = explored(("sm.count=10,20,40", "l2.ways=4,8"), [8, 2, 4, 1, 2, 0.5])
    assert found.mean_times_s(0) == pytest.approx([4, 2, 1])
    assert found.elasticity(0) == pytest.approx(-1)
    assert found.mean_times_s(1) == pytest.approx([4, 1])
    assert found.elasticity(1) == pytest.approx(-2)


def test_sensitivities_compare_like_with_like():
    """Where a launch cannot run at one value, that combination counts at none."""
    found = explored(("sm.count=10,20", "l2.ways=4,8"), [8, 100, 4, np.nan])
    assert found.mean_times_s(0) == pytest.approx([8, 4])
    found = explored("l2.partitions=1,2", [np.nan, np.nan])
    assert np.isnan(found.mean_times_s(0)).all()
    assert np.isnan(found.elasticity(0))


def test_a_number_that_a_model_needs_is_named_before_anything_is_computed(
    program, set_numbers, tmp_path
):
    chip = set_numbers(CHIP, {"sm.issue_per_cycle": None})
    file = tmp_path / "results.db"
    without = DesignSpace(chip, (read_axis(SMS),))
    with pytest.raises(MissingNumberError, match=r"sm.issue_per_cycle"):
        explore(without, [program()], [load_model("roofline")], results=file)
    assert not file.exists()


def test_nothing_to_explore_is_said():
    with pytest.raises(InputError, match="no launch or no model"):
        explore(space(SMS), [], [Stub()])


def test_from_python(program):
    cases = program(repeats=(1, 2)).cases
    found = api.explore(cases, ["sm.count=60,120", "dram.bandwidth=1e12,2e12"], models=["roofline"])
    assert found.times_s.shape == (2, 4)
    assert found.numbers["sm.count"].tolist() == [60, 60, 120, 120]
    assert "synthetic by roofline: at best" in str(found)
    as_dict = found.as_dict(top=2)
    assert len(as_dict["results"][0]["best"]) == 2
    assert json.dumps(as_dict)
    several = api.explore({"a": cases[:1], "b": cases[1:]}, ["sm.count=60,120"])
    assert several.programs == ("a", "b")
    with pytest.raises(InputError, match="cases of one machine"):
        api.explore([], ["sm.count=60"])


def test_costs_fall_with_waits_alone():
    """What the front takes for cheaper is stated by unit; every unit is one or the other."""
    waits = {e.unit for path, e in ENTRIES.items() if path.startswith("latency.")}
    assert waits == {"cycles"}
