"""Streams of a launch of which only its profile is known: their sums are those of the profile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.simulation.test_recorder import Entry, Request, by_warp

from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.profile import Profile, RepresentativeWarp, WarpPath
from kernelcast.simulation.mean_streams import mean_streams
from kernelcast.simulation.streams import WarpStreams

LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "times": 50}
SHARED = {"op_class": OpClass.LOAD, "space": Space.SHARED, "writes": "x", "times": 20}
EXIT = {"op_class": OpClass.BRANCH}
ENOUGH = 1 << 20


@pytest.fixture
def profile(make_case):
    def made(*ops, **counts) -> Profile:
        own = make_case(load_machine("h100-sxm"), [*ops, EXIT], blocks=64).profile
        first, *others = own.accesses
        scaled = {name: value * first.requests for name, value in counts.items()}
        return replace(own, accesses=(replace(first, **scaled), *others))

    return made


def requests(streams: WarpStreams, warp: tuple[int, int] = (0, 0)) -> list[Request]:
    return [one for one in by_warp(streams)[warp] if isinstance(one, Request)]


@pytest.mark.parametrize("lanes", [1.0, 17.3, 32.0])
@pytest.mark.parametrize("lines", [1.0, 2.25, 32.0])
@pytest.mark.parametrize(("each", "passes"), [(1.0, 0.0), (1.7, 1.0), (4.0, 31.9)])
def test_requests_are_the_mean_ones(profile, lanes, lines, each, passes):
    own = profile(LOAD, lanes=lanes, lines=lines, sectors=lines * each, passes=passes)
    found = requests(mean_streams(own, [0], False, ENOUGH))
    assert len(found) == 50
    assert sum(one.lanes for one in found) == pytest.approx(50 * lanes, abs=1)
    assert sum(len(one.lines) for one in found) == pytest.approx(50 * lines, abs=1)
    sectors = sum(mask.bit_count() for one in found for _, mask in one.lines)
    assert sectors == pytest.approx(50 * lines * each, abs=2 + each)
    assert sum(one.passes for one in found) == pytest.approx(50 * passes, abs=1)


def test_lines_are_those_of_one_warp(profile):
    streams = mean_streams(profile(LOAD, lines=3.5, sectors=7.0), [0, 5, 9], False, ENOUGH)
    lines = [
        line
        for did in by_warp(streams).values()
        for one in did
        if isinstance(one, Request)
        for line, _ in one.lines
    ]
    assert len(lines) == len(set(lines)) == 3 * 8 * 175
    assert streams.blocks.tolist() == [0, 5, 9]


def test_instructions_that_are_switched_off_now_and_then_ask_for_less(profile):
    own = profile(LOAD)
    (access,) = own.accesses
    half = replace(access, requests=access.requests / 2, lines=access.lines / 2)
    found = mean_streams(replace(own, accesses=(half,)), [0], False, ENOUGH)
    assert len(requests(found)) == 25
    assert sum(isinstance(one, Entry) for one in by_warp(found)[0, 0]) == 51


@pytest.mark.parametrize(("half_warps", "passes", "ideal"), [(False, 1, 1), (True, 2, 2)])
def test_requests_to_shared_memory_are_those_of_the_machine(profile, half_warps, passes, ideal):
    found = requests(mean_streams(profile(SHARED), [0], half_warps, ENOUGH))
    assert {(one.passes, one.ideal, len(one.lines)) for one in found} == {(passes, ideal, 0)}


def test_unlike_warps_are_there_by_their_shares(profile):
    own = profile(LOAD)
    path = own.warp.blocks
    ways = [
        RepresentativeWarp(WarpPath(0, 0, path[at:], own.warp.lanes[at:], 51 - at), share)
        for at, share in ((0, 0.25), (40, 0.75))
    ]
    streams = mean_streams(replace(own, representatives=tuple(ways)), range(16), False, ENOUGH)
    lengths = np.diff(streams.starts)
    assert len(set(lengths.tolist())) == 2
    assert np.mean(lengths == lengths.max()) == pytest.approx(0.25, abs=0.02)
    assert not streams.is_cut


def test_what_is_cut_ends_with_a_whole_basic_block_and_says_so(profile):
    own = profile(LOAD)
    cut = mean_streams(own, [0], False, 8 * 40)
    assert cut.is_cut and len(cut.words) <= 8 * 40
    assert isinstance(by_warp(cut)[0, 0][-1], Request)
    longer = replace(own, warp=replace(own.warp, instructions=1000))
    assert mean_streams(longer, [0], False, ENOUGH).is_cut
