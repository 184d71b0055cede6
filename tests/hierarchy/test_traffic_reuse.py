"""What the L2 cache reads again: grids whose blocks' sectors are known, and laws for all others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelcast.hierarchy.reuse import Reach, shared_reads
from kernelcast.hierarchy.traffic import bound_traffic
from kernelcast.ir import Launch, OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.neighbours import SETS
from kernelcast.profiling.profile import Footprint

Place = tuple[int, ...]


def launch(*grid: int) -> Launch:
    return Launch(grid, 32)


def array(
    label: str, grid: Place, sectors: Callable[[int, int, int], set], *, written: bool = False
) -> Footprint:
    """An array of which the block at a place touches some sectors, neighbours learnt exactly."""
    places = [(x, y, z) for z, y, x in product(*(range(n) for n in reversed(grid)))]
    touched: dict[Place, set] = {place: sectors(*place) for place in places}
    inner = [p for p in places if all(a or n == 1 for a, n in zip(p, grid, strict=True))]
    fresh = []
    for axes in range(SETS):
        count = 0
        for place in inner:
            before = set()
            for axis in range(3):
                if axes >> axis & 1 and grid[axis] > 1:
                    at = tuple(a - (i == axis) for i, a in enumerate(place))
                    before |= touched[at]
                    for beside in range(axis):
                        before |= touched.get(
                            tuple(a + (i == beside) for i, a in enumerate(at)), set()
                        )
            count += len(touched[place] - before)
        fresh.append(count)
    in_blocks = sum(map(len, touched.values()))
    distinct = len(set().union(*touched.values()))
    return Footprint(
        label,
        32 * distinct,
        not written,
        written,
        distinct,
        in_blocks,
        in_blocks,
        distinct if written else 0.0,
        tuple(f / fresh[0] for f in fresh),
    )


def matrices(x: int, y: int) -> tuple[Footprint, ...]:
    """A and B of a product: a block reads 32 sectors of its row of A and of its column of B."""
    grid = (x, y, 1)
    return (
        array("A", grid, lambda x, y, z: {(y, s) for s in range(32)}),
        array("B", grid, lambda x, y, z: {(x, s) for s in range(32)}),
        array("C", grid, lambda x, y, z: {(x, y)}, written=True),
    )


def tile(grid: Place, place: Place, halo: int = 1) -> set[Place]:
    """A tile of 4 x 4 (x 4) sectors, and as many as `halo` on every side."""
    sides = [range(-halo, 4 + halo) if n > 1 else range(1) for n in grid]
    return {
        tuple(4 * p + o for p, o in zip(place, offset, strict=True)) for offset in product(*sides)
    }


def stencil(*grid: int) -> tuple[Footprint, ...]:
    """A block reads a tile of u with a halo, and writes one of v without."""
    return (
        array("u", grid, lambda *place: tile(grid, place)),
        array("v", grid, lambda *place: tile(grid, place, halo=0), written=True),
    )


def read(arrays, launch, capacity, resident) -> dict[str, tuple[float, Reach]]:
    return {
        r.array.label: (r.sectors, r.reach)
        for r in shared_reads(arrays, launch, capacity, resident)
    }


@pytest.mark.parametrize("grid", [(20, 30, 1), (12, 1, 15), (1, 15, 12), (6, 7, 8)])
def test_a_stencil_is_read_once_where_a_row_or_layer_of_blocks_fits(grid):
    arrays = stencil(*grid)
    between = math.prod(n for n in grid[: 2 if grid[2] > 1 else 1])
    per_block = sum(f.block_sectors for f in arrays) / math.prod(grid)
    capacity = min(per_block * between, arrays[0].distinct_sectors - 1)
    sectors, reach = read(arrays, launch(*grid), capacity, resident=2)["u"]
    # Corners of tiles that lie across are not looked for.
    assert sectors == pytest.approx(arrays[0].distinct_sectors, rel=0.12)
    assert reach is Reach.NEIGHBOURS


def misses_of_lru(sets: list[set], capacity: int) -> int:
    """Sectors that a cache of least recent use misses while blocks run one after the other."""
    held: dict = {}
    misses = 0
    for sectors in sets:
        for sector in sorted(sectors):
            misses += held.pop(sector, None) is None
            held[sector] = True
        while len(held) > capacity:
            del held[next(iter(held))]
    return misses


@pytest.mark.parametrize("rows_that_fit", [0.5, 1.3])
@pytest.mark.parametrize("grid", [(20, 30, 1), (60, 10, 1), (1, 25, 24)])
def test_a_cache_of_least_recent_use_misses_as_many(grid, rows_that_fit):
    arrays = stencil(*grid)
    row = next(n for n in grid if n > 1)
    per_row = (4 * row + 2) * 6 + 16 * row
    capacity = int(rows_that_fit * per_row)
    blocks = []
    for z, y, x in product(*(range(n) for n in reversed(grid))):
        u, v = tile(grid, (x, y, z)), tile(grid, (x, y, z), halo=0)
        blocks.append({("u", *at) for at in u} | {("v", *at) for at in v})
    counted = misses_of_lru(blocks, capacity) - arrays[1].distinct_sectors
    found = read(arrays, launch(*grid), capacity, resident=1)["u"][0]
    assert found == pytest.approx(counted, rel=0.05)


def test_without_neighbours_the_same_stencil_is_read_again_by_every_wave():
    learnt = stencil(20, 30, 1)
    arrays = [replace(f, fresh=()) for f in learnt]
    sectors, reach = read(arrays, launch(20, 30), 800, resident=2)["u"]
    assert sectors > 1.9 * learnt[0].distinct_sectors
    assert reach is Reach.WAVE


def test_what_fits_between_rows_does_not_fit_between_layers():
    arrays = stencil(6, 7, 8)
    row = read(arrays, launch(6, 7, 8), 2000, resident=2)["u"]
    layer = read(arrays, launch(6, 7, 8), 7500, resident=2)["u"]
    assert row[1] is Reach.NEAREST
    assert layer[1] is Reach.NEIGHBOURS
    halos = 6 / 4  # two of six sectors along z are the halo
    assert row[0] == pytest.approx(halos * layer[0], rel=0.1)


def test_a_product_reads_b_once_where_it_fits_between_two_rows_of_blocks():
    x, y = 50, 40
    row_of_blocks = 32 + 32 * x + x
    found = read(matrices(x, y), launch(x, y), row_of_blocks, resident=16)
    assert found["A"][0] == 32 * y
    assert found["B"] == (32 * x, Reach.NEIGHBOURS)


def test_a_product_reads_b_again_for_every_row_of_blocks_longer_than_a_wave():
    x, y = 40, 50
    found = read(matrices(x, y), launch(x, y), 32 * x - 1, resident=16)
    assert found["A"] == (32 * y, Reach.NEAREST)
    assert found["B"] == (32 * x * y, Reach.NEAREST)


def test_a_product_reads_b_again_for_every_wave_of_several_rows():
    x, y, rows = 40, 60, 4
    found = read(matrices(x, y), launch(x, y), 32 * x - 1, resident=rows * x)
    assert found["A"][0] == 32 * y
    assert found["B"][0] == pytest.approx(32 * x * y / rows)


def test_what_is_in_the_cache_whole_is_read_once():
    found = read(matrices(40, 50), launch(40, 50), 32 * 92, resident=16)
    assert set(found.values()) == {(32 * 50, Reach.WHOLE), (32 * 40, Reach.WHOLE)}


@pytest.mark.parametrize(("rounds_of_results", "reach"), [(8, Reach.WHOLE), (1, Reach.WAVE)])
def test_an_array_stays_where_all_that_is_touched_until_its_next_use_fits(rounds_of_results, reach):
    """Blocks go round 1000 sectors eight times, and fill as many of others in as many rounds."""
    table = Footprint("t", 1, True, False, 1000, 8000, 8000)
    results = Footprint("r", 1, False, True, 8000 / rounds_of_results, 8000, 8000, 1000)
    capacity = 1999 if rounds_of_results == 1 else 2000
    assert read((table, results), launch(800), capacity, resident=16)["t"][1] is reach


def test_the_results_take_room_in_the_cache_too():
    arrays = matrices(50, 40)
    row_of_blocks = 32 + 32 * 50 + 50
    assert read(arrays, launch(50, 40), row_of_blocks - 1, resident=16)["B"][0] > 32 * 50
    assert read(arrays[:2], launch(50, 40), row_of_blocks - 1, resident=16)["B"][0] == 32 * 50


def test_a_table_read_at_random_is_left_to_the_waves():
    """Neighbours share no more than others: what a wave has in common is read once."""
    table = Footprint("t", 1, True, False, 1000, 600 * 600, 600 * 600, 0, (1, *[0.4] * 7))
    tiles = Footprint("u", 1, True, False, 6e5, 6.6e5, 6.6e5, 0, ())
    found = read((table, tiles), launch(20, 30), 100, resident=600)
    assert found["t"] == (1000, Reach.WAVE)


shares = st.lists(st.floats(0, 1), min_size=3, max_size=3)


@st.composite
def footprints(draw, grid: Place, label: str) -> Footprint:
    """An array of whose sectors each axis leaves its share, with one of them or more."""
    blocks = math.prod(grid)
    per_block = draw(st.floats(1, 1e5))
    left = draw(shares)
    fresh = tuple(
        math.prod(left[a] for a in range(3) if axes >> a & 1 and grid[a] > 1)
        for axes in range(SETS)
    )
    distinct = max(1.0, draw(st.floats(1 / blocks, 1))) * per_block
    distinct = min(distinct * draw(st.floats(1, blocks)), per_block * blocks)
    learnt = draw(st.booleans())
    written = draw(st.booleans())
    return Footprint(
        label,
        int(32 * distinct) + 1,
        True,
        written,
        distinct,
        per_block * blocks,
        per_block * blocks,
        distinct if written else 0.0,
        fresh if learnt else (),
    )


@st.composite
def grids_with_arrays(draw):
    grid = draw(st.tuples(*[st.integers(1, 60)] * 3))
    return grid, [draw(footprints(grid, label)) for label in "abc"]


@given(grids_with_arrays(), st.integers(1, 5000), st.lists(st.floats(0, 1e9), min_size=2))
def test_a_larger_cache_never_reads_more(case, resident, capacities):
    grid, arrays = case
    totals = [
        sum(r.sectors for r in shared_reads(arrays, launch(*grid), capacity, resident))
        for capacity in sorted(capacities)
    ]
    for smaller, larger in pairwise(totals):
        assert larger <= smaller * (1 + 1e-9)


@given(grids_with_arrays(), st.integers(1, 5000), st.floats(0, 1e9))
def test_neighbours_only_ever_spare_reads_and_never_the_first(case, resident, capacity):
    grid, arrays = case
    blind = [replace(f, fresh=()) for f in arrays]
    reads = shared_reads(arrays, launch(*grid), capacity, resident)
    waves = shared_reads(blind, launch(*grid), capacity, resident)
    assert sum(r.sectors for r in reads) <= sum(r.sectors for r in waves) * (1 + 1e-9)
    assert all(r.sectors >= r.array.distinct_sectors for r in reads)


@given(st.tuples(*[st.integers(1, 60)] * 3), st.integers(1, 5000), st.floats(0, 1e9))
def test_blocks_that_share_nothing_read_nothing_again(grid, resident, capacity):
    sectors = 7.0 * math.prod(grid)
    alone = Footprint("a", 1, True, False, sectors, sectors, sectors, 0, (1.0,) * SETS)
    assert shared_reads([alone], launch(*grid), capacity, resident) == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(grids_with_arrays(), st.sampled_from(["gtx-680", "rtx-2080-ti", "h100-sxm"]))
def test_the_estimate_lies_between_the_bounds(make_case, case, machine):
    grid, arrays = case
    loads = [{"op_class": OpClass.LOAD, "space": Space.GLOBAL}]
    made = make_case(load_machine(machine), loads, footprints=arrays, blocks=math.prod(grid))
    profile = replace(made.profile, launch=replace(made.launch, grid=grid))
    dram = bound_traffic(profile, made.machine).dram
    assert dram.low <= dram.central <= dram.high


def test_the_report_says_what_blocks_find_in_the_cache(make_case):
    loads = [{"op_class": OpClass.LOAD, "space": Space.GLOBAL, "times": 1000}]
    arrays = [
        replace(
            f,
            distinct_sectors=2**20 * f.distinct_sectors,
            block_sectors=2**20 * f.block_sectors,
            requested_sectors=2**20 * f.requested_sectors,
        )
        for f in matrices(40, 50)
    ]
    made = make_case(load_machine("gtx-680"), loads, footprints=arrays, blocks=2000)
    profile = replace(made.profile, launch=replace(made.launch, grid=(40, 50, 1)))
    assert "what their neighbours in the grid have read of A, B only where" in " ".join(
        bound_traffic(profile, made.machine).assumptions
    )
