"""What one request costs: sectors, transactions, bank passes."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import (
    ALL_RULES,
    FULL,
    access_kernel,
    affine,
    halves,
    instruction,
    kernel,
    memory,
    profile,
    scattered,
    warp,
)

from kernelcast.execution.address_map import (
    GLOBAL_BASE,
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
)
from kernelcast.execution.memory import Region
from kernelcast.ir import OpClass, Space
from kernelcast.profiling.profile import AccessProfile
from kernelcast.profiling.rules import NO_RULES, AccessRules

DEVICE_COUNTS = (
    "sectors",
    "lines",
    "transactions_cc10",
    "coalesced_cc10",
    "transactions_cc12",
    "coalesced_cc12",
    "bytes_cc12",
)
SHARED_COUNTS = ("passes", "passes_half_warp", "ideal_passes")
PASS_COUNTS = (*SHARED_COUNTS, "tag_passes")
RULE_COUNTS = (*DEVICE_COUNTS[2:], "passes_half_warp", "tag_passes")
PITCH = 4098
"""Words of a row: one line of tags and two banks further than a power of two."""


def request(space, access_bytes, base, stride, mask=FULL) -> AccessProfile:
    (access,) = profile(
        access_kernel(space, access_bytes), warp(0, 0), affine(0, base, stride, mask)
    ).accesses
    return access


@pytest.mark.parametrize(
    ("access_bytes", "offset", "stride", "expected"),
    [
        # sectors, lines, then transactions, coalesced by cc 1.0, the same by cc 1.2, and bytes
        (4, 0, 4, (4, 1, 2, 1, 2, 1, 128)),
        (4, 4, 4, (5, 2, 32, 0, 3, 0, 128 + 64 + 32)),
        (4, 32, 4, (4, 2, 32, 0, 3, 0, 128 + 32 + 32)),
        (4, 64, 4, (4, 2, 2, 1, 2, 1, 128)),
        (4, 0, 0, (1, 1, 32, 0, 2, 1, 64)),
        (4, 0, 8, (8, 2, 32, 0, 2, 1, 256)),
        (4, 0, 128, (32, 32, 32, 0, 32, 0, 32 * 32)),
        (4, 124, -4, (4, 1, 32, 0, 2, 1, 128)),
        (8, 0, 8, (8, 2, 2, 1, 2, 1, 256)),
        (8, 64, 8, (8, 3, 32, 0, 4, 0, 256)),
        (16, 0, 16, (16, 4, 4, 1, 4, 0, 512)),
        (2, 0, 2, (2, 1, 32, 0, 2, 1, 64)),
        (1, 0, 1, (1, 1, 32, 0, 2, 1, 64)),
    ],
)
def test_global_patterns_by_hand(access_bytes, offset, stride, expected):
    access = request(Space.GLOBAL, access_bytes, GLOBAL_BASE + 4096 + offset, stride)
    assert tuple(getattr(access, name) for name in DEVICE_COUNTS) == expected
    assert access.bytes == 32 * access_bytes


@pytest.mark.parametrize(("stride", "lines"), [(0, 1), (1, 1), (2, 2), (4, 4), (32, 32), (33, 32)])
def test_a_request_diverges_where_it_touches_more_than_one_line(stride, lines):
    # Listing 1 of Wang et al. 2020: one line a load with a stride of 1 word, 32 with one of 32.
    access = request(Space.GLOBAL, 4, GLOBAL_BASE + 4096, 4 * stride)
    assert (access.lines, access.divergent) == (lines, int(lines > 1))


@pytest.mark.parametrize("stride", range(1, 65))
def test_word_stride_conflicts_on_shared_memory_are_the_common_divisor_with_the_banks(stride):
    # Resios 2011, section 4.9: gcd(32, stride) lanes fall on one bank.
    access = request(Space.SHARED, 4, 0, 4 * stride)
    assert access.passes == math.gcd(32, stride)
    assert access.ideal_passes == 1
    assert access.passes_half_warp == 2 * math.gcd(16, stride)


@pytest.mark.parametrize(
    ("access_bytes", "stride", "expected"),
    [
        (4, 0, (1, 2, 1)),  # one word for all lanes is broadcast
        (1, 1, (1, 2, 1)),  # four lanes share a word
        (8, 8, (2, 4, 2)),
        (8, 16, (4, 8, 2)),
        (8, 24, (2, 4, 2)),
        (16, 16, (4, 8, 4)),
        (16, 64, (16, 32, 4)),
        (16, 0, (2, 2, 2)),  # lanes that want the same in pairs return half as much
    ],
)
def test_shared_patterns_by_hand(access_bytes, stride, expected):
    access = request(Space.SHARED, access_bytes, 0, stride)
    assert tuple(getattr(access, name) for name in SHARED_COUNTS) == expected


def load_of_rows(words: int, access_bytes: int = 4) -> AccessProfile:
    """A warp that loads so many words of every row, 32 in all."""
    base = GLOBAL_BASE + (1 << 21)
    addresses = [
        base + access_bytes * (PITCH * (lane // words) + lane % words) for lane in range(32)
    ]
    (access,) = profile(
        access_kernel(Space.GLOBAL, access_bytes),
        warp(0, 0),
        scattered(0, addresses),
        arrays=memory(1 << 22),
    ).accesses
    return access


@pytest.mark.parametrize(
    ("words", "passes"),
    [
        (32, 1),  # a row: every bank serves one word
        (16, 2),  # a second row begins two banks further: they share 14 banks
        (8, 4),  # rows of 8 two banks apart: a bank lies in four of them
        (4, 2),
        (2, 1),  # 16 pairs fill the banks one beside the other
        (1, 2),  # 32 words, two banks apart, go round twice
    ],
)
def test_loads_of_rows_take_the_passes_of_the_banks_they_fall_on(words, passes):
    access = load_of_rows(words)
    assert (access.passes, access.ideal_passes, access.passes_half_warp) == (passes, 1, 0)


def test_wide_loads_from_global_memory_take_their_banks_in_turns():
    assert [load_of_rows(words, 8).passes for words in (32, 16, 8, 4, 2, 1)] == [2, 2, 4, 4, 2, 4]


@pytest.mark.parametrize(
    ("width", "lanes_alike", "distance", "passes"),
    [
        (16, 32, 1, 2),  # the tiles of attention: two passes for each load on an H100
        (16, 16, 1, 2),  # two rows of a matrix product in double precision
        (16, 1, 1, 4),
        (8, 8, 1, 1),  # four rows of a product of pairs of halves
        (8, 1, 1, 2),
        (8, 2, 2, 1),  # every other lane wants what the one before it wanted
        (4, 1, 1, 1),
    ],
)
def test_wide_loads_whose_lanes_want_the_same_in_pairs_take_half_of_the_passes(
    width, lanes_alike, distance, passes
):
    if distance == 1:
        numbers = [lane // lanes_alike for lane in range(32)]
    else:
        numbers = [lane // 4 * 2 + lane % 2 for lane in range(32)]
    addresses = [width * number for number in numbers]
    found = profile(access_kernel(Space.SHARED, width), warp(0, 0), scattered(0, addresses))
    (access,) = found.accesses
    assert (access.passes, access.ideal_passes) == (passes, passes)


def test_side_by_side_lines_lie_in_four_banks_of_tags():
    # Stride 32 words: 32 lines, eight in every bank. Stride 0 and 1: one line.
    base = GLOBAL_BASE + 4096
    found = [request(Space.GLOBAL, 4, base, 4 * stride) for stride in (0, 1, 4, 32)]
    assert [access.tag_passes for access in found] == [1, 1, 1, 8]


def test_lines_of_one_bank_of_tags_are_looked_up_one_after_another():
    # Lines 0, 3, 5 and 6 have even parity in their low eight bits, and 0 and 5 also in bits 1, 3
    # and 5: those two share a bank, as do 3 and 6.
    base = GLOBAL_BASE + (1 << 21)
    lines = [0, 3, 5, 6]
    addresses = [base + 128 * lines[lane % 4] for lane in range(32)]
    (access,) = profile(
        access_kernel(), warp(0, 0), scattered(0, addresses), arrays=memory(1 << 22)
    ).accesses
    assert (access.lines, access.tag_passes) == (4, 2)


@pytest.mark.parametrize("op_class", [OpClass.STORE, OpClass.ATOMIC])
def test_what_passes_through_the_l1_cache_takes_no_passes(op_class):
    # After a load of the same pattern: what is remembered of that one must not count.
    kinds = (OpClass.LOAD, op_class)
    both = kernel(
        instruction(index, kind, space=Space.GLOBAL, access_bytes=4)
        for index, kind in enumerate(kinds)
    )
    records = [affine(index, GLOBAL_BASE + 4096, 4) for index in range(2)]
    load, other = profile(both, warp(0, 0), *records).accesses
    assert [getattr(load, name) for name in PASS_COUNTS] == [1, 0, 1, 1]
    assert [getattr(other, name) for name in PASS_COUNTS] == [0, 0, 0, 0]


def of_atomic(width: int, addresses: Sequence[int], *, counts_lanes: bool = False) -> float:
    """Passes of an atomic on shared memory."""
    one = instruction(0, OpClass.ATOMIC, space=Space.SHARED, access_bytes=width)
    one = replace(one, traits=replace(one.traits, counts_lanes=counts_lanes))
    found = profile(kernel([one]), warp(0, 0), scattered(0, addresses)).accesses
    return found[0].passes


@pytest.mark.parametrize(
    ("width", "addresses", "passes"),
    [
        (4, [4 * lane for lane in range(32)], 1),
        (4, [4 * (lane // 8) for lane in range(32)], 8),
        (4, [0] * 32, 32),
        (4, [128 * lane for lane in range(32)], 32),  # words of one bank
        (4, [128 * (lane % 4) + 4 * (lane // 16) for lane in range(32)], 16),
        (8, [8 * lane for lane in range(32)], 2),
        (8, [8 * (lane // 2) for lane in range(32)], 4),
    ],
)
def test_lanes_of_an_atomic_on_shared_memory_take_turns_at_their_bank(width, addresses, passes):
    """Measured on an H100: lanes on one word take a cycle each, `atomics.atom_shared`."""
    assert of_atomic(width, addresses) == passes


def test_additions_of_one_are_counted_at_once():
    assert of_atomic(4, [0] * 32, counts_lanes=True) == 1
    assert of_atomic(4, [128 * lane for lane in range(32)], counts_lanes=True) == 32


def test_inactive_groups_of_lanes_take_no_pass():
    access = request(Space.SHARED, 8, 0, 8, mask=0xFFFF)
    assert (access.passes, access.ideal_passes, access.lanes) == (1, 1, 16)


def test_same_offset_in_local_memory_is_coalesced_for_all_lanes():
    # The hardware interleaves the lanes' local memories word by word.
    access = request(Space.LOCAL, 4, 100, 0)
    assert tuple(getattr(access, name) for name in DEVICE_COUNTS) == (4, 1, 2, 1, 2, 1, 128)


def test_a_wide_local_access_takes_a_line_per_word():
    access = request(Space.LOCAL, 16, 32, 0)
    assert (access.sectors, access.lines) == (16, 4)


def test_lanes_at_different_local_offsets_are_scattered():
    access = request(Space.LOCAL, 4, 0, 4)
    assert (access.sectors, access.lines) == (32, 32)


def test_parameters_and_constants_count_requests_only():
    for space in (Space.PARAM, Space.CONST):
        access = request(space, 4, 0, 0)
        assert (access.requests, access.lanes, access.sectors) == (1, 32, 0)


def test_generic_lanes_are_counted_in_the_space_they_lead_to():
    addresses = [GLOBAL_BASE + 4 * i for i in range(8)]
    addresses += [SHARED_WINDOW + 4 * i for i in range(8)]
    addresses += [LOCAL_WINDOW + 16] * 8
    addresses += [PARAM_WINDOW] * 8
    accesses = profile(
        access_kernel(Space.GENERIC), warp(0, 0), scattered(0, addresses, FULL ^ 1)
    ).accesses
    found = {a.space: (a.requests, a.lanes, a.sectors, a.passes) for a in accesses}
    assert found == {
        Space.GLOBAL: (1, 7, 1, 1),
        Space.SHARED: (1, 8, 0, 1),
        Space.LOCAL: (1, 8, 1, 0),
        Space.PARAM: (1, 8, 0, 0),
    }


def test_patterns_that_fall_on_one_place_of_the_memory_are_told_apart():
    # Weighted by 1, 3, 5..., the ways of these lanes from the first one sum up alike.
    base = GLOBAL_BASE + 4096
    one_away = [base, base + 320, *[base] * 30]
    two_away = [base, base + 640, base - 192, *[base] * 29]
    for first, second in ((one_away, two_away), (two_away, one_away)):
        records = [scattered(0, first), scattered(0, second)]
        (access,) = profile(access_kernel(), warp(0, 0), *records).accesses
        assert access.sectors == 2 + 3


def expected_counts(space: Space, width: int, addresses: dict[int, int]) -> dict[str, int]:
    """The definitions of `AccessProfile`, followed word by word; addresses by active lane."""
    expected = dict.fromkeys((*DEVICE_COUNTS, *PASS_COUNTS), 0)
    expected |= {"requests": 1, "lanes": len(addresses)}
    if space in (Space.SHARED, Space.GLOBAL):
        group = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
        if space is Space.SHARED and width > 4 and are_paired(addresses):
            group *= 2
        expected["passes"] = bank_passes(width, addresses, group, 32)
        expected["ideal_passes"] = len({lane // group for lane in addresses})
    if space is Space.SHARED:
        expected["passes_half_warp"] = bank_passes(width, addresses, 16, 16)
    if space is Space.GLOBAL:
        expected["tag_passes"] = tag_passes({address // 128 for address in addresses.values()})
    if space in (Space.GLOBAL, Space.LOCAL):
        parts = [addresses]
        if space is Space.LOCAL:
            parts = [
                {lane: (a // 4 + j) * 128 + 4 * lane + a % 4 for lane, a in addresses.items()}
                for j in range(max(width // 4, 1))
            ]
            width = min(width, 4)
        expected |= device_counts(width, parts)
    return expected


def are_paired(addresses: dict[int, int]) -> bool:
    """Whether lanes want the same as their neighbours, or all as those one further."""
    return any(
        all(a == addresses.get(lane ^ distance, a) for lane, a in addresses.items())
        for distance in (1, 2)
    )


def bank_passes(width: int, addresses: dict[int, int], group: int, banks: int) -> int:
    words_of: defaultdict[int, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for lane, address in addresses.items():
        for j in range(max(width // 4, 1)):
            word = address // 4 + j
            words_of[lane // group][word % banks].add(word)
    return sum(max(len(w) for w in group_banks.values()) for group_banks in words_of.values())


def tag_passes(lines: set[int]) -> int:
    """The fullest of the four banks that two parities of a line's number name."""
    banks = [tuple((line & bits).bit_count() % 2 for bits in (0x2AFF, 0x3F2A)) for line in lines]
    return max(Counter(banks).values())


