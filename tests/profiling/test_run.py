"""Which blocks are executed where nobody says, and that a pilot leaves no trace in the profile."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast import api
from kernelcast.errors import BudgetError
from kernelcast.execution.memory import Memory
from kernelcast.ir import OpClass
from kernelcast.profiling import run
from kernelcast.profiling.run import Sampling, affordable_blocks, profile_launch

COUNT_DOWN = """
extern "C" __global__ void count(int* visits, const int* rounds) {
    int i = blockIdx.x * 32 + threadIdx.x;
    for (int r = 0; r < rounds[blockIdx.x]; r++) visits[i] += 1;
}
"""
BLOCKS = 2000


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    file = tmp_path_factory.mktemp("run") / "count.cu"
    file.write_text(COUNT_DOWN)
    return api.load(file, build=api.Build(cache=None))


@pytest.fixture
def launch():
    visits = api.s32(32 * BLOCKS)
    rounds = api.s32(BLOCKS, fill="ones")
    return api.Launch(grid=BLOCKS, block=32, args={"visits": visits, "rounds": rounds})


def visited(kernel, launch, sampling=run.ENOUGH):
    memory = Memory.build(kernel, launch)
    profile = profile_launch(kernel, launch, memory, sampling, keeps_memory=True)
    return profile, memory.array("visits").reshape(BLOCKS, 32)[:, 0]


def test_no_block_runs_twice_and_as_many_run_as_are_reported(kernel, launch):
    profile, visits = visited(kernel, launch)
    assert set(np.unique(visits)) == {0, 1}
    assert visits.sum() == profile.sample.blocks < profile.sample.of == BLOCKS


def test_exact_runs_every_block(kernel, launch):
    profile, visits = visited(kernel, launch, Sampling(exact=True))
    assert profile.sample.is_exact
    assert (visits == 1).all()


def test_a_given_sample_is_kept(kernel, launch):
    profile, visits = visited(kernel, launch, Sampling(blocks=77))
    assert profile.sample.blocks == visits.sum() == 77


def test_a_small_grid_is_executed_whole(kernel, launch):
    small = replace(launch, grid=(run.FEWEST_BLOCKS, 1, 1))
    profile, visits = visited(kernel, small)
    assert profile.sample.is_exact
    assert visits.sum() == run.FEWEST_BLOCKS


def test_equal_blocks_give_the_profile_of_the_whole_grid(kernel, launch):
    sampled, _ = visited(kernel, launch)
    exact, _ = visited(kernel, launch, Sampling(exact=True))
    for op in OpClass:
        assert sampled.counts.get(op) == exact.counts.get(op)
    assert sampled.sample.spread == 0


def test_costly_blocks_are_sampled_less(kernel, launch, monkeypatch):
    monkeypatch.setattr(run, "THREAD_INSTRUCTIONS", 40 * 32 * 100)
    cheap, _ = visited(kernel, launch)
    rounds = api.s32(BLOCKS, fill="randint(90, 110, 1)")
    costly, _ = visited(kernel, replace(launch, args={**launch.args, "rounds": rounds}))
    assert costly.sample.blocks < cheap.sample.blocks


def test_the_budget_stops_the_pilot_too(kernel, launch):
    rounds = api.s32(BLOCKS, fill="randint(1000000, 1000001, 1)")
    endless = replace(launch, args={**launch.args, "rounds": rounds})
    with pytest.raises(BudgetError):
        visited(kernel, endless, Sampling(budget=10_000))


class Pilot:
    def __init__(self, per_block: int) -> None:
        self.blocks = (0, 1)
        self.thread_instructions = 2 * per_block


@given(st.integers(0, 10**12))
def test_the_number_of_blocks_stays_within_its_bounds(per_block):
    pilot: Any = Pilot(per_block)
    chosen = affordable_blocks(pilot)
    assert run.FEWEST_BLOCKS <= chosen <= run.MOST_BLOCKS
    if run.FEWEST_BLOCKS < chosen < run.MOST_BLOCKS:
        assert chosen * per_block <= run.THREAD_INSTRUCTIONS < (chosen + 1) * per_block


def test_a_pilot_with_a_long_trace_ends_in_the_smallest_sample(kernel, launch, monkeypatch):
    monkeypatch.setattr(run, "_PILOT_BYTES", 0)
    profile, visits = visited(kernel, launch)
    assert profile.sample.blocks == visits.sum() == run.FEWEST_BLOCKS
