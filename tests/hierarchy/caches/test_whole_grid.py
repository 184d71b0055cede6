"""From simulated waves to the grid, and what of it stays open."""

from dataclasses import replace

import numpy as np
import pytest
from tests.hierarchy.caches.streams import stream_of

from kernelcast import api
from kernelcast.execution.blocks import Span
from kernelcast.hierarchy.caches.launch import Limits, StreamedLaunch, count_launch, system_of
from kernelcast.hierarchy.caches.memory_system import (
    CacheShape,
    MemorySystem,
    memory_system,
    missing_numbers,
)
from kernelcast.hierarchy.caches.whole_grid import simulate
from kernelcast.ir import Instruction, Kernel, Launch, OpClass, Space
from kernelcast.machines.loader import apply_overrides, machine_names
from kernelcast.profiling.tables import AccessRow

LOAD = AccessRow(
    Instruction(0, "ld", ("global", "f32"), (), OpClass.LOAD, space=Space.GLOBAL, access_bytes=4),
    Space.GLOBAL,
)
SYSTEM = MemorySystem(1, 1, None, CacheShape(1, 64))


def streaming(blocks, of=None, spans=()):
    """Every block reads a line of its own."""
    work = [[[(0, [(block, 15, 0)])]] for block in blocks]
    streams = stream_of(work, of=of)
    chosen = np.array(blocks)
    return replace(streams, blocks=chosen, rows=(LOAD,), spans=spans or streams.spans)


def test_a_whole_grid_is_counted_as_it_is():
    grid, _ = simulate(streaming(range(8)), frozenset(), SYSTEM)
    assert grid.is_whole
    assert (grid.totals["requests"].sum(), grid.totals["l2_sectors"].sum()) == (8, 32)


def test_the_middle_stands_for_what_is_left_out():
    spans = (Span(0, 0, 2), Span(10, 11, 12), Span(98, 99, 100))
    blocks = [b for span in spans for b in range(span.start, span.end)]
    grid, _ = simulate(streaming(blocks, of=100, spans=spans), frozenset(), SYSTEM)
    assert grid.totals["requests"].sum() == 100
    assert grid.totals["first_reads"].sum() == 400
    assert (grid.spread, grid.filled) == (0, False)


@pytest.mark.parametrize(("written", "read"), [(32, 32), (256, 256), (300, 400), (1000, 400)])
def test_a_sector_that_was_filled_stays_whole_where_all_that_is_written_fits(
    make_case, written, read
):
    """Every block writes parts of a line. The blocks of a span write others, those of the grid the
    same again and again: as often as each sector, or as each block's, is filled."""
    spans = (Span(0, 0, 2), Span(10, 11, 12), Span(98, 99, 100))
    blocks = np.array([b for span in spans for b in range(span.start, span.end)])
    streams = stream_of([[[(0, [(block % 8, 15, 15)])]] for block in blocks], of=100)
    store = AccessRow(replace(LOAD.instruction, op_class=OpClass.STORE), Space.GLOBAL)
    streams = replace(streams, blocks=blocks, rows=(store,), spans=spans)
    access = {"op_class": OpClass.STORE, "space": Space.GLOBAL}
    profile = make_case(api.machine("h100-sxm"), [access], blocks=100, threads=32).profile
    limits = Limits(read=0.0, written=written, touched=written, estimated=0.0)
    launch = StreamedLaunch(streams, frozenset(), SYSTEM)
    assert count_launch(launch, profile, limits)[0].dram_read_sectors == read


@pytest.mark.parametrize(
    ("partitions", "ways", "missed"),
    # 28 lines that 100 blocks go round fit in 32 of one partition, and in twice 21, not 20.
    [(1, 32, 112), (2, 21, 112), (2, 20, 400)],
)
def test_what_was_read_before_a_span_out_of_sight_hits(make_case, partitions, ways, missed):
    """Spans see each line once, as if it were new; the grid reads it every 28 blocks."""
    spans = (Span(0, 0, 2), Span(10, 11, 12), Span(98, 99, 100))
    blocks = [b for span in spans for b in range(span.start, span.end)]
    streams = streaming(blocks, of=100, spans=spans)
    profile = make_case(
        api.machine("h100-sxm"),
        [{"op_class": OpClass.LOAD, "space": Space.GLOBAL}],
        blocks=100,
        threads=32,
    ).profile
    limits = Limits(read=112.0, written=0.0, touched=112.0, estimated=400.0)
    system = replace(SYSTEM, partitions=partitions, l2=CacheShape(1, ways))
    counts, _ = count_launch(StreamedLaunch(streams, frozenset(), system), profile, limits)
    (access,) = counts.accesses
    assert counts.dram_read_sectors == missed
    assert (access.l2.sectors, access.l2.misses) == pytest.approx((400, missed))


