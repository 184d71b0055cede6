"""What cannot be simulated is one clear line, and never a loop without an end."""

from __future__ import annotations

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, request, streams

from kernelcast.errors import ExecutionError, MissingNumberError
from kernelcast.ir import Launch, OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models import load_model
from kernelcast.profiling import layout as spaces

MACHINE = load_machine("h100-sxm")
ADD, BARRIER = Op(OpClass.FP32, stall=4), Op(OpClass.BARRIER)


def test_warps_that_wait_at_different_barriers_are_named(monkeypatch):
    kernel = program([BARRIER, ADD, BARRIER, EXIT], [1, 1, 1, 1])
    setting = Setting(MACHINE)
    code = setting.code(kernel)
    code.table["barrier"][2] = 1
    monkeypatch.setattr(Setting, "code", lambda *_: code)
    ways = [[entering(0) + entering(3), entering(1) + entering(2) + entering(3)]]
    with pytest.raises(ExecutionError, match="never completed") as caught:
        played(kernel, streams(ways), setting)
    assert "warp 0, instruction 0 (bar.sync) waits since cycle 0" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_barrier_that_warps_end_before_is_completed():
    kernel = program([BARRIER, EXIT], [1, 1])
    found = played(kernel, streams([[entering(0) + entering(1), entering(1)]]), Setting(MACHINE))
    assert found.issued.tolist() == [1, 2]


@pytest.mark.parametrize("space", [spaces.GLOBAL, spaces.SHARED])
def test_an_access_that_the_code_does_not_make_is_named(space):
    kernel = program([ADD, EXIT])
    words = entering(0) + request(0, space, [1])
    with pytest.raises(ExecutionError, match="not one of this code") as caught:
        played(kernel, streams([[words]]), Setting(MACHINE))
    assert "warp 0, instruction" in str(caught.value) and "cycle" in str(caught.value)


def test_an_access_before_its_basic_block_is_named():
    kernel = program([Op(OpClass.LOAD, space=Space.GLOBAL, writes="a"), EXIT])
    words = request(0, spaces.GLOBAL, [1]) + entering(0)
    with pytest.raises(ExecutionError, match="not one of this code"):
        played(kernel, streams([[words]]), Setting(MACHINE))


def test_a_simulation_ends_at_its_limit():
    kernel = program([ADD] * 9 + [EXIT])
    done = streams([[entering(0)]] * 40)
    found = played(kernel, done, Setting(MACHINE, 2), most_issued=100)
    assert found.is_cut
    assert 100 <= found.issued.sum() <= 104
    assert not played(kernel, done, Setting(MACHINE, 2)).is_cut


def test_events_are_noted_as_far_as_there_is_room():
    kernel = program([ADD] * 9 + [EXIT])
    found = played(kernel, streams([[entering(0)]] * 4), Setting(MACHINE), most_events=7)
    assert len(found.events) == 7
    assert found.issued.sum() == 40


@pytest.mark.parametrize("path", ["throughput.load", "latency.shared", "sm.issue_per_cycle"])
def test_a_unit_that_the_machine_lacks_is_named(make_case, set_numbers, path):
    machine = set_numbers(MACHINE, {path: None})
    case = make_case(machine, [{"op_class": OpClass.FP32, "writes": "x"}], blocks=4)
    with pytest.raises(MissingNumberError, match=path) as caught:
        load_model("teg").predict(case)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "path", ["throughput.fp32", "throughput.load", "shared.bandwidth", "l2.bandwidth", "clock.sm"]
)
def test_a_width_of_zero_is_refused_by_the_machine(path):
    from kernelcast.errors import InputError
    from kernelcast.machines.loader import apply_overrides

    with pytest.raises(InputError, match=path.replace(".", r"\.")):
        apply_overrides(MACHINE, [f"{path}=0"])


def test_a_block_without_warps_of_its_own_is_replaced():
    """Warps whose stream is empty are there, and nothing waits for them."""
    kernel = program([ADD, EXIT])
    found = played(kernel, streams([[[], []], [entering(0), []]]), Setting(MACHINE))
    assert found.issued.sum() == 2
    assert Launch((2, 1, 1), (64, 1, 1)).blocks == len(found.times)
