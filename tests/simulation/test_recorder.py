"""Warp streams: the compiled recorder beside plain Python, and known requests."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import (
    FULL,
    access_kernel,
    affine,
    enter,
    scattered,
    warp,
    words,
)
from tests.profiling.test_requests import are_paired, bank_passes, tag_passes
from tests.profiling.test_stream_builder import (
    EVERY_ACCESS,
    LAUNCH,
    block_records,
    pieces,
    space_of,
)

from kernelcast.errors import ExecutionError
from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.execution.trace import RecordKind, decode
from kernelcast.ir import Instruction, Kernel, OpClass, Space
from kernelcast.profiling.rules import NO_RULES, AccessRules
from kernelcast.profiling.tables import SPACE_CODES
from kernelcast.simulation import streams as bits
from kernelcast.simulation.recorder import StreamRecorder
from kernelcast.simulation.streams import WarpStreams

RULES = (NO_RULES, AccessRules(tag_bank_bits=(0x2AFF, 0x3F2A)), AccessRules(half_warps=True))
ENOUGH = 1 << 16


class Request(NamedTuple):
    """An ACCESS with its LINEs; `lines` are of line and sectors, in any order."""

    instruction: int
    space: int
    lanes: int
    passes: int
    ideal: int
    tags: int
    lines: frozenset[tuple[int, int]]


class Entry(NamedTuple):
    """An ENTER."""

    block: int
    lanes: int


Stream = dict[tuple[int, int], list[Entry | Request]]


def decoded(stream: Sequence[int]) -> Iterator[Entry | Request]:
    """What the words of a warp say."""
    at = 0
    while at < len(stream):
        word = stream[at]
        at += 1
        if word & bits.KIND_MASK == bits.ENTER:
            lanes = word >> bits.ENTERED_LANES_SHIFT
            yield Entry(word >> bits.BLOCK_SHIFT & bits.BLOCK_MASK, lanes)
            continue
        count = word >> bits.LINES_SHIFT & bits.LINES_MASK
        listed = stream[at : at + count]
        assert all(line & bits.KIND_MASK == bits.LINE for line in listed)
        yield Request(
            word >> bits.INSTRUCTION_SHIFT & bits.INSTRUCTION_MASK,
            word >> bits.SPACE_SHIFT & bits.SPACE_MASK,
            word >> bits.LANES_SHIFT & bits.LANES_MASK,
            word >> bits.PASSES_SHIFT & bits.PASSES_MASK,
            word >> bits.IDEAL_SHIFT & bits.IDEAL_MASK,
            word >> bits.TAGS_SHIFT & bits.TAGS_MASK,
            frozenset(
                (w >> bits.LINE_SHIFT, w >> bits.SECTORS_SHIFT & bits.SECTORS_MASK) for w in listed
            ),
        )
        at += count


def by_warp(found: WarpStreams) -> Stream:
    bounds = list(pairwise(found.starts.tolist()))
    return {
        (block, number): list(
            decoded(found.words[slice(*bounds[at * found.warps + number])].tolist())
        )
        for at, block in enumerate(found.blocks.tolist())
        for number in range(found.warps)
        if bounds[at * found.warps + number][0] < bounds[at * found.warps + number][1]
    }


def recorded(of: Kernel, *parts: np.ndarray, rules: AccessRules = NO_RULES) -> WarpStreams:
    recorder = StreamRecorder(of, LAUNCH, rules, ENOUGH)
    for part in parts:
        recorder.consume(part)
    return recorder.finish()


def expected(of: Kernel, trace: np.ndarray, rules: AccessRules) -> Stream:
    """What the streams of a trace are, record by record."""
    found: Stream = defaultdict(list)
    for record in decode(trace):
        into = found[record.block, record.warp]
        if record.kind is RecordKind.BLOCK:
            into.append(Entry(record.id, record.mask.bit_count()))
            continue
        one = of.instructions[record.id]
        spaces: defaultdict[Space, dict[int, int]] = defaultdict(dict)
        for lane, address in enumerate(record.addresses):
            if record.mask >> lane & 1:
                assert one.space is not None
                is_generic = one.space is Space.GENERIC
                space, at = space_of(address) if is_generic else (one.space, address)
                spaces[space][lane] = at
        into += [
            request(one, space, spaces[space], rules)
            for space in sorted(spaces, key=SPACE_CODES.__getitem__)
        ]
    return found


def request(one: Instruction, space: Space, lanes: dict[int, int], rules: AccessRules) -> Request:
    """One request, by the definitions of `AccessProfile`; of constants, its different words."""
    passes, ideal, tags = passes_of(one, space, lanes, rules)
    touched: defaultdict[int, int] = defaultdict(int)
    if space in (Space.GLOBAL, Space.LOCAL):
        for lane, address in lanes.items():
            for line, byte in pieces(space, lane, address, one.access_bytes):
                touched[line] |= 1 << byte // 32
    if one.space in (Space.CONST, Space.PARAM):
        passes = len(set(lanes.values()))
        for at in lanes.values():
            touched[at // 128] |= 1 << at % 128 // 32
    lines = frozenset(touched.items())
    return Request(one.index, SPACE_CODES[space], len(lanes), passes, ideal, tags, lines)


def passes_of(
    one: Instruction, space: Space, lanes: dict[int, int], rules: AccessRules
) -> tuple[int, int, int]:
    """Passes, those without conflicts, and passes of tags."""
    is_load = one.op_class is OpClass.LOAD
    tags = 0
    if space is Space.GLOBAL and is_load and rules.tag_bank_bits:
        first = {line for line, _ in lines_of(one, lanes)}
        tags = tag_passes(first)
    is_atomic = one.op_class is OpClass.ATOMIC
    if space is Space.GLOBAL and is_atomic:
        return most_in_turn(lanes, 8), 0, most_in_turn(lanes, 32)
    if space is Space.SHARED and not is_atomic and rules.half_warps:
        return bank_passes(one.access_bytes, lanes, 16, 16), 2, tags
    if space is Space.SHARED or (space is Space.GLOBAL and is_load):
        group = {8: 16, 16: 8, 32: 8}.get(one.access_bytes, 32)
        if space is Space.SHARED and is_load and one.access_bytes > 4 and are_paired(lanes):
            group *= 2
        ideal = len({lane // group for lane in lanes})
        if is_atomic:
            return lanes_in_turn(one.access_bytes, lanes, group), ideal, tags
        return bank_passes(one.access_bytes, lanes, group, 32), ideal, tags
    return 0, 0, tags


def most_in_turn(lanes: dict[int, int], part_words: int) -> int:
    """Of all parts of memory with so many words, the most lanes on one of its words."""
    by_part: defaultdict[int, int] = defaultdict(int)
    for word, count in Counter(address // 4 for address in lanes.values()).items():
        by_part[word // part_words] = max(by_part[word // part_words], count)
    return sum(by_part.values())


def lanes_in_turn(access_bytes: int, lanes: dict[int, int], group: int) -> int:
    """Passes in which a bank serves one lane, whatever the others want of it."""
    width = max(access_bytes, 4)
    wanted = Counter((lane // group, at % 128 // width) for lane, at in lanes.items())
    groups = {lane // group for lane in lanes}
    return sum(max(n for (one, _), n in wanted.items() if one == each) for each in groups)


def lines_of(one: Instruction, lanes: dict[int, int]) -> Iterator[tuple[int, int]]:
    for lane, address in lanes.items():
        yield from pieces(Space.GLOBAL, lane, address, one.access_bytes)


@given(st.integers(0, 1 << 32), st.sampled_from(RULES))
def test_streams_are_those_of_plain_python(seed, rules):
    choice = random.Random(seed)
    parts = [words(*block_records(choice, block)) for block in range(choice.randint(1, 6))]
    found = by_warp(recorded(EVERY_ACCESS, *parts, rules=rules))
    assert found == expected(EVERY_ACCESS, np.concatenate(parts), rules)


@pytest.mark.parametrize(
    ("space", "width", "stride", "passes", "ideal", "lines"),
    [
        (Space.GLOBAL, 4, 4, 1, 1, 1),
        (Space.GLOBAL, 4, 128, 32, 1, 32),
        (Space.GLOBAL, 8, 8, 2, 2, 2),
        (Space.GLOBAL, 16, 16, 4, 4, 4),
        (Space.GLOBAL, 4, 0, 1, 1, 1),
        (Space.SHARED, 4, 4, 1, 1, 0),
        (Space.SHARED, 4, 8, 2, 1, 0),
        (Space.SHARED, 4, 128, 32, 1, 0),
        (Space.SHARED, 16, 16, 4, 4, 0),
    ],
)
def test_requests_by_hand(space, width, stride, passes, ideal, lines):
    base = GLOBAL_BASE + 4096 if space is Space.GLOBAL else 4096
    trace = words(warp(0, 0), enter(0), affine(0, base, stride))
    ((entry, found),) = by_warp(recorded(access_kernel(space, width), trace)).values()
    assert entry == Entry(0, 32)
    assert isinstance(found, Request)
    assert (found.passes, found.ideal, len(found.lines)) == (passes, ideal, lines)


@pytest.mark.parametrize(("stride", "together"), [(4, 1), (0, 32), (8, 2), (1, 4)])
def test_an_atomic_on_shared_memory_takes_as_many_turns_as_lanes_want_one_bank(stride, together):
    of = access_kernel(Space.SHARED, 4, OpClass.ATOMIC)
    trace = words(warp(0, 0), enter(0), affine(0, 4096, stride))
    ((_, found),) = by_warp(recorded(of, trace)).values()
    assert isinstance(found, Request)
    assert found.passes == together


def test_warps_that_take_turns_have_their_own_words_in_order():
    first, second = affine(0, GLOBAL_BASE, 4), affine(0, GLOBAL_BASE + 512, 4)
    records = [warp(3, 1), enter(0), first, warp(3, 0), enter(0), warp(3, 1), second]
    found = recorded(access_kernel(), words(*records))
    assert found.blocks.tolist() == [3]
    kinds = {place: [type(one) for one in did] for place, did in by_warp(found).items()}
    assert kinds == {(3, 0): [Entry], (3, 1): [Entry, Request, Request]}


def test_what_has_no_room_is_left_out_and_said():
    recorder = StreamRecorder(access_kernel(), LAUNCH, NO_RULES, 100)
    lanes = [GLOBAL_BASE + 128 * lane for lane in range(32)]
    for block in range(5):
        recorder.consume(words(warp(block, 0), enter(0), scattered(0, lanes)))
    found = recorder.finish()
    assert found.is_cut
    assert 100 < len(found.words) < 100 + 1 + 33 + 1
    assert not recorded(access_kernel(), words(warp(0, 0), enter(0))).is_cut


def test_a_warp_that_goes_on_leaves_room_for_the_others_of_its_block():
    recorder = StreamRecorder(access_kernel(), LAUNCH, NO_RULES, ENOUGH, most_of_warp=100)
    lanes = [GLOBAL_BASE + 128 * lane for lane in range(32)]
    for block, number, times in ((0, 0, 50), (0, 1, 2), (0, 0, 1), (1, 0, 50)):
        recorder.consume(words(warp(block, number), *[enter(0), scattered(0, lanes)] * times))
    found = recorder.finish()
    assert found.is_cut
    own = {place: len(did) for place, did in by_warp(found).items()}
    # Entries of one word and requests of 33: the third request goes beyond 100 words.
    assert own == {(0, 0): 6, (0, 1): 4, (1, 0): 6}


@pytest.mark.parametrize(
    "records",
    [
        [warp(0, 0), affine(7, GLOBAL_BASE, 4)],
        [warp(0, 0), enter(3)],
        [warp(0, 0), affine(0, GLOBAL_BASE, 4)[:2]],
        [warp(0, 0)[:1]],
        [warp(0, 0), [9 << 56]],
    ],
)
def test_words_that_are_no_trace(records):
    with pytest.raises(ExecutionError, match="not a trace"):
        recorded(access_kernel(), words(*records))


def test_an_instruction_that_is_no_access_leaves_no_words():
    trace = words(warp(0, 0), enter(0), affine(0, GLOBAL_BASE, 4, 0))
    ((entry,),) = by_warp(recorded(access_kernel(), trace)).values()
    assert entry == Entry(0, FULL.bit_count())