def test_what_was_written_before_a_span_out_of_sight_is_written_once(make_case):
    """Of 28 lines that 100 blocks write in turn, spans see each as if it were new."""
    spans = (Span(0, 0, 2), Span(10, 11, 12), Span(98, 99, 100))
    blocks = [b for span in spans for b in range(span.start, span.end)]
    store = AccessRow(replace(LOAD.instruction, op_class=OpClass.STORE), Space.GLOBAL)
    streams = replace(streaming(blocks, of=100, spans=spans), rows=(store,))
    access = {"op_class": OpClass.STORE, "space": Space.GLOBAL}
    profile = make_case(api.machine("h100-sxm"), [access], blocks=100, threads=32).profile
    limits = Limits(read=0.0, written=112.0, touched=112.0, estimated=0.0)
    system = replace(SYSTEM, l2=CacheShape(1, 32))
    counts, _ = count_launch(StreamedLaunch(streams, frozenset(), system), profile, limits)
    (row,) = counts.accesses
    assert (counts.dram_written_sectors, row.dirtied_sectors) == pytest.approx((112, 112))


@pytest.mark.parametrize(("ways", "written"), [(1, 100 * 12), (64, 100 * 4 + 4)])
def test_what_is_written_again_after_it_left_goes_to_the_dram_again(make_case, ways, written):
    """Of 100 blocks 20 ran, each of which writes a line of its own twice, and in between one that
    all write: of the L2 cache, that takes the place of its own where there is one way."""
    small = MemorySystem(1, 1, None, CacheShape(1, ways))
    own, other = [(block, 15, 0) for block in range(20)], [(100, 15, 0)]
    work = [[[(0, [line]), (0, other), (0, [line])]] for line in own]
    store = AccessRow(replace(LOAD.instruction, op_class=OpClass.STORE), Space.GLOBAL)
    streams = replace(stream_of(work, of=100), blocks=np.arange(20), rows=(store,))
    access = {"op_class": OpClass.STORE, "space": Space.GLOBAL, "times": 3}
    profile = make_case(api.machine("h100-sxm"), [access], blocks=100, threads=32).profile
    limits = Limits(read=0.0, written=404.0, touched=404.0, estimated=0.0)
    counts, _ = count_launch(StreamedLaunch(streams, frozenset(), small), profile, limits)
    assert counts.dram_written_sectors == written
    assert counts.accesses[0].dirtied_sectors == pytest.approx(written)


def test_where_warps_were_cut_sectors_tell_of_the_rest_and_what_was_not_seen_does_as_others(
    make_case,
):
    """Of two loads by 8 warps, the first ten times each, the first time of the first was seen: four
    sectors, all new. Later it asks for fewer, and the second for as many as it does altogether."""
    second = replace(LOAD, instruction=replace(LOAD.instruction, index=1))
    streams = replace(streaming(range(8)), rows=(LOAD, second), is_cut=True)
    fields = [{"op_class": OpClass.LOAD, "space": Space.GLOBAL, "times": n} for n in (10, 1)]
    made = make_case(api.machine("h100-sxm"), fields, blocks=8, threads=32).profile
    first, last = made.accesses
    profile = replace(
        made, accesses=(replace(first, sectors=80.0), replace(last, instruction=1, sectors=160.0))
    )
    limits = Limits(read=240.0, written=0.0, touched=240.0, estimated=240.0)
    launch = StreamedLaunch(streams, frozenset(), replace(SYSTEM, l2=CacheShape(1, 4)))
    counts, _ = count_launch(launch, profile, limits)
    assert [(a.l2.sectors, a.l2.hits) for a in counts.accesses] == [(80, 0), (160, 0)]
    assert [a.requests for a in counts.accesses] == [first.requests, last.requests]
    assert counts.dram_read_sectors == 240
    assert not counts.simulated.in_whole_waves


