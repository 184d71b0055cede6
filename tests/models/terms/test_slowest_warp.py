"""Volkov 2016, section 3.7: warps wait at barriers for the slowest of their block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.ir import BasicBlock, Guard, Instruction, Kernel, OpClass, Register, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.slowest_warp import slowest_cycles
from kernelcast.models.volkov import SLOWER_WARPS, Volkov
from kernelcast.profiling.profile import Footprint, WarpPath

P = Register("p", "pred")


def graph(*successors: tuple[int, ...], barriers: tuple[int, ...] = ()) -> Kernel:
    """A kernel of one instruction per basic block, a barrier in some."""
    instructions = tuple(
        Instruction(b, "op", (), (), OpClass.BARRIER if b in barriers else OpClass.FP32)
        for b in range(len(successors))
    )
    blocks = tuple(BasicBlock(b, b, b + 1, to) for b, to in enumerate(successors))
    return Kernel("hand", "sass", "sm_90", (), instructions, blocks)


def slowest(kernel: Kernel, entered, cycles, warps: int = 8) -> float:
    return slowest_cycles(kernel, np.array(entered, float), np.array(cycles, float), warps)


IF = graph((1, 2), (2,), ())
EITHER = graph((1, 2), (3,), (3,), ())


def test_warps_that_do_the_same_do_not_wait():
    assert slowest(IF, [1, 1, 1], [10, 100, 10]) == 120
    assert slowest(IF, [1, 0, 1], [10, 100, 10]) == 20


@pytest.mark.parametrize(("entered", "share"), [(1 / 8, 1), (1 / 2, 1), (1 / 80, 0.1)])
def test_one_warp_that_takes_a_longer_path_holds_up_its_block(entered, share):
    """Whether one of eight does or four; where it is one of 80, in a tenth of the blocks."""
    assert slowest(IF, [1, entered, 1], [10, 100, 10]) == pytest.approx(20 + 100 * share)


def test_a_warp_alone_in_its_block_waits_for_nobody():
    assert slowest(IF, [1, 1 / 8, 1], [10, 100, 10], warps=1) == pytest.approx(20 + 100 / 8)


def test_of_two_paths_the_slowest_takes_the_longer():
    assert slowest(EITHER, [1, 1 / 8, 7 / 8, 1], [10, 100, 30, 10]) == pytest.approx(120)
    assert slowest(EITHER, [1, 7 / 8, 1 / 8, 1], [10, 30, 100, 10]) == pytest.approx(120)


def test_a_rare_path_is_the_slowest_in_a_few_blocks_only():
    expected = 20 + 0.1 * 100 + 0.9 * 30
    assert slowest(EITHER, [1, 1 / 80, 79 / 80, 1], [10, 100, 30, 10]) == pytest.approx(expected)


def test_a_warp_whose_lanes_diverge_takes_both_paths():
    assert slowest(EITHER, [1, 1, 1, 1], [10, 100, 30, 10]) == pytest.approx(150)
    assert slowest(EITHER, [1, 0.75, 0.75, 1], [10, 100, 30, 10]) == pytest.approx(150)
    assert slowest(EITHER, [1, 1, 0.25, 1], [10, 100, 30, 10]) == pytest.approx(150)


def test_paths_within_a_path_are_taken_by_its_warps():
    """One warp of eight comes by; it takes the inner path in a quarter of the blocks."""
    nested = graph((1, 4), (2, 3), (3,), (4,), ())
    found = slowest(nested, [1, 1 / 8, 1 / 32, 1 / 8, 1], [10, 20, 100, 30, 10])
    assert found == pytest.approx(20 + 50 + 0.25 * 100)


# do { if (..) { .. } barrier } while (..), and the same without the barrier
ROUNDS = ((1,), (2, 3), (3,), (1, 4), ())


def test_in_a_loop_with_a_barrier_every_round_waits():
    """A tree reduction by 256 threads: 4, 2, 1, 1, 1, 1, 1, 1 of 8 warps add, in 8 rounds."""
    entered = [1, 8, 12 / 8, 8, 1]
    cycles = [100, 10, 50, 10, 20]
    synchronised, diverged = graph(*ROUNDS, barriers=(3,)), graph(*ROUNDS)
    assert slowest(synchronised, entered, cycles) == pytest.approx(100 + 8 * (10 + 50 + 10) + 20)
    # Without the barrier they may run ahead: one warp adds at least twice.
    assert slowest(diverged, entered, cycles) == pytest.approx(100 + 8 * 20 + 2 * 50 + 20)


def test_rounds_of_unequal_number_differ_by_one_at_least():
    loop = graph((1,), (2, 3), (1,), ())
    found = slowest(loop, [1, 4.25, 3.25, 1], [10, 5, 100, 10])
    assert found == pytest.approx(10 + 5 * 5 + 4 * 100 + 10)
    assert slowest(loop, [1, 4, 3, 1], [10, 5, 100, 10]) == pytest.approx(340)


def test_what_follows_a_loop_of_unequal_rounds_is_entered_once():
    tail = graph((1,), (1, 2), (3,), (3, 4), ())
    found = slowest(tail, [1, 3.5, 1, 7.5, 1], [10, 100, 1000, 1, 5])
    assert found == pytest.approx(10 + 400 + 1000 + 8 + 5)


def test_all_warps_go_through_a_barrier_together():
    """Half of the blocks leave at once: the other half holds up none of them."""
    early = graph((1, 2), (2,), (), barriers=(1,))
    assert slowest(early, [1, 0.5, 1], [10, 100, 10]) == pytest.approx(70)


def test_between_two_barriers_and_after_them_each_has_its_slowest():
    two = graph((1, 2), (2,), (3, 4), (4,), (), barriers=(2, 4))
    found = slowest(two, [1, 1 / 8, 1, 1 / 8, 1], [10, 100, 10, 60, 10])
    assert found == pytest.approx(30 + 100 + 60)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 50)), min_size=1, max_size=6),
    st.integers(1, 32),
    st.integers(1, 9),
)
def test_the_slowest_is_never_faster_than_the_mean(ifs, warps, rounds):
    """A loop over if-elses in a row, with a barrier and without."""
    successors: list[tuple[int, ...]] = [(1,)]
    entered, cycles = [1.0], [1.0]
    for left, right, long in ifs:
        at = len(successors)
        successors += [(at + 1, at + 2), (at + 3,), (at + 3,)]
        entered += [rounds, rounds * left, rounds * max(1 - left, right)]
        cycles += [1.0, long, 10.0]
    last = len(successors)
    successors += [(1, last + 1), ()]
    entered += [rounds, 1.0]
    cycles += [1.0, 1.0]
    mean = np.dot(entered, cycles)
    apart = slowest(graph(*successors), entered, cycles, warps)
    together = slowest(graph(*successors, barriers=(last,)), entered, cycles, warps)
    most = np.dot(np.maximum(entered, rounds), cycles)
    assert mean * (1 - 1e-9) <= apart <= most * (1 + 1e-9)
    assert mean * (1 - 1e-9) <= together <= most * (1 + 1e-9)


# ------------------------------------------------------------------ Listing 3.3


FERMI = load_machine("gtx-480")


def listing_3_3(make_case, longer: bool, machine=FERMI, blocks: int = 15):
    """Two warps on Fermi; `longer` says which of them stands for both in the profile."""
    load = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "r", "reads": ("a",)}
    add = {"op_class": OpClass.FP32, "writes": "r", "reads": ("r",)}
    sectors = 4.0 * blocks
    case = make_case(
        machine,
        [{"op_class": OpClass.BRANCH}, load, add, {"op_class": OpClass.BARRIER}, add],
        blocks=blocks,
        threads=64,
        footprints=[Footprint("a", 1, True, False, sectors, sectors, sectors)],
    )
    branch, *others = case.kernel.instructions
    kernel = replace(
        case.kernel,
        instructions=(replace(branch, guard=Guard(P), reads=(P,)), *others),
        blocks=(BasicBlock(0, 0, 1, (1, 2)), BasicBlock(1, 1, 3, (2,)), BasicBlock(2, 3, 5, ())),
    )
    way = np.array([0, 1, 2] if longer else [0, 2], np.int32)
    profile = replace(
        case.profile,
        kernel=kernel,
        accesses=tuple(
            replace(a, **{f: getattr(a, f) / 2 for f in ("requests", "lanes", "sectors", "lines")})
            for a in case.profile.accesses
        ),
        warp=WarpPath(0, 0, way, np.full(len(way), 32, np.int32), 5 if longer else 3),
        instruction_warps=np.array([2, 1, 1, 2, 2], np.float64) * blocks,
    )
    return replace(case, kernel=kernel, profile=profile)


@pytest.mark.parametrize("longer", [True, False])
def test_listing_3_3_both_warps_leave_the_barrier_at_580(make_case, longer):
    """Whichever warp the profile holds. The listing's branch takes 28 cycles, here the mean of 28
    and 32, and its load 512, here the 513 of Table 6.2."""
    case = listing_3_3(make_case, longer)
    p = Volkov(contention=False).predict(case)
    replacement = case.machine.number("latency.block_replacement")
    leave = p.terms["latency bound, cycles"] - replacement
    assert leave == pytest.approx(580 + 2 + 1, abs=1e-9)
    wait = p.terms["waiting for slower warps of the block, cycles"]
    assert wait == pytest.approx((513 + 6) / 2)  # the load and the addition, of half of the warps
    parts = {part.name: part.cycles for part in p.breakdown}
    exposed = sum(cycles for name, cycles in parts.items() if name.startswith("exposed"))
    assert parts["exposed barriers"] / exposed == pytest.approx(wait / (leave + replacement))
    assert SLOWER_WARPS in p.assumptions


@pytest.mark.parametrize("longer", [True, False])
def test_listing_3_3_with_its_own_latencies(make_case, set_numbers, longer):
    """28 cycles for the branch that the slower warp does not take, 512 for its load: 580."""
    machine = set_numbers(FERMI, {"latency.branch": 28, "latency.dram": 512})
    case = listing_3_3(make_case, longer, machine)
    terms = Volkov(contention=False).predict(case).terms
    replacement = machine.number("latency.block_replacement")
    assert terms["latency bound, cycles"] - replacement == pytest.approx(580, abs=1e-9)


def test_waiting_for_slower_warps_can_be_what_binds(make_case):
    """One warp of 32 works, and the others stand at the barrier."""
    case = listing_3_3(make_case, longer=False)
    few = replace(case.launch, block=(1024, 1, 1))
    warps = 32 * case.launch.blocks
    times = np.array([warps, case.launch.blocks, case.launch.blocks, warps, warps], np.float64)
    case = replace(case, launch=few, profile=replace(case.profile, launch=few))
    case = replace(case, profile=replace(case.profile, instruction_warps=times))
    p = Volkov(contention=False).predict(case)
    assert p.bottleneck in (Bottleneck.BARRIERS, Bottleneck.LAUNCH_OVERHEAD)
    assert Volkov(contention=False).view(case).waits_for is Bottleneck.BARRIERS


def test_without_a_barrier_nobody_is_said_to_wait_at_one(make_case):
    """The same warps, of which one of 32 works, leave the listing's kernel without its barrier."""
    with_barrier = listing_3_3(make_case, longer=False)
    alone = [
        replace(i, op_class=OpClass.INT) if i.op_class is OpClass.BARRIER else i
        for i in with_barrier.kernel.instructions
    ]
    kernel = replace(with_barrier.kernel, instructions=tuple(alone))
    profile = replace(with_barrier.profile, kernel=kernel)
    case = replace(with_barrier, kernel=kernel, profile=profile)
    p = Volkov(contention=False).predict(case)
    parts = {part.name: part.cycles for part in p.breakdown}
    assert parts["exposed slower warps"] > 0
    assert "exposed barriers" not in parts
    assert p.bottleneck is not Bottleneck.BARRIERS


def test_warps_that_are_alike_are_not_said_to_wait(make_case):
    add = {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",), "times": 100}
    p = Volkov().predict(make_case(load_machine("gtx-480"), [add]))
    assert p.terms["waiting for slower warps of the block, cycles"] == 0
    assert SLOWER_WARPS not in p.assumptions
