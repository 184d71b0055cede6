"""Lanes with different masks exchange values each within its own group, in PTX and machine code."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.launches import launch_from_flags
from tests.execution.machine_code import kernel_in

ISAS = ("ptx of sm_80", *(f"sass of sm_{n}" for n in (80, 86, 89, 90, 120)))
REDUCED, BALLOT, ALL, ANY, SAME, ALIKE = range(6)

SOURCE = """
extern "C" __global__ void k(const unsigned* masks, unsigned* out) {
  unsigned t = threadIdx.x, m = masks[t];
  int agree;
  out[t] = __reduce_add_sync(m, t * t);
  out[32 + t] = __ballot_sync(m, t % 3 == 0);
  out[64 + t] = __all_sync(m, t < 24);
  out[96 + t] = __any_sync(m, t == 9);
  out[128 + t] = __match_any_sync(m, t / 6);
  out[160 + t] = __match_all_sync(m, t / 16, &agree);
}
"""

FROM_OUTSIDE = """
extern "C" __global__ void k(unsigned* out) {
  int t = threadIdx.x, v = 100 + t;
  if (t < 20) {
    out[t] = __shfl_xor_sync(0xfffff, v, 16);
    out[32 + t] = __shfl_sync(0xfffff, v, 3 * t);
  }
}
"""


def bits(lanes: NDArray[np.bool_]) -> int:
    return sum(1 << int(lane) for lane in np.flatnonzero(lanes))


def expected(labels: NDArray[np.int64]) -> NDArray[np.uint32]:
    """What every lane finds in the group of those with its label."""
    t = np.arange(32)
    found = np.zeros((6, 32), np.uint32)
    for lane in t:
        group = labels == labels[lane]
        found[REDUCED, lane] = (t * t)[group].sum()
        found[BALLOT, lane] = bits(group & (t % 3 == 0))
        found[ALL, lane] = (t < 24)[group].all()
        found[ANY, lane] = (t == 9)[group].any()
        found[SAME, lane] = bits(group & (t // 6 == lane // 6))
        found[ALIKE, lane] = bits(group) if len(set((t // 16)[group].tolist())) == 1 else 0
    return found


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", ["engine", "reference"])
@pytest.mark.parametrize("groups", [1, 3, 32])
def test_lanes_exchange_values_within_their_group(isa: str, executor: str, groups: int) -> None:
    """Wrong if a lane of another mask takes part, or one of its own does not."""
    labels = np.random.default_rng(groups).integers(groups, size=32)
    launch = launch_from_flags("1", "32", 0, ["masks=u32[32]", "out=u32[192]"])
    kernel = kernel_in(SOURCE, isa)
    memory = Memory.build(kernel, launch)
    memory.array("masks")[:] = [bits(labels == label) for label in labels]
    execute(kernel, launch, memory, executor=executor)
    assert np.array_equal(memory.array("out").reshape(6, 32), expected(labels))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_a_lane_keeps_its_value_if_the_one_it_reads_takes_no_part(isa: str, executor: str) -> None:
    """Of the machine that is left open; both executors must do the same."""
    launch = launch_from_flags("1", "32", 0, ["out=u32[64]"])
    kernel = kernel_in(FROM_OUTSIDE, isa)
    memory = Memory.build(kernel, launch)
    execute(kernel, launch, memory, executor=executor)
    found = memory.array("out").reshape(2, 32)[:, :20]
    lanes = np.arange(20)
    for row, source in zip(found, (lanes ^ 16, 3 * lanes % 32), strict=True):
        assert np.array_equal(row, 100 + np.where(source < 20, source, lanes))