def device_counts(width: int, parts: list[dict[int, int]]) -> dict[str, int]:
    pairs = [(lane, address) for part in parts for lane, address in part.items()]
    halves = sorted({lane // 16 for lane, _ in pairs})
    segment = 32 * min(width, 4)
    transactions = 0
    moved = 0
    for half in halves:
        touched = [address for lane, address in pairs if lane // 16 == half]
        for number in {address // segment for address in touched}:
            inside = [a for a in touched if a // segment == number]
            size = segment
            while size > 32 and len({a // (size // 2) for a in inside}) == 1:
                size //= 2
            transactions += 1
            moved += size
    strict = 0
    all_coalesced = True
    for part in parts:
        for half in halves:
            lanes = {lane % 16: address for lane, address in part.items() if lane // 16 == half}
            starts = {address - k * width for k, address in lanes.items()}
            aligned = all(start % (16 * width) == 0 for start in starts)
            if width in (4, 8, 16) and len(starts) == 1 and aligned:
                strict += 2 if width == 16 else 1
            else:
                strict += len(lanes)
                all_coalesced = False
    return {
        "sectors": len({address // 32 for _, address in pairs}),
        "lines": len({address // 128 for _, address in pairs}),
        "divergent": int(len({address // 128 for _, address in pairs}) > 1),
        "transactions_cc10": strict,
        "coalesced_cc10": int(all_coalesced),
        "transactions_cc12": transactions,
        "coalesced_cc12": int(transactions == len(halves)),
        "bytes_cc12": moved,
    }


@st.composite
def requests(draw):
    """A space, an access width, a mask, and aligned addresses, affine or not."""
    space = draw(st.sampled_from([Space.GLOBAL, Space.SHARED, Space.LOCAL]))
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    mask = draw(st.one_of(st.just(FULL), st.integers(1, FULL)))
    origin = 1 << 16
    if draw(st.booleans()):
        base = origin + width * draw(st.integers(0, 64))
        stride = width * draw(st.integers(-70, 70))
        return space, width, mask, [base + stride * lane for lane in range(32)], (base, stride)
    span = draw(st.sampled_from([1, 4, 40, 400]))
    places = draw(st.lists(st.integers(0, span), min_size=32, max_size=32))
    return space, width, mask, [origin + width * p for p in places], None


@given(st.lists(requests(), min_size=1, max_size=4))
def test_every_count_follows_its_definition(drawn):
    # Each request is counted twice, so that a pattern remembered from before is tried as well.
    for space, width, mask, addresses, pattern in drawn:
        shift = GLOBAL_BASE if space is Space.GLOBAL else 0
        if pattern:
            record = affine(0, pattern[0] + shift, pattern[1], mask)
        else:
            record = scattered(0, [a + shift for a in addresses], mask)
        (access,) = profile(access_kernel(space, width), warp(0, 0), record, record).accesses
        active = {lane: a for lane, a in enumerate(addresses) if mask >> lane & 1}
        expected = expected_counts(space, width, active)
        assert {name: getattr(access, name) for name in expected} == {
            name: 2 * count for name, count in expected.items()
        }


@given(
    st.sampled_from([OpClass.LOAD, OpClass.STORE, OpClass.ATOMIC]),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.integers(0, 1 << 32),
)
def test_requests_that_are_never_alike_are_counted_as_any(op_class, width, seed):
    # More of them than an instruction's patterns are looked up for: they are counted lane by lane.
    choice = random.Random(seed)
    arrays = memory(1 << 16, 1 << 15)
    starts = [region.address for region in arrays.regions]
    records, lanes = [], []
    for _ in range(40):
        mask = choice.choice([FULL, choice.randint(1, FULL)])
        span = choice.choice([40, 1000])
        addresses = [
            choice.choice(starts[: choice.randint(1, 2)]) + width * choice.randint(0, span)
            for _ in range(32)
        ]
        records.append(scattered(0, addresses, mask))
        lanes.append({lane: a for lane, a in enumerate(addresses) if mask >> lane & 1})
    tags = AccessRules(ALL_RULES.tag_bank_bits)
    kernel = access_kernel(Space.GLOBAL, width, op_class)
    found = profile(kernel, warp(0, 0), *records, arrays=arrays, rules=tags)
    (access,) = found.accesses
    expected: Counter[str] = Counter()
    for request in lanes:
        expected.update(expected_counts(Space.GLOBAL, width, request))
    names = ["requests", "lanes", "sectors", "lines", "divergent"]
    if op_class is OpClass.LOAD:
        names += ["passes", "ideal_passes", "tag_passes"]
    assert {name: getattr(access, name) for name in names} == {n: expected[n] for n in names}
    touched = [
        {a // 32 for request in lanes for a in request.values() if in_array(a, r)}
        for r in arrays.regions
    ]
    distinct = {f.label: f.distinct_sectors for f in found.footprints}
    assert distinct == {r.label: len(t) for r, t in zip(arrays.regions, touched, strict=True) if t}
    assert sum(f.requested_sectors for f in found.footprints) == access.sectors


def in_array(address: int, region: Region) -> bool:
    return region.address <= address < region.end


def test_what_no_rule_asks_for_is_not_counted():
    records = [affine(0, GLOBAL_BASE + 4096, 128)]
    (access,) = profile(access_kernel(), warp(0, 0), *records, rules=NO_RULES).accesses
    assert (access.lines, access.passes) == (32, 32)
    assert not any(getattr(access, name) for name in RULE_COUNTS)


def test_one_profile_can_answer_for_several_machines():
    tags, other = AccessRules((1, 2)), AccessRules((4, 8))
    halves = AccessRules(half_warps=True)
    assert NO_RULES.with_those_of([tags, halves]) == AccessRules((1, 2), half_warps=True)
    assert other.with_those_of([tags]) == other


@given(st.sampled_from([Space.GLOBAL, Space.SHARED, Space.GENERIC]), st.data())
def test_a_request_of_two_rows_counts_as_its_addresses_do(space, data):
    arrays = memory(1 << 20)
    base = (1 << 18) + (0 if space is Space.SHARED else GLOBAL_BASE)
    as_rows, as_addresses = [], []
    for _ in range(data.draw(st.integers(1, 6))):
        mask = data.draw(st.sampled_from([FULL, 1, 0xFFFF_0000, 0x0001_8000]))
        starts = [base + 4 * data.draw(st.integers(0, 70)) for _ in range(2)]
        stride = data.draw(st.sampled_from([-4, 0, 4, 128]))
        as_rows.append(halves(0, starts[0], stride, starts[1], mask))
        addresses = [starts[lane // 16] + lane % 16 * stride for lane in range(32)]
        as_addresses.append(scattered(0, addresses, mask))
    of = access_kernel(space)
    one, other = (
        profile(of, warp(0, 0), *records, arrays=arrays) for records in (as_rows, as_addresses)
    )
    assert one.accesses == other.accesses
    assert one.footprints == other.footprints


@given(st.integers(0, 255), st.sampled_from([-256, -12, 0, 4, 8, 36, 128, 4096]), st.data())
def test_an_affine_request_counts_as_its_addresses_do(start, stride, data):
    mask = data.draw(st.integers(1, FULL))
    arrays = memory(1 << 20)
    base = GLOBAL_BASE + (1 << 18) + 4 * start
    as_affine = profile(access_kernel(), warp(0, 0), affine(0, base, stride, mask), arrays=arrays)
    as_addresses = profile(
        access_kernel(),
        warp(0, 0),
        scattered(0, [base + lane * stride for lane in range(32)], mask),
        arrays=arrays,
    )
    assert as_affine.accesses == as_addresses.accesses
    assert as_affine.footprints == as_addresses.footprints


def test_patterns_that_displace_each_other_lose_no_counts():
    # Three times as many as are remembered, met in turn and then again.
    strides = [4 * (1 + n % 3100) for n in range(6200)]
    records = [affine(0, 0, stride) for stride in strides]
    (access,) = profile(access_kernel(Space.SHARED), warp(0, 0), *records).accesses
    assert access.requests == len(strides)
    assert access.passes == sum(math.gcd(32, stride // 4) for stride in strides)
