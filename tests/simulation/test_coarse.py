"""The coarse simulation: what can be worked out by hand, and what holds of every trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.simulation.coarse import (
    CoarseSm,
    CoarseTrace,
    MemoryTlp,
    Strategy,
    simulate_coarsely,
)
from kernelcast.simulation.coarse_loop import BARRIER, COMPUTE, MEMORY


def trace(*ops: tuple[int, float], penalty: float = 0.0) -> CoarseTrace:
    """Operations of a kind and a latency, whose peak is never reached."""
    n = len(ops)
    kinds = np.array([kind for kind, _ in ops], np.int8)
    return CoarseTrace(
        kind=kinds,
        latency=np.array([latency for _, latency in ops], np.float64),
        peak=np.full(n, np.inf),
        beyond=np.ones(n),
        penalty=np.full(n, penalty),
        floor=np.zeros(n),
    )


SM = CoarseSm(48, 8)


def test_one_warp_takes_its_latencies():
    run = simulate_coarsely(trace((COMPUTE, 20), (MEMORY, 500), (COMPUTE, 18)), SM, 1, 1)
    assert run.cycles == 538
    assert run.computing_cycles == 38
    assert list(run.idle) == [0, 500, 0]
    assert list(run.charged) == [20, 500, 18]


def test_warps_in_step_hide_a_latency_among_each_other():
    """Five warps of a chain of 20 cycles each: 4 cycles a turn, five turns at a time."""
    run = simulate_coarsely(trace(*[(COMPUTE, 20.0)] * 7), SM, 1, 5)
    assert run.cycles == pytest.approx(7 * 20)
    # Six turns with all five ready, and the last with one less after the other.
    assert run.tlp == pytest.approx((6 * 5 + 3) / 7)


def test_delay_is_divided_by_what_is_ready_once():
    """Two warps (Figure 5.6): both halves of the latency are set when they become ready."""
    run = simulate_coarsely(trace((COMPUTE, 10)), SM, 1, 2)
    assert run.cycles == 10


def test_beyond_its_peak_an_operation_takes_its_penalty():
    one = trace((COMPUTE, 22.0))
    beyond = CoarseTrace(
        one.kind,
        one.latency,
        np.array([11.0]),
        np.array([1 / 11]),
        np.array([2.0]),
        one.floor,
    )
    assert simulate_coarsely(beyond, SM, 1, 11).cycles == pytest.approx(22)
    assert simulate_coarsely(beyond, SM, 1, 12).cycles == pytest.approx(12 * 2 + 2)


def test_memory_and_computation_of_different_warps_overlap():
    """Warp 0 accesses memory while warp 1 computes: only what nobody covers is idle."""
    run = simulate_coarsely(trace((COMPUTE, 20), (MEMORY, 40)), SM, 1, 2)
    # Each computes 10 cycles; the first access, alone ready with one in execution, takes 20.
    assert run.cycles == 10 + 20 + 20
    assert run.idle[1] == 50 - run.computing_cycles


def test_a_warp_that_comes_back_alone_waits_alone_as_printed():
    loads = trace((MEMORY, 500), (MEMORY, 500))
    shared, alone = (
        simulate_coarsely(loads, CoarseSm(48, 8, memory_tlp=tlp), 1, 32).cycles for tlp in MemoryTlp
    )
    assert shared == pytest.approx(1000)
    assert alone == pytest.approx(500 + 32 * 500)


def test_a_barrier_lets_no_warp_pass_before_the_last():
    """Without it the first warp would access memory while the second computes."""
    free = simulate_coarsely(trace((COMPUTE, 20), (MEMORY, 40)), SM, 1, 2)
    held = simulate_coarsely(trace((COMPUTE, 20), (BARRIER, 0), (MEMORY, 40)), SM, 1, 2)
    assert free.cycles == 50
    assert held.cycles == 20 + 40
    assert held.idle[2] == 40


def test_blocks_come_as_others_go():
    """One block at a time: barriers and ends of blocks, four times over."""
    ops = trace((COMPUTE, 8), (BARRIER, 0), (COMPUTE, 8))
    assert simulate_coarsely(ops, CoarseSm(48, 1), 4, 2).cycles == 4 * 16
    assert simulate_coarsely(ops, CoarseSm(2, 8), 4, 2).cycles == 4 * 16


def test_more_units_take_more_warps_at_once():
    ops = trace((MEMORY, 100.0))
    narrow, wide = (
        simulate_coarsely(ops, CoarseSm(48, 8, memory_units=n), 1, 4).cycles for n in (1, 4)
    )
    assert (narrow, wide) == (100, 25)


def test_the_order_of_a_queue_changes_who_waits():
    """Warps with a long access first, or a short one: idle cycles differ, work does not."""
    ops = trace((COMPUTE, 10), (MEMORY, 100), (COMPUTE, 50))
    found = {
        s: simulate_coarsely(ops, CoarseSm(48, 8, compute_queue=s, memory_queue=s), 2, 3)
        for s in Strategy
    }
    assert len({round(run.cycles, 6) for run in found.values()}) > 1


OPERATIONS = st.lists(
    st.tuples(st.sampled_from([COMPUTE, MEMORY, BARRIER]), st.floats(0.125, 1e3)),
    min_size=1,
    max_size=12,
)


@example([(BARRIER, 1.0)] * 40 + [(COMPUTE, 8.0)], 4, 6, 3, Strategy.LAST, MemoryTlp.READY, 3)
@given(
    OPERATIONS,
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from(Strategy),
    st.sampled_from(MemoryTlp),
    st.integers(1, 3),
)
def test_what_holds_of_every_run(ops, blocks, warps, resident, strategy, tlp, units):
    given = [(kind, 0.0 if kind == BARRIER else cycles) for kind, cycles in ops]
    sm = CoarseSm(warps * resident, 8, units, units, strategy, strategy, tlp)
    run = simulate_coarsely(trace(*given), sm, blocks, warps)
    alone = sum(cycles for _, cycles in given)
    assert run.charged.sum() == pytest.approx(run.cycles)
    assert run.computing_cycles <= run.cycles * (1 + 1e-12)
    assert run.cycles <= alone * blocks * warps * (1 + 1e-9)
    # No warp is faster than its latency divided among all that are there at once.
    assert run.cycles >= alone / (warps * resident) * (1 - 1e-9)
    assert run.tlp <= warps * resident * (1 + 1e-9)


def test_a_block_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="block of 4 warps"):
        simulate_coarsely(trace((COMPUTE, 1)), CoarseSm(3, 8), 1, 4)


def test_units_are_needed():
    with pytest.raises(InputError, match="without units"):
        simulate_coarsely(trace((COMPUTE, 1)), CoarseSm(3, 8, memory_units=0), 1, 1)
