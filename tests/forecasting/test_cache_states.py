"""What launches find in the L2 cache, and what it makes of their traffic."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.errors import InputError, NotFoundError
from kernelcast.hierarchy.traffic import bound_traffic

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
