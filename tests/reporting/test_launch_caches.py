"""What the caches of a whole launch moved, and what is said of what it moves."""

from __future__ import annotations

import pytest

import kernelcast as kc
from kernelcast.errors import InputError
from kernelcast.hierarchy.caches.counts import AccessCounts, CacheCounts, Lookups, SimulatedBlocks
from kernelcast.ir import OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.reporting.documents.caches import cache_part, launch_part


def test_what_is_evicted_of_local_memory_counts_as_written_by_the_launch_alone():
    stored = Lookups(10.0, 10.0)
    store = AccessCounts(
        0, OpClass.STORE, Space.GLOBAL, None, 1.0, 1.0, 0.0, Lookups(), stored, 0.0, 10.0
    )
    every = SimulatedBlocks(1, 1, 0.0, True)
    counts = CacheCounts((store,), 0.0, 14.0, 14.0, 14.0, every, spilled_sectors=4.0)
    of_line, of_launch = cache_part(counts, lambda _: True), launch_part(counts)
    assert of_line is not None and of_launch is not None
    assert of_line.dram_written_bytes == 10 * SECTOR_BYTES
    assert of_launch.dram_written_bytes == 14 * SECTOR_BYTES
    assert launch_part(None) is None


def test_an_array_without_a_size_is_refused_in_a_line():
    with pytest.raises(InputError, match=r"f32\(\) says no size; write f32\(1024\)"):
        kc.f32()
