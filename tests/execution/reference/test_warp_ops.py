"""Exchange between lanes against the ISA's pseudo-code, written out lane by lane."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.reference.one_instruction import compute_all

ALL = 0xFFFF_FFFF
words = st.lists(st.integers(0, ALL), min_size=32, max_size=32)
few = st.lists(st.integers(0, 2), min_size=32, max_size=32)
masks = st.integers(1, ALL)


def members(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """PTX ISA 9.0, section 9.7.9.6: the source lane, and the predicate."""
    bval, cval, mask = b & 0x1F, c & 0x1F, c >> 8 & 0x1F
    max_lane = (lane & mask) | (cval & ~mask)
    if mode == "up":
        j, inside = lane - bval, lane - bval >= max_lane
    elif mode == "down":
        j, inside = lane + bval, lane + bval <= max_lane
    elif mode == "bfly":
        j, inside = lane ^ bval, lane ^ bval <= max_lane
    else:
        j = (lane & mask) | (bval & ~mask)
        inside = j <= max_lane
    return (j if inside else lane), bool(inside)


@given(
    st.sampled_from(("up", "down", "bfly", "idx")),
    words,
    st.integers(0, 40),
    st.sampled_from((0, 31, 16 << 8 | 31, 24 << 8, 28 << 8 | 3)),
)
def test_shuffles_read_the_lane_the_isa_names(mode: str, values: list[int], b: int, c: int) -> None:
    if mode == "bfly":
        # The ISA leaves a source beyond the segment's end but within the warp to `lane ^ b <= max`.
        c |= 31
    data, inside = compute_all(f"shfl.sync.{mode}.b32", values, b, c, ALL)
    for lane in range(32):
        source, expected = shuffled(mode, lane, b, c)
        assert (data[lane], bool(inside[lane])) == (values[source], expected)


def test_a_butterfly_sum_reaches_every_lane() -> None:
    values = [lane * lane for lane in range(32)]
    total = sum(values)
    for distance in (16, 8, 4, 2, 1):
        other, _ = compute_all("shfl.sync.bfly.b32", values, distance, 31, ALL)
        values = [a + b for a, b in zip(values, other, strict=True)]
    assert values == [total] * 32


@given(st.lists(st.booleans(), min_size=32, max_size=32), masks, masks)
def test_votes_count_the_active_members_only(votes: list[bool], active: int, named: int) -> None:
    voters = [votes[lane] for lane in members(active & named)]
    bits = [int(v) for v in votes]

    def vote(name: str) -> int:
        return compute_all(name, bits, named, active=active)[0][0]

    expected = sum(1 << lane for lane in members(active & named) if votes[lane])
    assert vote("vote.sync.ballot.b32") == expected
    assert vote("vote.sync.all.pred") == all(voters)
    assert vote("vote.sync.any.pred") == any(voters)
    assert vote("vote.sync.uni.pred") == (len(set(voters)) <= 1)


@given(few, masks)
def test_match_finds_the_lanes_of_equal_value(values: list[int], active: int) -> None:
    (found,) = compute_all("match.any.sync.b32", values, ALL, active=active)
    for lane in members(active):
        assert found[lane] == sum(
            1 << other for other in members(active) if values[other] == values[lane]
        )
    same = len({values[lane] for lane in members(active)}) == 1
    mask, predicate = compute_all("match.all.sync.b64", values, ALL, active=active)
    assert (mask[0], predicate[0]) == ((active, 1) if same else (0, 0))


@given(words, masks)
def test_reductions_run_over_the_active_lanes(values: list[int], active: int) -> None:
    taken = [values[lane] for lane in members(active)]
    signed = [v - (v >> 31 << 32) for v in taken]

    def redux(name: str) -> int:
        return compute_all(f"redux.sync.{name}", values, ALL, active=active)[0][0]

    assert redux("add.u32") == sum(taken) & ALL
    assert redux("min.s32") == min(signed) & ALL
    assert redux("max.s32") == max(signed) & ALL
    assert redux("max.u32") == max(taken)
    union = common = taken[0]
    odd = 0
    for value in taken:
        union, common, odd = union | value, common & value, odd ^ value
    assert (redux("or.b32"), redux("and.b32"), redux("xor.b32")) == (union, common, odd)


@pytest.mark.parametrize(("active", "leader"), [(ALL, 0), (0b1011000, 3)])
def test_elect_chooses_the_lowest_active_lane(active: int, leader: int) -> None:
    lane, is_leader = compute_all("elect.sync", ALL, active=active)
    assert lane[0] == leader
    assert [at for at in range(32) if is_leader[at]] == [leader]


def test_activemask_is_the_mask() -> None:
    assert compute_all("activemask.b32", active=0x1234)[0][5] == 0x1234
