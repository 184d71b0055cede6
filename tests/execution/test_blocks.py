"""Which blocks are executed: all, some, a random sample, whole waves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import LaunchError
from kernelcast.execution.blocks import (
    Span,
    Wave,
    all_blocks,
    blocks_of_spans,
    first_of,
    random_blocks,
    runs_of,
    these_blocks,
    wave_count,
    wave_spans,
    whole_waves,
)
from kernelcast.execution.sampling import sample_blocks


def test_all_of_a_grid() -> None:
    assert list(all_blocks(5)) == [0, 1, 2, 3, 4]
    assert len(all_blocks(1 << 40)) == 1 << 40, "none is made"


def test_a_sample_is_the_one_that_is_always_drawn() -> None:
    assert tuple(random_blocks(1000, 7)) == sample_blocks(1000, 7)


def test_some_blocks_run_once_and_in_order() -> None:
    assert tuple(these_blocks(9, (7, 1, 7, 4))) == (1, 4, 7)
    with pytest.raises(LaunchError, match="block 9 of a grid of 9; the last is 8"):
        these_blocks(9, (3, 9))
    with pytest.raises(LaunchError, match="block -1"):
        these_blocks(9, (-1, 2))


def test_waves_by_name_and_by_number() -> None:
    """Waves of 4 in a grid of 18: 0-3, 4-7, 8-11, 12-15, and 16-17."""
    assert tuple(whole_waves(18, 4)) == (*range(4), *range(8, 12), 16, 17)
    assert tuple(whole_waves(18, 4, ["last"])) == (16, 17)
    assert tuple(whole_waves(18, 4, [2, 4])) == (4, 5, 6, 7, 12, 13, 14, 15)
    assert tuple(whole_waves(3, 4)) == (0, 1, 2), "one wave is first, middle and last"
    assert tuple(whole_waves(8, 4)) == tuple(range(8))


@pytest.mark.parametrize("wave", [0, 6, -1])
def test_a_wave_that_the_grid_does_not_have(wave: int) -> None:
    with pytest.raises(LaunchError, match=f"wave {wave} of a grid with 5 waves of 4.*1 to 5"):
        whole_waves(18, 4, [1, wave])


def test_a_wave_of_a_small_grid_says_so() -> None:
    with pytest.raises(LaunchError, match="a grid with 1 wave of 100 blocks"):
        whole_waves(18, 100, [2])
    with pytest.raises(LaunchError, match="choose among"):
        whole_waves(18, 4, ["second"])


@given(st.integers(1, 500), st.integers(1, 60))
def test_all_waves_are_the_grid(of: int, wave_blocks: int) -> None:
    every = range(1, wave_count(of, wave_blocks) + 1)
    assert tuple(whole_waves(of, wave_blocks, every)) == tuple(range(of))
    chosen = whole_waves(of, wave_blocks)
    assert chosen.indices[0] == 0 and chosen.indices[-1] == of - 1
    assert len(chosen) <= 3 * wave_blocks


def test_spans_by_hand() -> None:
    """A grid of 95 in waves of 10, the last of them not full, by how many are affordable."""
    of, wave = 95, Wave(5, 2)
    assert wave_spans(of, wave, 95) == (Span(0, 0, 95),)
    assert wave_spans(of, wave, 19) == (Span(40, 40, 50),)
    assert wave_spans(of, wave, 29) == (Span(40, 40, 60),)
    assert wave_spans(of, wave, 30) == (Span(0, 0, 10), Span(40, 50, 60))
    assert wave_spans(of, wave, 40) == (Span(0, 0, 20), Span(50, 60, 70))
    assert wave_spans(of, wave, 50) == (Span(0, 0, 10), Span(30, 40, 50), Span(80, 90, 95))
    assert wave_spans(of, wave, 94) == (Span(0, 0, 50), Span(50, 60, 70), Span(80, 90, 95))
    assert wave_spans(of, wave, 19, at_start=True) == (Span(0, 0, 10),)
    assert wave_spans(of, wave, 29, at_start=True) == (Span(0, 0, 20),)
    assert wave_spans(of, wave, 40, at_start=True) == wave_spans(of, wave, 40)
    (part,) = wave_spans(of, wave, 7, at_start=True)
    assert list(part.blocks) == [0, 1, 2, 5, 6, 7]


@pytest.mark.parametrize(
    ("of", "affordable", "blocks"),
    [
        (95, 7, [40, 41, 42, 45, 46, 47]),  # three SMs of the middle wave, with two blocks each
        (95, 1, [40]),
        (19, 9, [0, 1, 2, 3, 5, 6, 7, 8]),
        (8, 4, [0, 1, 5, 6]),
        (8, 7, [0, 1, 2, 5, 6, 7]),
        (4, 3, [0, 1, 2]),  # of blocks that do not fill the SMs, each has one
    ],
)
def test_a_part_of_a_wave_is_what_some_sms_hold(
    of: int, affordable: int, blocks: list[int]
) -> None:
    spans = wave_spans(of, Wave(5, 2), affordable)
    assert list(blocks_of_spans(of, spans)) == blocks
    assert [len(span) for span in spans] == [len(blocks)]


@given(st.integers(1, 2000), st.integers(1, 20), st.integers(1, 6), st.integers(1, 2000))
def test_spans_follow_each_other_and_are_affordable(
    of: int, sms: int, per_sm: int, affordable: int
) -> None:
    wave = Wave(sms, per_sm)
    spans = wave_spans(of, wave, affordable)
    blocks = list(blocks_of_spans(of, spans))
    assert blocks == sorted(set(blocks))
    assert 0 < len(blocks) <= affordable
    assert blocks[0] >= 0 and blocks[-1] < of
    assert all(span.start <= span.counted < span.end for span in spans)
    assert spans[0].history == 0
    if affordable < min(of, wave.blocks):
        held = {sm: sum(block % sms == sm for block in blocks) for sm in {b % sms for b in blocks}}
        assert max(held.values()) <= per_sm
        assert max(held.values()) - min(held.values()) <= 1
    else:
        assert all(s.counted % wave.blocks == 0 and s.start % wave.blocks == 0 for s in spans)


@given(
    st.integers(1, 300),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(1, 300),
    st.integers(0, 300),
)
def test_spans_are_cut_behind_their_first_blocks(
    of: int, sms: int, per_sm: int, affordable: int, count: int
) -> None:
    spans = wave_spans(of, Wave(sms, per_sm), affordable)
    blocks = list(blocks_of_spans(of, spans))
    assert list(blocks_of_spans(of, first_of(spans, count))) == blocks[:count]


def test_runs_of_blocks() -> None:
    assert runs_of(()) == ()
    assert runs_of((4, 5, 6, 9)) == (Span(4, 4, 7), Span(9, 9, 10))
