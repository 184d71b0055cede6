"""The roofline: the slowest resource alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelcast.ir import CacheState, OpClass, Space
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.models.roofline import Roofline
from kernelcast.models.terms.base import Bottleneck, launch_overhead
from kernelcast.profiling.profile import Footprint

BLOCKS = 1 << 18
LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL}
STORE = {"op_class": OpClass.STORE, "space": Space.GLOBAL}


def begun(machine):
    """Seconds until a launch has begun of which the L2 cache knows nothing."""
    return machine.get("launch.cold_overhead") or machine.get("launch.overhead") or 0.0


def saxpy(make_case, machine, blocks=BLOCKS):
    sectors = 4.0 * 8 * blocks
    size = int(32 * sectors)
    return make_case(
        machine,
        [LOAD, LOAD, {"op_class": OpClass.FP32}, STORE],
        blocks=blocks,
        footprints=[
            Footprint("x", size, True, False, sectors, sectors, sectors),
            Footprint("y", size, True, True, sectors, sectors, 2 * sectors, sectors),
        ],
    )


@pytest.mark.parametrize("name", ["gtx-280", "gtx-980", "h100-sxm", "b200"])
def test_a_stream_takes_its_bytes_over_the_bandwidth_that_streams_achieve(
    make_case, set_numbers, name
):
    """A third of them are written; a B200 moves a block's sooner than it begins the next."""
    machine = set_numbers(load_machine(name), {"launch.block_interval": None})
    p = Roofline().predict(saxpy(make_case, machine))
    known = [machine.number("dram.achieved_bandwidth")]
    known += [machine.get("dram.mixed_bandwidth") or known[0]]
    stream = 12 * 256 * BLOCKS * (1 / 3 / known[0] + 2 / 3 / known[1])
    assert p.time_s == pytest.approx(stream + begun(machine))
    assert p.bottleneck is Bottleneck.DRAM_BANDWIDTH


def test_a_bandwidth_set_by_hand_counts(make_case, set_numbers):
    """`--set dram.bandwidth=` must not be lost to the achieved one of the original chip."""
    faster = apply_overrides(load_machine("h100-sxm"), ["dram.bandwidth=6e12"])
    faster = set_numbers(faster, {"launch.block_interval": None, "l2.write_bandwidth": None})
    p = Roofline().predict(saxpy(make_case, faster))
    start = begun(faster)
    assert p.time_s == pytest.approx(12 * 256 * BLOCKS / 6e12 + start)
    assert any("set by hand" in note for note in p.assumptions)


def test_pin_bandwidth_is_an_assumption(make_case, set_numbers):
    unknown = [f"dram.{which}_bandwidth" for which in ("achieved", "mixed", "write")]
    machine = set_numbers(load_machine("h100-sxm"), dict.fromkeys(unknown))
    p = Roofline().predict(saxpy(make_case, machine))
    start = begun(machine)
    assert p.time_s == pytest.approx(12 * 256 * BLOCKS / 3.35e12 + start)
    assert any("pins" in note for note in p.assumptions)


@pytest.mark.parametrize(
    ("op_class", "bottleneck"),
    [
        (OpClass.FP32, Bottleneck.FP32),
        (OpClass.FP64, Bottleneck.FP64),
        (OpClass.LOGIC, Bottleneck.INT),
        (OpClass.SFU, Bottleneck.SFU),
        (OpClass.SHUFFLE, Bottleneck.LSU),
        (OpClass.BRANCH, Bottleneck.ISSUE),
    ],
)
def test_every_pipe_can_bind(make_case, op_class, bottleneck):
    machine = load_machine("a100-sxm-40gb")
    case = make_case(machine, [{"op_class": op_class, "times": 1000}], blocks=108 * 64)
    p = Roofline().predict(case)
    assert p.bottleneck is bottleneck
    assert p.bounds[0].name == bottleneck
    assert [b.cycles for b in p.bounds] == sorted((b.cycles for b in p.bounds), reverse=True)


def test_shared_memory_binds_by_its_conflicts(make_case):
    load = {"op_class": OpClass.LOAD, "space": Space.SHARED, "times": 100}
    machine = load_machine("h100-sxm")
    free, conflicting = (
        Roofline().predict(make_case(machine, [{**load, "access": a}], blocks=132 * 64))
        for a in ({}, {"passes": 3200})
    )
    assert conflicting.bottleneck is Bottleneck.SHARED_BANDWIDTH
    parts = [p.breakdown[0].cycles for p in (free, conflicting)]
    assert parts[1] == pytest.approx(32 * parts[0])


def test_one_block_more_than_a_whole_round_is_a_tail(make_case):
    machine = load_machine("h100-sxm")
    add = [{"op_class": OpClass.FP32, "times": 100_000}]
    whole, more = (Roofline().predict(make_case(machine, add, blocks=n)) for n in (132, 133))
    tails = [part.cycles for p in (whole, more) for part in p.breakdown if part.name == "tail"]
    assert tails[0] == 0
    assert more.cycles - more.breakdown[-1].cycles == pytest.approx(
        2 * (whole.cycles - whole.breakdown[-1].cycles)
    )


def test_a_short_kernel_is_bound_by_its_start(make_case):
    machine = load_machine("h100-sxm")
    p = Roofline().predict(make_case(machine, [LOAD], blocks=1))
    assert p.bottleneck is Bottleneck.LAUNCH_OVERHEAD
    assert p.time_s == pytest.approx(machine.number("launch.cold_overhead"), rel=0.01)


def test_a_launch_that_the_l2_cache_knows_begins_sooner(make_case, set_numbers):
    machine = load_machine("h100-sxm")
    case = make_case(machine, [LOAD], blocks=1)
    warm, cold = (
        launch_overhead(replace(case, caches=state))[0].cycles / machine.number("clock.sm")
        for state in (CacheState.WARM, CacheState.FLUSHED)
    )
    assert warm == pytest.approx(machine.number("launch.overhead"))
    assert cold == pytest.approx(machine.number("launch.cold_overhead"))
    unknown = set_numbers(machine, {"launch.cold_overhead": None})
    begun = launch_overhead(make_case(unknown, [LOAD]))[0].cycles / machine.number("clock.sm")
    assert begun == pytest.approx(warm)


def test_unknown_launch_overhead_is_told(make_case, set_numbers):
    machine = set_numbers(load_machine("h100-sxm"), {"launch.overhead": None})
    p = Roofline().predict(make_case(machine, [LOAD]))
    assert any("launch.overhead" in warning for warning in p.warnings)
