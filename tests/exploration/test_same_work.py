"""Whether threads do the same work in other blocks: tiles of both, and kernels that do not."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kept import CACHE

from kernelcast import api
from kernelcast.exploration.advice import LaunchSearch
from kernelcast.exploration.candidates import Likeness, proposed, why_fixed
from kernelcast.exploration.same_work import common_tiles, most_unlike
from kernelcast.forecasting.build import Build
from kernelcast.ir import Launch
from kernelcast.models import load_model
from kernelcast.profiling.run import ENOUGH

extents = st.sampled_from([1, 2, 3, 4, 6, 8])
threes = st.tuples(extents, extents, extents)


def threads_of(launch: Launch, blocks) -> set[tuple[int, ...]]:
    found: set[tuple[int, ...]] = set()
    for block in blocks:
        rest, x = divmod(block, launch.grid[0])
        z, y = divmod(rest, launch.grid[1])
        axes = zip((x, y, z), launch.block, strict=True)
        found.update(product(*(range(at * n, at * n + n) for at, n in axes)))
    return found


@given(threes, threes, threes, st.data())
def test_tiles_are_the_same_threads_in_both_and_no_two_overlap(one, other, grid, data):
    launches = [
        Launch(grid=tuple(-(-g * 8 // b) for g, b in zip(grid, block, strict=True)), block=block)
        for block in (one, other)
    ]
    tiles = common_tiles(*launches)
    if not tiles.count:
        return
    at, beside = (data.draw(st.integers(0, tiles.count - 1)) for _ in range(2))
    here, there = (
        {tile: threads_of(launch, tiles.blocks(launch, [tile])) for tile in (at, beside)}
        for launch in launches
    )
    assert here == there
    assert at == beside or not here[at] & here[beside]
    assert len(here[at]) == tiles.threads[0] * tiles.threads[1] * tiles.threads[2]


HEAD = """
/* kernelcast
[[launch]]
kernel = "work"
grid = [16, 16]
block = [32, 8]
args = { n = 512, x = "f32[512 * 512] random(1)", y = "f32[512 * 512]" }
*/
extern "C" __global__ void work(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
"""
TAIL = "\n    y[j * n + i] = sum;\n}\n"


def likeness_of(loop: str, folder) -> Likeness:
    (folder / "work.cu").write_text(HEAD + loop + TAIL)
    work = api.workload(folder / "work.cu")
    build = Build(cache=CACHE)
    search = LaunchSearch(work, api.machine("a100-sxm-80gb"), load_model("volkov"), build, ENOUGH)
    case = search.case(work.launches[-1])
    relatives = search.relatives(case)
    return relatives.likeness(proposed(case, None, why_fixed(case)))


@pytest.mark.parametrize(
    "loop",
    [
        "for (int k = threadIdx.x; k < n; k += blockDim.x) sum += x[j * n + k];",
        "for (int k = threadIdx.y; k < n; k += blockDim.y) sum += x[k * n + i];",
        "for (int k = 0; k < n; k += blockDim.x * blockDim.y) sum += x[j * n + k];",
    ],
    ids=["of rows", "of columns", "of blocks"],
)
def test_work_that_is_divided_among_the_threads_of_a_block_depends_on_it(loop, tmp_path):
    assert likeness_of(loop, tmp_path) is Likeness.NONE


@pytest.mark.parametrize(
    "loop",
    [
        "for (int k = 0; k < n; k++) sum += x[j * n + k];",
        "for (int k = 0; k < j; k++) sum += x[k * n + i];",
        "for (int k = 0; k < (i * 7919 + j * 104729) % 64; k++) sum += x[k * n + i];",
    ],
    ids=["even", "triangle", "uneven"],
)
def test_work_that_is_a_threads_own_does_not(loop, tmp_path):
    assert likeness_of(loop, tmp_path) is Likeness.AT_BEST


def test_the_most_unlike_launch_differs_along_every_axis_and_in_size():
    own = Launch(grid=(16, 64, 1), block=(32, 8, 1))
    others = [
        Launch(grid=(512 // x, 512 // y, 1), block=(x, y, 1))
        for x, y in ((32, 4), (64, 8), (64, 4), (128, 16), (16, 4))
    ]
    found = most_unlike(own, others)
    assert found is not None and found.block == (16, 4, 1)
