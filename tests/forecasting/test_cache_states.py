"""What launches find in the L2 cache, and what it makes of their traffic."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.errors import InputError, NotFoundError
from kernelcast.hierarchy.traffic import bound_traffic
from kernelcast.ir import CacheState

COPY = """
/* kernelcast
n = 65536
{caches}
[[launch]]
kernel = "copy"
grid = "n // 256"
block = 256
args = {{ x = "f32[n]", y = "f32[n]" }}
[[launch]]
kernel = "copy"
grid = "n // 256"
block = 256
args = {{ x = "f32[n]", y = "f32[n]" }}
*/
extern "C" __global__ void copy(const float* x, float* y) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}}
"""
BYTES = 4 * 65536


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("states")


def cases(folder: Path, written: str = "", caches: str | None = None):
    file = folder / "copy.cu"
    file.write_text(COPY.format(caches=written))
    return api.cases(api.workload(file), [api.machine("rtx-2080-ti")], caches=caches)


def dram(case) -> tuple[float, float]:
    counts = case.cache_counts
    return 32 * counts.dram_read_sectors, 32 * counts.dram_written_sectors


def test_cold_launches_read_and_write_all_and_flushed_ones_leave_what_they_write(folder):
    for case in cases(folder):
        assert dram(case) == (BYTES, BYTES)
        assert case.traffic.dram.low == case.traffic.dram.high == 2 * BYTES
    for case in cases(folder, caches="flushed"):
        assert dram(case) == (BYTES, 0)


def test_warm_launches_find_what_was_left(folder):
    for case in cases(folder, caches="warm"):
        assert dram(case) == (0, 0)
    tiny = api.machine("rtx-2080-ti", "l2.size=65536")
    case = replace(cases(folder, caches="warm")[1], machine=tiny)
    assert dram(case)[0] == BYTES


@pytest.mark.parametrize(("share", "left"), [(0.5, 0.5), (1.0, 1.0), (0.25, 0.25)])
def test_what_waits_to_be_written_back_is_no_more_than_a_share_of_the_l2_cache(folder, share, left):
    """The copy's 256 KiB, of which 64 KiB of cache could hold all that was written last."""
    tiny = api.machine("rtx-2080-ti", "l2.size=65536", f"l2.dirty_share={share}")
    (case, _) = cases(folder, caches="flushed")
    counts = replace(case, machine=tiny).cache_counts
    assert counts.dirty_sectors <= left * 2048
    assert 32 * counts.dram_written_sectors == BYTES - 32 * counts.dirty_sectors
    cold = replace(case, machine=tiny, caches=CacheState.COLD).cache_counts
    assert 32 * cold.dram_written_sectors == BYTES


def test_a_workload_says_what_its_launches_find(folder):
    (first, _) = cases(folder, 'caches = "warm"')
    assert (str(first.caches), dram(first)) == ("warm", (0, 0))
    assert str(cases(folder, 'caches = "warm"', caches="cold")[0].caches) == "cold"
    with pytest.raises(InputError, match="hot"):
        cases(folder, 'caches = "hot"')
    with pytest.raises(NotFoundError, match="hot"):
        cases(folder, caches="hot")


def test_a_chip_whose_caches_are_not_known_is_estimated_and_says_so(folder):
    case = cases(folder)[0]
    lacking = {k: v for k, v in case.machine.quantities.items() if k != "l2.ways"}
    unknown = replace(case, machine=replace(case.machine, quantities=lacking))
    assert unknown.cache_counts is None
    assert unknown.traffic.dram == bound_traffic(case.profile, unknown.machine).dram
    assert "no l2.ways" in unknown.traffic.assumptions[0]


def test_a_chip_that_caches_no_memory_says_that_nothing_is_warm(folder):
    case = replace(cases(folder)[0], machine=api.machine("gtx-280"), caches=CacheState.WARM)
    assert case.traffic.assumptions[0] == "gtx-280 has no caches that could be warm"
    assert replace(case, caches=CacheState.COLD).traffic.dram == case.traffic.dram
