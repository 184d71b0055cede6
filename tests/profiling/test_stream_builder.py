"""Access streams: the compiled loop against plain Python, and known kernels."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import (
    FULL,
    access_kernel,
    affine,
    enter,
    halves,
    instruction,
    kernel,
    scattered,
    warp,
    words,
)

from kernelcast.errors import ExecutionError, UnsupportedError
from kernelcast.execution.address_map import (
    GLOBAL_BASE,
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
)
from kernelcast.execution.blocks import Span, runs_of
from kernelcast.execution.consumers import are_splittable
from kernelcast.execution.trace import RecordKind, decode
from kernelcast.ir import Kernel, Launch, OpClass, Space
from kernelcast.profiling import stream_builder
from kernelcast.profiling.stream_builder import StreamBuilder
from kernelcast.profiling.streams import (
    FIRST_BIT,
    LINE_SHIFT,
    PARTIAL_SHIFT,
    ROW_MASK,
    ROW_SHIFT,
    AccessStreams,
)

WARPS, BLOCKS = 4, 6
LAUNCH = Launch((BLOCKS, 1, 1), (32 * WARPS, 1, 1))
WINDOWS = {Space.SHARED: SHARED_WINDOW, Space.LOCAL: LOCAL_WINDOW, Space.PARAM: PARAM_WINDOW}
ENOUGH = 1 << 20

Stream = dict[tuple[int, int], list[int]]
"""The words of every warp of every block."""


def stream_of(streams: AccessStreams) -> Stream:
    bounds = list(pairwise(streams.starts.tolist()))
    return {
        (block, number): streams.words[slice(*bounds[at * streams.warps + number])].tolist()
        for at, block in enumerate(streams.blocks.tolist())
        for number in range(streams.warps)
    }


def streams(
    of: Kernel, *records: Sequence[int], spans: Sequence[Span] = (Span(0, 0, 1),)
) -> AccessStreams:
    builder = StreamBuilder(of, LAUNCH, spans, ENOUGH)
    builder.consume(words(*records))
    return builder.finish()


def space_of(address: int) -> tuple[Space, int]:
    """Where a generic address leads, and its address there."""
    for space, start in WINDOWS.items():
        if start <= address < start + WINDOW_BYTES:
            return space, address - start
    return Space.GLOBAL, address


def pieces(space: Space, lane: int, address: int, width: int) -> Iterator[tuple[int, int]]:
    """Line and byte in the line of everything that a lane accesses."""
    for at in range(address, address + width):
        if space is Space.LOCAL:
            yield at // 4, lane * 4 + at % 4
        else:
            yield at // 128, at % 128


def request(
    number: int, space: Space, width: int, writes: bool, lanes: dict[int, int]
) -> list[int]:
    """The words of one request."""
    bytes_of: defaultdict[int, set[int]] = defaultdict(set)
    for lane, address in lanes.items():
        for line, byte in pieces(space, lane, address, width):
            bytes_of[line].add(byte)
    found = []
    for at, (line, held) in enumerate(bytes_of.items()):
        word = line << LINE_SHIFT | number << ROW_SHIFT | (at == 0) << FIRST_BIT
        for sector in range(4):
            count = len(held & set(range(32 * sector, 32 * sector + 32)))
            word |= (count > 0) << sector
            word |= (writes and 0 < count < 32) << PARTIAL_SHIFT + sector
        found.append(word)
    return found


def expected(of: Kernel, trace: np.ndarray, rows: Sequence[object]) -> Stream:
    """What the streams of a trace are, record by record."""
    numbers = {row: number for number, row in enumerate(rows)}
    found: Stream = defaultdict(list)
    for record in decode(trace):
        into = found[record.block, record.warp]
        if record.kind is RecordKind.BLOCK:
            continue
        one = of.instructions[record.id]
        by_space: dict[Space, dict[int, int]] = {s: {} for s in (Space.GLOBAL, Space.LOCAL)}
        for lane, address in enumerate(record.addresses):
            if record.mask >> lane & 1:
                is_generic = one.space is Space.GENERIC
                space, at = space_of(address) if is_generic else (one.space, address)
                by_space.setdefault(space, {})[lane] = at  # type: ignore[arg-type]
        for space in (Space.GLOBAL, Space.LOCAL):
            if by_space[space]:
                number = numbers[one.index, space]
                writes = one.op_class is OpClass.STORE
                into += request(number, space, one.access_bytes, writes, by_space[space])
    return found


SPACES = (Space.GLOBAL, Space.LOCAL, Space.GENERIC, Space.SHARED, Space.CONST)
CLASSES = (OpClass.LOAD, OpClass.STORE, OpClass.ATOMIC)
WIDTHS = (1, 2, 4, 8, 16, 32)
EVERY_ACCESS = kernel(
    instruction(index, op_class, "op", space=space, access_bytes=width)
    for index, (space, op_class, width) in enumerate(
        (s, c, w) for s in SPACES for c in CLASSES for w in WIDTHS
    )
)
"""Every width in every space, loaded, stored and added to."""


def access(choice: random.Random) -> list[int]:
    """A record of any access: affine or not, in a window or another."""
    one = choice.choice(EVERY_ACCESS.instructions)
    width = one.access_bytes
    mask = choice.choice([FULL, choice.randint(1, FULL), run_mask(choice.randint(0, 31))])
    starts = [GLOBAL_BASE + (1 << 20)]
    if one.space in (Space.LOCAL, Space.SHARED, Space.CONST):
        starts = [1 << 14]
    if one.space is Space.GENERIC:
        starts += [start + (1 << 14) for start in WINDOWS.values()]
    start = choice.choice(starts) + width * choice.randint(0, 200)
    kind, stride = choice.randint(0, 2), width * choice.randint(-9, choice.choice([2, 40]))
    if kind == 0:
        return affine(one.index, start, stride, mask)
    if kind == 1:
        second = choice.choice([start, choice.choice(starts)]) + width * choice.randint(0, 99)
        return halves(one.index, start, stride, second, mask)
    far, bases = choice.choice([2, 40, 2000]), choice.choice([starts, [start]])
    lanes = [choice.choice(bases) + width * choice.randint(0, far) for _ in range(32)]
    return scattered(one.index, lanes, mask)


def run_mask(first: int) -> int:
    """Lanes from one on."""
    return FULL << first & FULL


def block_records(choice: random.Random, block: int) -> list[list[int]]:
    """What a block does, in turns of its warps."""
    records = []
    for _ in range(choice.randint(1, 6)):
        records += [warp(block, choice.randrange(WARPS)), enter(0)]
        records += [access(choice) for _ in range(choice.randint(0, 4))]
    return records


@given(st.integers(0, 1 << 32), st.sampled_from([2, 1 << 10]))
def test_streams_are_those_of_plain_python(seed, room):
    choice = random.Random(seed)
    parts = [words(*block_records(choice, block)) for block in range(choice.randint(1, BLOCKS))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_builder, "_SCRATCH_WORDS", room)
        builder = StreamBuilder(EVERY_ACCESS, LAUNCH, [Span(0, 0, len(parts))], ENOUGH)
    for part in parts:
        builder.consume(part)
    found = builder.finish()
    numbers = [(row.instruction.index, row.space) for row in found.rows]
    wanted = expected(EVERY_ACCESS, np.concatenate(parts), numbers)
    assert filled(stream_of(found)) == filled(wanted)
    assert found.blocks.tolist() == list(range(len(parts)))


def filled(stream: Stream) -> Stream:
    """The warps that did something."""
    return {place: did for place, did in stream.items() if did}


@given(
    st.integers(0, 1 << 32),
    st.lists(st.integers(0, 2), min_size=BLOCKS, max_size=BLOCKS),
    st.integers(0, 300),
)
def test_any_partition_of_the_blocks_gives_the_same_streams(seed, parts, most_words):
    choice = random.Random(seed)
    every = [words(*block_records(choice, block)) for block in range(BLOCKS)]

    def made(shares: Sequence[int]) -> AccessStreams:
        whole = StreamBuilder(EVERY_ACCESS, LAUNCH, [Span(0, 1, BLOCKS)], most_words)
        builders = [whole, whole.split(), whole.split()]
        for block, share in enumerate(shares):
            builders[share].consume(every[block])
        for other in builders[1:]:
            whole.merge(other)
        return whole.finish()

    one, several = made([0] * BLOCKS), made(parts)
    assert stream_of(several) == stream_of(one)
    assert several.spans == one.spans
    assert len(one.words) <= most_words


def requests_of(did: Sequence[int]) -> list[list[int]]:
    """The words of a warp, request by request."""
    found: list[list[int]] = []
    for word in did:
        if word >> FIRST_BIT & 1:
            found.append([])
        found[-1].append(word)
    return found


@given(st.integers(0, 1 << 32), st.integers(0, 40))
def test_of_a_warp_no_more_is_kept_than_fits_but_for_its_last_access(seed, most_of_warp):
    choice = random.Random(seed)
    every = [words(*block_records(choice, block)) for block in range(BLOCKS)]

    def made(most: int | None) -> AccessStreams:
        builder = StreamBuilder(EVERY_ACCESS, LAUNCH, [Span(0, 0, BLOCKS)], ENOUGH, most)
        for block in every:
            builder.consume(block)
        return builder.finish()

    whole, cut = made(None), made(most_of_warp)
    assert not whole.is_cut
    assert cut.is_cut or stream_of(cut) == stream_of(whole)
    for place, did in stream_of(whole).items():
        kept = stream_of(cut)[place]
        assert kept == did[: len(kept)]
        if kept != did:
            assert len(kept) >= most_of_warp
            # An access is one request, or through a generic address one in every space.
            last = requests_of(kept)[-3:]
            assert not kept or len(kept) - sum(map(len, last)) < most_of_warp


def test_a_builder_can_be_shared_by_threads():
    assert are_splittable([StreamBuilder(access_kernel(), LAUNCH, [Span(0, 0, 1)], ENOUGH)])


def lines_of(found: AccessStreams) -> list[tuple[int, str, str]]:
    """Line, sectors and those not covered whole, for every word of the first warp."""
    return [
        (w >> LINE_SHIFT, f"{w & 15:04b}", f"{w >> PARTIAL_SHIFT & 15:04b}")
        for w in stream_of(found)[0, 0]
    ]


LINE = (GLOBAL_BASE + 4096) // 128


@pytest.mark.parametrize(
    ("width", "offset", "stride", "wanted"),
    [
        (4, 0, 4, [(0, "1111")]),
        (4, 0, -4, [(0, "0001"), (-1, "1111")]),  # from lane 0 downwards
        (4, 64, 4, [(0, "1100"), (1, "0011")]),
        (4, 0, 0, [(0, "0001")]),
        (4, 0, 8, [(0, "1111"), (1, "1111")]),
        (4, 0, 128, [(line, "0001") for line in range(32)]),
        (4, 0, 64, [(line, "0101") for line in range(16)]),
        (16, 0, 16, [(line, "1111") for line in range(4)]),
        (1, 0, 1, [(0, "0001")]),
    ],
)
def test_patterns_by_hand(width, offset, stride, wanted):
    (record,) = [affine(0, GLOBAL_BASE + 4096 + offset, stride)]
    found = streams(access_kernel(Space.GLOBAL, width), warp(0, 0), record)
    assert lines_of(found) == [(LINE + line, sectors, "0000") for line, sectors in wanted]
    assert [w >> FIRST_BIT & 1 for w in stream_of(found)[0, 0]] == [1] + [0] * (len(wanted) - 1)


@pytest.mark.parametrize(
    ("width", "offset", "stride", "mask", "wanted"),
    [
        (4, 0, 4, FULL, [("1111", "0000")]),
        (4, 16, 4, FULL, [("1111", "0001"), ("0001", "0001")]),
        (4, 0, 8, FULL, [("1111", "1111"), ("1111", "1111")]),  # every second word
        (4, 0, 4, 0xFFFF, [("0011", "0000")]),
        (4, 0, 4, 0xFFFE, [("0011", "0001")]),
        (4, 0, 4, 0xFF0F, [("0011", "0001")]),
        (1, 0, 1, FULL, [("0001", "0000")]),  # bytes that fill a sector together
        (1, 0, 1, FULL >> 1, [("0001", "0001")]),
        (32, 0, 128, 3, [("0001", "0000"), ("0001", "0000")]),
        (4, 0, 0, FULL, [("0001", "0001")]),
    ],
)
def test_what_a_store_covers_by_hand(width, offset, stride, mask, wanted):
    of = access_kernel(Space.GLOBAL, width, OpClass.STORE)
    record = affine(0, GLOBAL_BASE + 4096 + offset, stride, mask)
    assert [found[1:] for found in lines_of(streams(of, warp(0, 0), record))] == wanted


def test_local_memory_lies_lane_by_lane_word_by_word():
    of = access_kernel(Space.LOCAL, 8, OpClass.STORE)
    found = streams(of, warp(0, 0), affine(0, 40, 0, 0xFFFF_FF01))
    assert lines_of(found) == [(10, "1111", "0001"), (11, "1111", "0001")]


def test_the_words_of_a_warp_are_in_its_order_however_warps_take_turns():
    def loaded(line: int) -> list[int]:
        return affine(0, GLOBAL_BASE + 4096 + 128 * line, 4)

    found = streams(
        access_kernel(),
        *(warp(0, 1), loaded(0), warp(0, 0), loaded(1), warp(0, 1), loaded(2)),
        *(warp(2, 0), loaded(3)),
        spans=[Span(0, 0, 1), Span(2, 2, 3)],
    )
    by_warp = filled(stream_of(found))
    lines = {place: [(w >> LINE_SHIFT) - LINE for w in did] for place, did in by_warp.items()}
    assert lines == {(0, 0): [1], (0, 1): [0, 2], (2, 0): [3]}
    assert found.spans == (Span(0, 0, 1), Span(2, 2, 3))


def test_only_whole_blocks_are_kept():
    records = [r for block in range(4) for r in (warp(block, 0), affine(0, GLOBAL_BASE, 128))]
    builder = StreamBuilder(access_kernel(), LAUNCH, [Span(0, 0, 1), Span(1, 2, 4)], 100)
    builder.consume(words(*records))
    assert builder.is_full
    found = builder.finish()
    assert found.blocks.tolist() == [0, 1, 2]
    assert found.spans == (Span(0, 0, 1), Span(1, 2, 3))


@pytest.mark.parametrize(
    "records",
    [
        [affine(0, GLOBAL_BASE, 4)],  # of no warp
        [warp(0, WARPS), affine(0, GLOBAL_BASE, 4)],
        [warp(0, 0), affine(7, GLOBAL_BASE, 4)],
        [warp(0, 0), enter(3)],
        [warp(0, 0), affine(0, GLOBAL_BASE, 4)[:2]],
        [warp(1, 0), affine(0, GLOBAL_BASE, 4), warp(0, 0), affine(0, GLOBAL_BASE, 4)],
        [warp(0, 0), affine(0, GLOBAL_BASE, 4), warp(3, 0), affine(0, GLOBAL_BASE, 4)],
        [warp(0, 0), [9 << 56]],
    ],
)
def test_words_that_are_no_trace(records):
    with pytest.raises(ExecutionError, match="not a trace"):
        streams(access_kernel(), *records, spans=runs_of((0, 1)))


@pytest.mark.parametrize("stride", [4, 1 << 40, -(1 << 40)])
def test_an_address_that_no_memory_has(stride):
    with pytest.raises(ExecutionError, match="no memory has"):
        streams(access_kernel(), warp(0, 0), affine(0, 1 << 50, stride))


def test_more_accesses_than_words_can_name():
    many = kernel(
        instruction(at, OpClass.LOAD, "ld", space=Space.GLOBAL, access_bytes=4)
        for at in range(ROW_MASK + 2)
    )
    with pytest.raises(UnsupportedError, match="32769 kinds of access"):
        StreamBuilder(many, LAUNCH, [Span(0, 0, 1)], ENOUGH)
