"""A profile built from a stream: counts, footprints, divergence, paths, broken streams."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import (
    ALL_RULES,
    FULL,
    access_kernel,
    affine,
    enter,
    header,
    instruction,
    kernel,
    memory,
    profile,
    scattered,
    values,
    warp,
    words,
)
from tests.tracing import Trace, build_profile

from kernelcast.errors import ExecutionError
from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.execution.trace import RecordKind
from kernelcast.ir import BasicBlock, Kernel, Launch, Location, OpClass, Space
from kernelcast.isas.traits import with_traits
from kernelcast.profiling import layout, paths
from kernelcast.profiling.builder import ProfileBuilder
from kernelcast.profiling.profile import Count, Footprint


def branching_kernel() -> Kernel:
    """if (p) { two adds } ; join: one load from line 30, a store to line 31."""
    return kernel(
        [
            instruction(0, OpClass.COMPARE, "setp", writes="p", line=10),
            instruction(1, OpClass.BRANCH, "bra", guard="p", line=10),
            instruction(2, OpClass.FP32, "fma", writes="a", line=20),
            instruction(3, OpClass.FP32, "add", reads="a", writes="a", line=20),
            instruction(4, OpClass.LOAD, "ld", space=Space.GLOBAL, access_bytes=4, line=30),
            instruction(5, OpClass.STORE, "st", space=Space.SHARED, access_bytes=4, line=31),
        ],
        [BasicBlock(0, 0, 2, (1, 2)), BasicBlock(1, 2, 4, (2,)), BasicBlock(2, 4, 6, ())],
    )


def branching_records(lanes_in: int) -> list[list[int]]:
    through = [enter(1, lanes_in)] if lanes_in else []
    base = GLOBAL_BASE
    return [enter(0), *through, enter(2), affine(4, base, 4), affine(5, 0, 8)]


def test_counts_by_instruction_class_and_line():
    found = profile(branching_kernel(), warp(0, 0), *branching_records(0xF))
    assert found.instruction_warps.tolist() == [1, 1, 1, 1, 1, 1]
    assert found.instruction_threads.tolist() == [32, 32, 4, 4, 32, 32]
    assert found.counts == {
        OpClass.COMPARE: Count(1, 32),
        OpClass.BRANCH: Count(1, 32),
        OpClass.FP32: Count(2, 8),
        OpClass.LOAD: Count(1, 32),
        OpClass.STORE: Count(1, 32),
    }
    assert found.total == Count(6, 136)
    assert found.simt_efficiency == 136 / (6 * 32)
    lines = {line.location.line: line for line in found.lines}
    assert [*lines] == [10, 20, 30, 31]
    assert lines[20].location == Location("kernel.cu", 20)
    assert lines[20].instructions == Count(2, 8)
    assert (lines[30].requests, lines[30].sectors) == (1, 4)
    assert (lines[31].requests, lines[31].shared_passes) == (0, 2)
    assert lines[31].shared_ideal_passes == 1


def test_a_fused_multiply_add_is_two_operations_and_a_packed_pair_twice_that():
    found = profile(
        kernel(
            [
                instruction(0, OpClass.FP32, "fma", ("rn", "f32")),
                instruction(1, OpClass.FP32, "add", ("f32",)),
                instruction(2, OpClass.FP32, "neg", ("f32",)),
                instruction(3, OpClass.FP16, "fma", ("rn", "f16x2")),
                instruction(4, OpClass.FP64, "mul", ("f64",)),
                instruction(5, OpClass.INT, "add", ("s32",)),
            ]
        ),
        warp(0, 0),
        enter(0, 0b111),
    )
    assert found.flops == {"fp32": 3 * 3, "fp16": 3 * 4, "fp64": 3}


@pytest.mark.parametrize(("lanes_in", "divergent"), [(0xF, 1), (FULL, 0), (0, 0)])
def test_a_branch_diverges_when_lanes_part(lanes_in, divergent):
    found = profile(branching_kernel(), warp(0, 0), *branching_records(lanes_in))
    assert (found.branches, found.divergent_branches) == (1, divergent)


def test_lanes_that_exit_under_a_guard_are_no_divergent_branch():
    exits = kernel(
        [instruction(0, OpClass.BRANCH, "exit", guard="p"), instruction(1)],
        [BasicBlock(0, 0, 1, (1,)), BasicBlock(1, 1, 2, ())],
    )
    found = profile(exits, warp(0, 0), enter(0), enter(1, 0xFF))
    assert (found.branches, found.divergent_branches) == (0, 0)


def test_a_branch_that_nobody_left_is_forgotten_with_its_block():
    records = [warp(0, 0), enter(0), warp(1, 0), enter(2, 0xF)]
    found = profile(branching_kernel(), *records, blocks=(0, 1), grid=2)
    assert (found.branches, found.divergent_branches) == (1, 0)


@st.composite
def divergent_walks(draw):
    """A random flow graph and the trace of a warp through it, in the documented order.

    Returns the kernel, the records and how often a block was left in more than one direction, as
    far as one of the lanes is seen again: a walk is cut short where it does not end.
    """
    size = draw(st.integers(2, 6))
    successors = [
        tuple(draw(st.lists(st.integers(0, size - 1), max_size=3, unique=True)))
        for _ in range(size)
    ]
    length = draw(st.integers(1, 3))
    blocks = [BasicBlock(i, length * i, length * (i + 1), successors[i]) for i in range(size)]
    choice = random.Random(draw(st.integers(0, 1000)))
    agreeing = draw(st.floats(0, 1))
    pending = {0: draw(st.integers(1, FULL))}
    records: list[Any] = []
    left: list[int] = []  # lanes that diverged and have not been seen since
    diverged = 0
    while pending and len(records) < 40:
        block = min(pending)
        mask = pending.pop(block)
        records.append(enter(block, mask))
        diverged += sum(lanes & mask != 0 for lanes in left)
        left = [lanes for lanes in left if not lanes & mask]
        targets = successors[block]
        if not targets:
            continue
        common = choice.choice(targets) if choice.random() < agreeing else None
        reached = set()
        for lane in range(32):
            if mask >> lane & 1:
                target = choice.choice(targets) if common is None else common
                pending[target] = pending.get(target, 0) | 1 << lane
                reached.add(target)
        if len(reached) > 1:
            left.append(mask)
    listed = [instruction(i) for i in range(length * size)]
    return kernel(listed, blocks), records, diverged


@given(divergent_walks())
def test_divergence_is_found_in_any_flow_of_control(walk):
    of, records, diverged = walk
    found = profile(of, warp(0, 0), *records)
    assert found.divergent_branches == diverged
    branching = {b.index for b in of.blocks if len(b.successors) > 1}
    assert found.branches == sum(r[0] >> 32 & 0xFFFFFF in branching for r in records)


def test_footprints_by_hand():
    arrays = memory(1024, 4096)
    first, second = (r.address for r in arrays.regions)
    of = kernel(
        [
            instruction(0, OpClass.LOAD, "ld", space=Space.GLOBAL, access_bytes=4),
            instruction(1, OpClass.STORE, "st", space=Space.GLOBAL, access_bytes=4),
            instruction(2, OpClass.ATOMIC, "red", space=Space.GLOBAL, access_bytes=4),
        ]
    )
    records = [
        *(warp(0, 0), affine(0, first, 4), affine(0, first, 4), affine(1, second, 0)),
        *(warp(1, 0), affine(0, first + 64, 4), affine(2, second, 0, 1)),
    ]
    found = profile(of, *records, arrays=arrays, blocks=(0, 1), grid=2)
    assert found.footprints == (
        Footprint("a", 1024, True, False, 6, 8, 12, 0),
        Footprint("b", 4096, True, True, 1, 2, 2, 1),
    )


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),  # block
            st.integers(0, 1),  # instruction: a load or a store
            st.integers(0, 1),  # array
            st.lists(st.integers(0, 199), min_size=32, max_size=32),
            st.integers(1, FULL),
        ),
        max_size=12,
    )
)
def test_footprints_count_sets_of_sectors(accesses):
    arrays = memory(800, 800)
    of = kernel(
        [
            instruction(0, OpClass.LOAD, "ld", space=Space.GLOBAL, access_bytes=4),
            instruction(1, OpClass.STORE, "st", space=Space.GLOBAL, access_bytes=4),
        ]
    )
    accesses.sort(key=lambda access: access[0])
    records = []
    requested = [0, 0]
    touched: list[set[Any]] = [set(), set()]
    stored: list[set[Any]] = [set(), set()]
    for block, ident, array, places, mask in accesses:
        base = arrays.regions[array].address
        records += [warp(block, 0), scattered(ident, [base + 4 * p for p in places], mask)]
        sectors = {p // 8 for lane, p in enumerate(places) if mask >> lane & 1}
        requested[array] += len(sectors)
        touched[array] |= {(block, sector) for sector in sectors}
        stored[array] |= {(block, sector) for sector in sectors if ident}
    found = profile(of, *records, arrays=arrays, blocks=range(4), grid=4)
    expected = tuple(
        Footprint(
            label=arrays.regions[array].label,
            size_bytes=800,
            read=any(a[2] == array and a[1] == 0 for a in accesses),
            written=bool(stored[array]),
            distinct_sectors=len({sector for _, sector in touched[array]}),
            block_sectors=len(touched[array]),
            requested_sectors=requested[array],
            distinct_written_sectors=len({sector for _, sector in stored[array]}),
        )
        for array in range(2)
        if touched[array]
    )
    assert found.footprints == expected


def test_what_lanes_compare_is_averaged_by_instruction():
    plain = [instruction(i, OpClass.MATCH, "match", ("any", "sync", "b32")) for i in range(3)]
    matches = [with_traits(i, "ptx") for i in plain]
    of = kernel(matches)
    seen = [values(0, 32), values(0, 2, 0xFF), values(1, 7), values(0, 2)]
    found = profile(of, warp(0, 0), enter(0), *seen)
    assert found.different_values == {0: 12.0, 1: 7.0}
    assert found.guesses_values  # of the third, nobody knows
    assert not profile(kernel(matches[:1]), warp(0, 0), enter(0), values(0, 3)).guesses_values


@pytest.mark.parametrize("broken", [values(9, 1), values(0, 1)[:1]])
def test_a_comparison_of_no_instruction_is_no_trace(broken):
    with pytest.raises(ExecutionError, match="not a trace"):
        profile(branching_kernel(), warp(0, 0), enter(0), broken)


def test_a_sample_is_scaled_to_the_grid():
    arrays = memory(1 << 20)
    records = [
        record
        for block in (3, 40)
        for number in range(2)
        for record in (
            warp(block, number),
            enter(0),
            affine(0, GLOBAL_BASE + 256 * block + 128 * number, 4),
        )
    ]
    found = profile(access_kernel(), *records, arrays=arrays, blocks=(3, 40), grid=100, threads=64)
    assert (found.sample.scale, found.sample.is_exact, found.sample.spread) == (50, False, 0)
    assert found.total == Count(200, 6400)
    (access,) = found.accesses
    assert (access.requests, access.sectors, access.bytes) == (200, 800, 200 * 128)
    (footprint,) = found.footprints
    assert footprint.distinct_sectors == footprint.block_sectors == 800


def test_the_spread_is_the_standard_error_of_the_blocks():
    records = [record for b, n in ((0, 1), (1, 3)) for record in (warp(b, 0), *[enter(0)] * n)]
    found = profile(access_kernel(), *records, blocks=(0, 1), grid=4)
    # Mean 2, standard deviation sqrt(2), half of the grid not seen.
    assert found.sample.spread == pytest.approx(math.sqrt(2) / math.sqrt(2) * math.sqrt(0.5) / 2)
    assert math.isnan(profile(access_kernel(), *records[:2], grid=4).sample.spread)


@given(st.data())
def test_a_stream_cut_at_any_record_gives_the_same_profile(data):
    records = [
        record
        for number in (0, 1, 0)
        for record in (warp(0, number), *branching_records(data.draw(st.integers(0, FULL))))
    ]
    whole = profile(branching_kernel(), *records, threads=64)
    launch = Launch((1, 1, 1), (64, 1, 1))
    builder = ProfileBuilder(branching_kernel(), launch, memory(1 << 20), (0,), rules=ALL_RULES)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(records)), max_size=5)))
    for start, end in zip([0, *cuts], [*cuts, len(records)], strict=True):
        builder.consume(words(*records[start:end]))
    parts = builder.finish()
    for name in ("counts", "accesses", "footprints", "lines", "branches", "divergent_branches"):
        assert getattr(parts, name) == getattr(whole, name)
    assert parts.warp.blocks.tolist() == whole.warp.blocks.tolist()
    assert parts.warp.lanes.tolist() == whole.warp.lanes.tolist()


def test_a_whole_trace_gives_the_profile_of_its_stream():
    records = [warp(0, 0), *branching_records(0xF)]
    trace = Trace(
        kernel=branching_kernel(),
        launch=Launch((1, 1, 1), (32, 1, 1)),
        blocks=(0,),
        memory=memory(1 << 20),
        words=words(*records),
        executor="reference",
        seconds=1.5,
    )
    found = build_profile(trace)
    assert found.counts == profile(branching_kernel(), *records).counts
    assert (found.executor, found.seconds) == ("reference", 1.5)


def looping_kernel() -> Kernel:
    return kernel(
        [instruction(0), instruction(1, reads="a", writes="a"), instruction(2)],
        [BasicBlock(0, 0, 1, (1,)), BasicBlock(1, 1, 3, (1,))],
    )


def looping_records(block: int, number: int, iterations: int) -> list[list[int]]:
    return [warp(block, number), enter(0), *[enter(1, 0xFF)] * iterations]


def test_the_representative_warp_is_the_median_one():
    iterations = [9, 2, 5, 1, 7]
    records = [r for w, n in enumerate(iterations) for r in looping_records(0, w, n)]
    found = profile(looping_kernel(), *records, threads=160)
    assert (found.warp.block, found.warp.warp, found.warp.instructions) == (0, 2, 11)
    assert found.warp.blocks.tolist() == [0] + [1] * 5
    assert found.warp.lanes.tolist() == [32] + [8] * 5
    assert found.chain_instructions == 5
    assert found.chain_by_class == {OpClass.INT: 5}


def test_paths_interleaved_at_barriers_are_told_apart():
    records = [*(warp(0, 0), enter(0)), *(warp(0, 1), enter(0))]
    records += [*(warp(0, 0), enter(1), enter(1)), *(warp(0, 1), enter(1), enter(1))]
    found = profile(looping_kernel(), *records, threads=64)
    assert found.warp.blocks.tolist() == [0, 1, 1]


@pytest.mark.parametrize("entries", [10, 60, 1000])
def test_the_path_log_is_bounded(monkeypatch, entries):
    # 64 warps of 21 entries each: the log holds less than one path, a few, or most of them.
    monkeypatch.setattr(paths, "ENTRIES", entries)
    records = [r for b in range(16) for w in range(4) for r in looping_records(b, w, 20)]
    found = profile(looping_kernel(), *records, threads=128, blocks=range(16), grid=16)
    assert found.warp.instructions == 41
    assert found.warp.blocks.tolist() == ([0] + [1] * 20)[:entries]
    assert found.total.warp == 64 * 41
    assert found.chain_instructions == pytest.approx(20, rel=0.2)


@pytest.mark.parametrize(
    "broken",
    [
        [enter(0)],  # nobody said which warp
        [warp(0, 5)],  # a block has one warp
        [warp(7, 0)],  # not a block of the sample
        [warp(0, 0), enter(3)],
        [warp(0, 0), affine(9, 0, 0)],
        [warp(0, 0), affine(0, GLOBAL_BASE, 4)[:2]],
        [warp(0, 0), [header(RecordKind.ADDRESSES, 0)]],
        [warp(0, 0), [99 << 56]],
    ],
)
def test_words_that_are_no_trace_are_refused(broken):
    with pytest.raises(ExecutionError, match="not a trace"):
        profile(access_kernel(), *broken)


def test_an_access_outside_every_array_is_refused():
    with pytest.raises(ExecutionError, match="outside every array"):
        profile(access_kernel(), warp(0, 0), affine(0, GLOBAL_BASE + (1 << 25), 4))


def test_an_empty_stream_is_an_empty_profile():
    found = profile(access_kernel())
    assert found.total == Count(0, 0)
    assert (found.accesses, found.footprints, found.lines) == ((), (), ())
    assert len(found.warp.blocks) == 0
    assert not np.any(found.instruction_warps)


def test_notes_of_requests_are_cleared_when_their_numbers_start_anew():
    chance = random.Random(7)
    records = [
        scattered(0, [GLOBAL_BASE + 4 * chance.randrange(1 << 18) for _ in range(32)])
        for _ in range(8)
    ]

    def builder():
        launch = Launch((1, 1, 1), (32, 1, 1))
        return ProfileBuilder(access_kernel(), launch, memory(1 << 20), (0,))

    fresh, old = builder(), builder()
    old._states["request"] = (1 << layout.REQUEST_BITS) - 1
    lines = np.arange(layout.ASKED_ENTRIES) + GLOBAL_BASE // layout.LINE_BYTES
    old._states["asked"][0, ::2, 0] = 5 << layout.ASKED_LINE_BITS | lines[::2]
    old._states["asked"][0, :, 1] = -1
    for one in (fresh, old):
        one.consume(words(warp(0, 0), *records))
    assert old.finish().accesses == fresh.finish().accesses


def test_divergent_loads_per_kilo_instructions():
    # Of ten instructions of a warp, one load touches 32 lines and one a single line; stores and
    # loads from shared memory are none of those counted.
    kinds = [
        (OpClass.LOAD, Space.GLOBAL, 128),
        (OpClass.LOAD, Space.GLOBAL, 4),
        (OpClass.STORE, Space.GLOBAL, 128),
        (OpClass.LOAD, Space.SHARED, 128),
    ]
    accesses = [
        instruction(i, op, space=space, access_bytes=4) for i, (op, space, _) in enumerate(kinds)
    ]
    adds = [instruction(i, OpClass.FP32) for i in range(4, 10)]
    base = {Space.GLOBAL: GLOBAL_BASE, Space.SHARED: 0}
    records = [affine(i, base[space], stride) for i, (_, space, stride) in enumerate(kinds)]
    found = profile(kernel([*accesses, *adds]), warp(0, 0), enter(0), *records)
    assert found.dpki == 100
    assert found.is_memory_divergent
    assert [access.instruction for access in found.divergent_loads] == [0]


@pytest.mark.parametrize(("adds", "is_divergent"), [(98, True), (99, False)])
def test_more_than_ten_divergent_loads_per_kilo_instructions_make_a_kernel_divergent(
    adds, is_divergent
):
    load = instruction(0, OpClass.LOAD, space=Space.GLOBAL, access_bytes=4)
    rest = [instruction(i, OpClass.FP32) for i in range(1, 1 + adds)]
    found = profile(kernel([load, *rest]), warp(0, 0), enter(0), affine(0, GLOBAL_BASE, 128))
    assert found.is_memory_divergent == is_divergent
