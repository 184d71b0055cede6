"""What blocks share with their neighbours is what their sets of sectors say, and costs little."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast import api
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.profiling import neighbours, run
from kernelcast.profiling.neighbours import AXES, MOST_GROUPS, SETS, choose_groups
from kernelcast.profiling.run import Sampling, profile_launch

SOURCE = """
extern "C" __global__ void star(const float* u, float* v, int nx, int ny, int nz) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z;
    int plane = nx * ny, at = z * plane + y * nx + x;
    float sum = u[at];
    if (x > 0) sum += u[at - 1];
    if (x < nx - 1) sum += u[at + 1];
    if (y > 0) sum += u[at - nx];
    if (y < ny - 1) sum += u[at + nx];
    if (z > 0) sum += u[at - plane];
    if (z < nz - 1) sum += u[at + plane];
    v[at] = sum;
}

// Every block reads a row of A and a column of B, of 32 words for each block.
extern "C" __global__ void product(const float* a, const float* b, float* c) {
    int x = blockIdx.x, y = blockIdx.y;
    c[(y * gridDim.x + x) * 32 + threadIdx.x] += a[y * 32 + threadIdx.x] + b[x * 32 + threadIdx.x];
}

// A block that runs twice reads outside the table. Its cursor has a sector of its own.
extern "C" __global__ void once(int* cursor, const float* table, float* out) {
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    int at = cursor[8 * block];
    __syncthreads();
    if (threadIdx.x == 0) cursor[8 * block] = at + (1 << 22);
    out[block * 32 + threadIdx.x] = table[4 * at + threadIdx.x];
}
"""


@pytest.fixture(scope="module", params=["ptx", "sass"])
def load(request, tmp_path_factory):
    file = tmp_path_factory.mktemp("neighbours") / "shared.cu"
    file.write_text(SOURCE)
    return lambda name: api.load(file, kernel=name, build=api.Build(cache=None, isa=request.param))


@pytest.fixture
def executed(monkeypatch):
    """The blocks of every call of the executor."""
    calls = []

    def spy(run, *consumers, **options):
        calls.append(run.blocks.indices)
        return execute(run, *consumers, **options)

    execute = Run.execute
    monkeypatch.setattr(Run, "execute", spy)
    return calls


def star(x, y, z):
    nx, ny, nz = 32 * x, 4 * y, z
    cube = api.f32(nx * ny * nz)
    args = {"u": cube, "v": cube, "nx": nx, "ny": ny, "nz": nz}
    return api.Launch(grid=(x, y, z), block=(32, 4), args=args, kernel="star")


def product_of(x, y):
    args = {"a": api.f32(32 * y), "b": api.f32(32 * x), "c": api.f32(32 * x * y, fill="ones")}
    return api.Launch(grid=(x, y), block=32, args=args, kernel="product")


def profiled(kernel, launch, sampling=run.ENOUGH, **options):
    memory = Memory.build(kernel, launch)
    return profile_launch(kernel, launch, memory, sampling, **options), memory


def fresh(profile, label):
    return next(f.fresh for f in profile.footprints if f.label == label)


def read_by_star(grid, block):
    """The sectors of u that a block reads."""
    gx, gy, gz = grid
    x, y, z = block % gx, block // gx % gy, block // (gx * gy)
    sectors = set()
    for dy, s in product(range(4), range(4)):
        at = (z, 4 * y + dy, 4 * x + s)
        beside = [(0, 0, 0), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0)]
        beside += [(0, 0, -1)] if s == 0 else [(0, 0, 1)] if s == 3 else []
        for step in beside:
            near = tuple(a + d for a, d in zip(at, step, strict=True))
            if all(0 <= a < n for a, n in zip(near, (gz, 4 * gy, 4 * gx), strict=True)):
                sectors.add(near)
    return sectors


@pytest.mark.parametrize("grid", [(9, 8, 1), (6, 1, 9), (1, 7, 8), (5, 4, 6), (2, 2, 16)])
def test_a_stencil_shares_what_the_sets_of_its_blocks_say(load, grid):
    profile, _ = profiled(load("star"), star(*grid))
    groups = choose_groups(grid, profile.sample.blocks)
    expected = []
    for axes in range(SETS):
        new = 0
        for group in groups:
            before = (read_by_star(grid, b) for b in group.along(axes))
            new += len(read_by_star(grid, group.block).difference(*before))
        expected.append(new)
    assert fresh(profile, "u") == pytest.approx([e / expected[0] for e in expected])
    assert set(fresh(profile, "v")) == {1.0}


def test_a_product_shares_rows_along_x_and_columns_along_y(load):
    profile, _ = profiled(load("product"), product_of(20, 30))
    assert fresh(profile, "a") == (1, 0, 1, 0, 1, 0, 1, 0)
    assert fresh(profile, "b") == (1, 1, 0, 0, 1, 1, 0, 0)


@pytest.mark.parametrize("keeps_memory", [False, True])
def test_neighbours_change_nothing_else(load, monkeypatch, keeps_memory):
    kernel, launch = load("product"), product_of(20, 30)
    profile, memory = profiled(kernel, launch, Sampling(blocks=100), keeps_memory=keeps_memory)
    monkeypatch.setattr(run, "with_neighbours", lambda profile, *_, **__: profile)
    alone, untouched = profiled(kernel, launch, Sampling(blocks=100), keeps_memory=keeps_memory)
    for name in ("sample", "counts", "accesses", "lines", "flops", "branches"):
        assert getattr(profile, name) == getattr(alone, name)
    assert tuple(replace(f, fresh=()) for f in profile.footprints) == alone.footprints
    assert not any(f.fresh for f in alone.footprints)
    if keeps_memory:
        assert memory.image() == untouched.image()


def test_two_runs_learn_the_same(load):
    kernel, launch = load("star"), star(6, 30, 5)
    first, second = (profiled(kernel, launch)[0].footprints for _ in range(2))
    assert first == second
    assert first[0].fresh


@pytest.mark.parametrize("grid", [(200, 1, 1), (1, 200, 1), (1, 1, 200), (4, 4, 2)])
def test_a_grid_of_one_row_or_executed_whole_for_being_small_pays_nothing(load, executed, grid):
    profile, _ = profiled(load("star"), star(*grid))
    assert len([b for blocks in executed for b in blocks]) == profile.sample.blocks
    assert not any(f.fresh for f in profile.footprints)


def test_blocks_that_share_nothing_pay_nothing(load, executed):
    kernel = load("once")
    launch = once(20, 30, fill="arange")
    profile, _ = profiled(kernel, launch, Sampling(exact=True))
    assert sum(map(len, executed)) == profile.sample.blocks == 600


def once(x, y, fill):
    blocks = x * y
    args = {
        "cursor": api.s32(8 * blocks, fill=fill),
        "table": api.f32(32 * blocks),
        "out": api.f32(32 * blocks),
    }
    return api.Launch(grid=(x, y), block=32, args=args, kernel="once")


def test_a_block_that_cannot_run_twice_ends_the_search(load, executed):
    profile, _ = profiled(load("once"), once(20, 30, fill="zeros"), Sampling(exact=True))
    assert len(executed) == 2
    assert not any(f.fresh for f in profile.footprints)


def test_what_cannot_be_saved_is_not_overwritten(load, monkeypatch, executed):
    monkeypatch.setattr(neighbours, "MOST_SAVED_BYTES", 0)
    kernel, launch = load("product"), product_of(20, 30)
    profile, _ = profiled(kernel, launch, Sampling(exact=True), keeps_memory=True)
    assert len(executed) == 1
    assert not any(f.fresh for f in profile.footprints)


grids = st.tuples(*[st.integers(1, 40)] * AXES).filter(lambda g: sum(n > 1 for n in g) > 1)


@given(grids, st.integers(1, 5000))
def test_groups_lie_in_the_grid_and_before_their_block(grid, sampled):
    x, y, _ = grid
    groups = choose_groups(grid, sampled)
    assert len({g.block for g in groups}) == len(groups) <= MOST_GROUPS
    for group in groups:
        assert 0 <= min(group.along(SETS - 1)) <= max(group.along(SETS - 1)) < group.block
        assert group.block < np.prod(grid)
        assert set(group.before) == {axis for axis in range(AXES) if grid[axis] > 1}
        at = {a: group.block - blocks[0] for a, blocks in group.before.items()}
        assert at == {a: (1, x, x * y)[a] for a in group.before}
        for axis, blocks in group.before.items():
            # All others lie one layer or row earlier, however near the edge of the grid.
            span = (1, x, x * y)[axis]
            assert {b // span for b in blocks} == {group.block // span - 1}


@given(grids, st.integers(256, 1024))
def test_a_large_sample_pays_an_eighth_for_neighbours(grid, sampled):
    blocks = [b for g in choose_groups(grid, sampled) for b in (*g.along(SETS - 1), g.block)]
    assert len(blocks) <= sampled / 8