@pytest.mark.parametrize(
    ("name", "shared_bytes", "size_kib"),
    # A carve-out of 0, 8 KiB and all: chases see what is left of the L1 cache but some lines.
    [("rtx-2080-ti", 0, 61.5), ("rtx-2080-ti", 33_000, 30), ("h100-sxm", 0, 233)],
)
def test_the_l1_cache_is_what_shared_memory_leaves(name, shared_bytes, size_kib):
    chip = api.machine(name)
    assert not missing_numbers(chip)
    system = memory_system(chip, shared_bytes, 1)
    assert system.l1 is not None
    assert system.l1.lines * 128 / 1024 == pytest.approx(size_kib, rel=0.07)


def test_more_shared_memory_than_blocks_need_may_be_preferred():
    chip = api.machine("h100-sxm")
    sizes = []
    for carveout in (None, 0, 50, 100):
        l1 = memory_system(chip, 0, 1, carveout).l1
        assert l1 is not None
        sizes.append(l1.lines * 128 / 1024)
    assert sizes[0] == sizes[1]
    assert sizes[2:] == pytest.approx([116, 27], rel=0.1)


@pytest.mark.parametrize("name", machine_names())
def test_a_larger_l1_cache_holds_more_on_every_chip(name):
    chip = api.machine(name)
    if missing_numbers(chip) or memory_system(chip, 0, 1).l1 is None:
        return  # has no L1 cache that is simulated
    size = chip.number("l1.size")
    larger = [apply_overrides(chip, [f"l1.size={factor * size}"]) for factor in (1, 2, 3, 4)]
    lines = [found.lines for each in larger if (found := memory_system(each, 0, 1).l1)]
    assert lines == sorted(set(lines)) and len(lines) == 4


def test_few_blocks_are_shared_out_over_all_sms():
    """A part of them takes SMs that are as full as those of the whole grid."""
    chip = api.machine("h100-sxm")
    blocks = 2 * int(chip.number("sm.count"))
    kernel, launch = Kernel("k", "sass", "sm_90", (), (), ()), Launch((blocks,), (128,), {})
    assert system_of(chip, kernel, launch).blocks_per_sm == 2
    assert system_of(chip, kernel, replace(launch, grid=(100 * blocks, 1, 1))).blocks_per_sm > 2


def test_the_l2_cache_is_all_its_partitions():
    system = memory_system(api.machine("h100-sxm"), 0, 1)
    assert (system.partitions, system.sms) == (2, 132)
    assert system.l2_sectors * 32 == pytest.approx(50 * 2**20, rel=0.01)


def test_a_machine_says_what_it_lacks():
    assert "l2.ways" in missing_numbers(api.machine("gtx-280"))


def storing(blocks, of):
    """Every block writes a line of its own."""
    store = AccessRow(replace(LOAD.instruction, op_class=OpClass.STORE), Space.GLOBAL)
    streams = streaming(blocks, of=of)
    return replace(streams, rows=(store,))


@pytest.mark.parametrize(("of", "left"), [(4, 16), (10, 40), (64, 256), (1000, 256)])
def test_what_is_left_to_be_written_is_that_of_the_whole_grid(of, left):
    """Of 64 lines that the L2 cache holds, four blocks fill four, and the others more of them."""
    grid, _ = simulate(storing(range(4), of), frozenset(), SYSTEM)
    assert grid.left_dirty == pytest.approx(left)


@pytest.mark.parametrize(("of", "sets"), [(1000, 24), (80, 24), (40, 48), (24, 80), (10, 96)])
def test_sms_in_part_have_the_share_of_the_l2_cache_of_those_that_are_busy(of, sets):
    """Of 40 SMs with 2 blocks each, 10 that are simulated: a quarter, or more of fewer."""
    whole = MemorySystem(40, 2, None, CacheShape(96, 4))
    part = whole.part_for(20, of)
    assert (part.sms, part.l2.sets) == (10, sets)
