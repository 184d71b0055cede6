"""Warp streams of a launch of which only its profile is known.

Every warp goes the way of a representative one. Each of its requests is the mean one of its
instruction, rounded so that their sums stay those of the profile, and on lines of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import Space
from kernelcast.profiling import layout
from kernelcast.profiling.profile import AccessProfile, Profile, RepresentativeWarp, WarpPath
from kernelcast.profiling.tables import SPACE_CODES
from kernelcast.simulation.streams import (
    ACCESS,
    BLOCK_SHIFT,
    ENTER,
    ENTERED_LANES_SHIFT,
    IDEAL_MASK,
    IDEAL_SHIFT,
    INSTRUCTION_SHIFT,
    KIND_MASK,
    LANES_SHIFT,
    LINE,
    LINE_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    PASSES_MASK,
    PASSES_SHIFT,
    SECTORS_SHIFT,
    SPACE_SHIFT,
    TAGS_MASK,
    TAGS_SHIFT,
    StreamWords,
    WarpStreams,
)

_NEXT_WARP = (5**0.5 - 1) / 2
"""Multiples of the golden ratio, without their whole parts, lie evenly between 0 and 1."""


def mean_streams(
    profile: Profile, blocks: Sequence[int], half_warps: bool, most_words: int
) -> WarpStreams:
    """The streams of some blocks of a launch, given by their linear indices.

    Where the machine serves `half_warps`, requests to shared memory are theirs. Where streams would
    have more than `most_words` words, all warps are cut alike.
    """
    shown = profile.representatives or (RepresentativeWarp(profile.warp, 1.0),)
    warps = len(blocks) * profile.launch.warps_per_block
    ways = [_way(profile, one.path, half_warps, most_words // warps) for one in shown]
    until = np.cumsum([one.share for one in shown])
    drawn = np.arange(warps) * _NEXT_WARP % 1.0 * until[-1]
    kinds = np.searchsorted(until, drawn, side="right")
    lengths = np.array([len(way.words) for way in ways], np.int64)[kinds]
    starts = np.concatenate([[0], lengths.cumsum()])
    words = np.empty(starts[-1], np.int64)
    own_lines = max(way.lines for way in ways)
    for warp, kind in enumerate(kinds):
        moved = words[starts[warp] : starts[warp + 1]]
        moved[:] = ways[kind].words
        moved[ways[kind].words & KIND_MASK == LINE] += warp * own_lines << LINE_SHIFT
    return WarpStreams(
        of=profile.launch.blocks,
        warps=profile.launch.warps_per_block,
        blocks=np.array(sorted(blocks), np.int64),
        starts=starts,
        words=words,
        is_cut=any(way.is_cut for way in ways),
    )


@dataclass(frozen=True)
class _Way:
    """The words of one warp, and how many lines they name."""

    words: StreamWords
    lines: int
    is_cut: bool


def _way(profile: Profile, path: WarpPath, half_warps: bool, most_words: int) -> _Way:
    lengths = np.array([b.end - b.start for b in profile.kernel.blocks], np.int64)
    entered = path.blocks.astype(np.int64)
    entries = (
        ENTER | entered << BLOCK_SHIFT | path.lanes.astype(np.int64) << ENTERED_LANES_SHIFT,
        np.arange(len(entered)) * _places(profile),
    )
    parts, lines = [entries], 0
    for words, order, named in _requests(profile, entered, half_warps):
        words[words & KIND_MASK == LINE] += lines << LINE_SHIFT
        parts.append((words, order))
        lines += named
    every = np.concatenate([words for words, _ in parts])
    in_order = np.argsort(np.concatenate([order for _, order in parts]), kind="stable")
    words = every[in_order]
    kept = _whole(words, most_words)
    executed = int(lengths[entered].sum())
    return _Way(words[:kept], lines, kept < len(words) or executed < path.instructions)


def _whole(words: StreamWords, most: int) -> int:
    """How many words to keep of those of a warp, so that its last basic block is whole."""
    if len(words) <= most:
        return len(words)
    entries = np.flatnonzero(words & KIND_MASK == ENTER)
    return int(entries[entries <= most][-1]) if most > 0 else 0


def _places(profile: Profile) -> int:
    """Places in order that an entered basic block takes: its own, and those of its requests."""
    return 1 + len(profile.kernel.instructions)


def _requests(
    profile: Profile, entered: StreamWords, half_warps: bool
) -> Iterator[tuple[StreamWords, StreamWords, int]]:
    """By access, the words of its requests, their order among all, and how many lines they name."""
    holders = {i: b for b in profile.kernel.blocks for i in range(b.start, b.end)}
    for access in profile.accesses:
        block = holders[access.instruction]
        executed = float(profile.instruction_warps[access.instruction])
        if access.requests <= 0 or executed <= 0:
            continue
        times = np.flatnonzero(entered == block.index)
        made = _shared_out(np.array([access.requests / executed]), len(times))[0]
        order = np.repeat(times, made) * _places(profile) + 1 + access.instruction - block.start
        sizes, words = _words(access, len(order), half_warps)
        yield words, np.repeat(order, 1 + sizes), int(sizes.sum())


def _shared_out(means: NDArray[np.float64], count: int) -> StreamWords:
    """Whole numbers in `count` columns whose sums stay next to the multiples of the means."""
    sums = np.floor(np.arange(count + 1) * means[:, None] + 0.5).astype(np.int64)
    return np.diff(sums, axis=1)


def _words(access: AccessProfile, count: int, half_warps: bool) -> tuple[StreamWords, StreamWords]:
    """Of `count` requests of an access, the lines of each, and all their words."""
    half_warps = half_warps and access.space is Space.SHARED
    sums = (
        access.lanes,
        access.lines,
        access.turns or (access.passes_half_warp if half_warps else access.passes),
        2 * access.requests if half_warps else access.ideal_passes,
        access.rounds or access.tag_passes,
    )
    shares = _shared_out(np.array(sums) / access.requests, count)
    lanes, lines, passes, ideal, tags = shares
    lines = np.minimum(lines, LINES_MASK)
    starts = np.concatenate([[0], (1 + lines).cumsum()])
    words = np.full(starts[-1], LINE, np.int64)
    words[starts[:-1]] = (
        ACCESS
        | lines << LINES_SHIFT
        | access.instruction << INSTRUCTION_SHIFT
        | np.maximum(lanes, 1) << LANES_SHIFT
        | np.minimum(passes, PASSES_MASK) << PASSES_SHIFT
        | np.minimum(ideal, IDEAL_MASK) << IDEAL_SHIFT
        | np.minimum(tags, TAGS_MASK) << TAGS_SHIFT
        | SPACE_CODES[access.space] << SPACE_SHIFT
    )
    is_line = words == LINE
    words[is_line] |= _touched(access, int(is_line.sum())) << SECTORS_SHIFT
    words[is_line] |= np.arange(int(is_line.sum())) << LINE_SHIFT
    return lines, words


def _touched(access: AccessProfile, lines: int) -> StreamWords:
    """By line, the sectors of it that are touched."""
    mean = access.sectors / access.lines if access.lines else 0.0
    count: StreamWords = np.clip(_shared_out(np.array([mean]), lines)[0], 1, layout.LINE_SECTORS)
    return (1 << count) - 1
