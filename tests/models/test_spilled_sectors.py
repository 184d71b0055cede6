"""What leaves the L2 cache of local memory takes the DRAM's time."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.frontends.workloads import LaunchFlags
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.dram import dram_time

SOURCE = """
extern "C" __global__ void keep(float* y, int k) {
    float kept[256];
    for (int n = 0; n < 256; n++) kept[n * k & 255] = n;
    float sum = 0;
    for (int n = 0; n < 256; n++) sum += kept[n * k & 255];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def test_the_dram_is_busy_with_what_is_stored_in_local_memory_and_read_back(tmp_path: Path) -> None:
    """A kilobyte for each thread, of which a wave has twenty times what the L2 cache holds."""
    source = tmp_path / "keep.cu"
    source.write_text(SOURCE)
    flags = LaunchFlags(grid="68 * 6", block="256", args=("y=f32[68 * 6 * 256]", "k=1"))
    [case] = api.cases(api.workload(source, flags), [api.machine("rtx-3080")])
    assert case.cache_counts is not None
    counts = case.cache_counts
    stored = sum(a.l2.sectors for a in counts.accesses if a.op_class == "store")
    assert counts.spilled_sectors == pytest.approx(stored, rel=0.1)
    found = {part.name: part.cycles for part in api.predict(case, "teg").bounds}
    expected = dram_time(case, Estimate.CENTRAL, "a test").seconds
    clock_hz = case.machine.number("clock.sm")
    assert found[Bottleneck.DRAM_BANDWIDTH] == pytest.approx(expected * clock_hz, rel=0.1)
