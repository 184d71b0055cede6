"""What follows which clock: by hand, as laws, and what a machine says of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.machines.clocks import CLOCKS, at_clocks
from kernelcast.machines.loader import apply_overrides, load_machine, machine_names
from kernelcast.machines.machine import Machine, Provenance

NUMBERS = {
    "clock.sm": 1e9,
    "clock.memory": 2e9,
    "latency.fp32": 4.0,
    "latency.l1": 30.0,
    "latency.l2": 200.0,
    "latency.dram": 500.0,
    "latency.tlb_miss": 300.0,
    "dram.core_latency": 50e-9,
    "l2.bandwidth": 4e12,
    "dram.bandwidth": 1e12,
    "dram.scattered_rate": 8e9,
    "atomics.same_address": 1e-9,
    "launch.overhead": 2e-6,
}


def at(clocks: dict[str, float], **more: float) -> dict[str, float]:
    """`NUMBERS`, with `.` for `__` in further ones, at other clocks."""
    known = NUMBERS | {path.replace("__", "."): value for path, value in more.items()}
    return known | clocks | at_clocks(known.get, clocks)


def test_the_sm_alone_at_half_its_clock():
    """Where the L2 cache has a clock of its own: 170 ns beyond L1 and 300 ns of DRAM stay."""
    slow = at({"clock.sm": 0.5e9}, clock__l2=1e9)
    assert slow["latency.fp32"] == 4
    assert slow["latency.l1"] == 30
    assert slow["latency.l2"] == 30 + 170 / 2
    assert slow["latency.dram"] == 30 + 170 / 2 + 300 / 2
    assert slow["latency.tlb_miss"] == 150
    assert (slow["l2.bandwidth"], slow["dram.bandwidth"]) == (4e12, 1e12)


def test_the_l2_cache_has_the_clock_of_the_sm_where_nothing_else_is_said():
    slow = at({"clock.sm": 0.5e9})
    assert slow["latency.l2"] == 200
    assert slow["latency.dram"] == 200 + 300 / 2
    assert (slow["l2.bandwidth"], slow["dram.bandwidth"]) == (2e12, 1e12)
    assert slow["atomics.same_address"] == 2e-9


def test_a_clock_of_the_l2_cache_that_is_given_holds_it():
    held = at({"clock.sm": 0.5e9, "clock.l2": 1e9})
    assert held["l2.bandwidth"] == 4e12
    assert held["latency.l2"] == 30 + 170 / 2
    assert at({"clock.l2": 2e9})["latency.l2"] == 30 + 170 / 2


def test_the_memory_alone_at_half_its_clock():
    """Of 300 cycles of DRAM 50 are those of its cells, which take as long at any clock."""
    slow = at({"clock.memory": 1e9})
    assert slow["latency.l2"] == 200
    assert slow["latency.dram"] == 200 + 50 + 2 * 250
    assert (slow["dram.bandwidth"], slow["dram.scattered_rate"]) == (0.5e12, 4e9)
    assert slow["l2.bandwidth"] == 4e12


def test_what_follows_no_clock():
    clocks = {"clock.sm": 0.7e9, "clock.memory": 1.1e9}
    assert at(clocks)["launch.overhead"] == 2e-6


def test_a_chip_without_caches_has_all_beyond_the_sm_in_the_memory():
    known = {"clock.sm": 1e9, "latency.shared": 40.0, "latency.dram": 440.0}
    assert at_clocks(known.get, {"clock.sm": 2e9})["latency.dram"] == 40 + 2 * 400


def test_a_memory_whose_clock_nobody_knows_cannot_be_rescaled():
    with pytest.raises(InputError, match=r"no clock\.memory"):
        load_machine("gh200").with_quantities(
            {"clock.memory": load_machine("h100-sxm").quantities["clock.memory"]}
        )


def seconds(machine: Machine, path: str) -> float:
    return machine.number(path) / machine.number("clock.sm")


@pytest.mark.parametrize("name", machine_names())
def test_the_dram_takes_as_long_at_any_clock_of_the_sm(name):
    """But for what a load spends inside the SM: that many cycles more or fewer."""
    fast = load_machine(name)
    slow = apply_overrides(fast, [f"clock.sm={fast.number('clock.sm') / 2:g}"])
    longer = seconds(slow, "latency.dram") - seconds(fast, "latency.dram")
    near = fast.get("latency.l2")
    most = fast.number("latency.shared") if near is None else near
    assert 0 <= longer <= most / fast.number("clock.sm") * (1 + 1e-9)
    assert fast.number("latency.dram") / slow.number("latency.dram") > 1.1


HERTZ = st.floats(1e8, 1e10)
GPUS = st.sampled_from([n for n in machine_names() if load_machine(n).get("clock.memory")])


@given(GPUS, st.dictionaries(st.sampled_from(CLOCKS), HERTZ, min_size=1))
def test_there_and_back_again_is_where_it_was(name, clocks):
    machine = load_machine(name)
    before = {path: machine.get(path) for path in clocks}
    if before.get("clock.l2", 1) is None:
        before["clock.l2"] = machine.number("clock.sm")
    there = apply_overrides(machine, [f"{path}={hz!r}" for path, hz in clocks.items()])
    back = apply_overrides(there, [f"{path}={hz!r}" for path, hz in before.items()])
    for path, quantity in machine.quantities.items():
        if path not in CLOCKS and not isinstance(quantity.value, tuple):
            assert back.number(path) == pytest.approx(quantity.value, rel=1e-9)


@given(GPUS, HERTZ, HERTZ)
def test_no_latency_of_the_dram_grows_with_a_faster_memory(name, one, other):
    machine = load_machine(name)
    slow, fast = (apply_overrides(machine, [f"clock.memory={hz!r}"]) for hz in sorted((one, other)))
    assert fast.number("latency.dram") <= slow.number("latency.dram") * (1 + 1e-12)
    assert fast.number("dram.bandwidth") >= slow.number("dram.bandwidth")


def test_the_present_clock_changes_nothing():
    machine = load_machine("t4")
    same = apply_overrides(machine, [f"clock.sm={machine.number('clock.sm'):g}"])
    for path, quantity in machine.quantities.items():
        if path != "clock.sm":
            assert same.quantities[path] == quantity


def test_what_was_rescaled_says_so_and_is_no_override():
    slow = apply_overrides(load_machine("h100-sxm"), ["clock.sm=1.0e9"])
    latency = slow.quantities["latency.l2"]
    assert latency.kind is Provenance.ASSUMED
    assert latency.source.startswith("rescaled to clock.sm of 1 GHz: 282.9 by measured (kernelcast")
    assert slow.overrides == ("clock.sm",)


def test_a_number_given_beside_the_clock_is_that_at_the_clock():
    slow = apply_overrides(load_machine("h100-sxm"), ["latency.dram=400", "clock.sm=1.0e9"])
    assert slow.number("latency.dram") == 400
