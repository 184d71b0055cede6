"""Execute whole waves of a launch for the streams of their accesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelcast.analysis.slicing import Needed, needed_for_trace
from kernelcast.errors import ExecutionError, LaunchError, UnsupportedError
from kernelcast.execution.blocks import (
    Span,
    Wave,
    blocks_of_spans,
    random_blocks,
    runs_of,
    these_blocks,
    wave_spans,
)
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.ir import Kernel, Space
from kernelcast.profiling.stream_builder import StreamBuilder
from kernelcast.profiling.streams import AccessStreams

ENOUGH_WARP_INSTRUCTIONS, MOST_WARP_INSTRUCTIONS = 3_000_000, 20_000_000
"""What streams may cost to make: instructions of warps that their addresses depend on, by the cost
of the pilot's blocks. The most take about 0.3 s on one core; beyond what is enough no more blocks
are taken than `_WAVES` waves have."""

ENOUGH_WORDS, MOST_WORDS = 1_500_000, 10_000_000
"""The same of words: the most are 80 MB, and half a second or more of a cache simulation."""

_WAVES = 5
"""Waves that tell start, middle and end of a grid."""

MOST_EXACT_WORDS = 1 << 26
"""The same where all blocks are asked for: 512 MiB."""

FEWEST_IN_A_ROW = 16
"""Fewer blocks in a row tell too little of what blocks share; a grid of fewer has only these."""

_PILOT_BLOCKS = 8
"""Blocks executed first, drawn at random, to learn what a block costs."""

MOST_CUT_INSTRUCTIONS = 100_000_000
"""As `MOST_WARP_INSTRUCTIONS`, where the blocks in a row do not fit whole, and what their warps do
first stands for the rest: about 1.5 s on one core."""
_CUT_PILOT_BLOCKS = 2

_COMPARED_BLOCKS, _FAR_MORE = 2, 2
"""Of the start of a grid and of its middle, and how many times as much there is far more."""

_ANY_NUMBER = 1 << 62

_NOT_STREAMED = (Space.SHARED, Space.CONST, Space.PARAM)


def streams_of_run(
    run: Run,
    wave: Wave,
    *,
    exact: bool = False,
    launches: int = 1,
    progress: Progress | None = None,
) -> AccessStreams:
    """The access streams of the run's launch: of all blocks, or of whole waves that stand for them.

    Memory is left as it was, and only what addresses depend on is executed; which blocks is chosen
    here (see `wave_spans`). Where too few blocks would fit, as of those that go over megabytes
    each, warps of a wave are cut after as many accesses as do.

    Parameters
    ----------
    wave:
        Blocks that are resident at a time on the whole GPU.
    exact:
        Take all blocks, whatever they cost; those that exceed `MOST_EXACT_WORDS` are left out.
    launches:
        Of how many this is one, whose streams are all kept and share what the most are.
    progress:
        Told the share of the blocks that is done.

    Raises UnsupportedError, which says why, where there can be none: too few blocks are affordable
    even so, the launch changes too much memory to put it back, or blocks go wrong on their own.
    """
    kernel, of = run.kernel, run.launch.blocks
    run = replace(run, needed=_needed(run))
    if not exact:
        # A block that costs more than all may, such as one that waits for another, is given up.
        run = replace(run, budget=min(run.budget or MOST_WARP_INSTRUCTIONS, MOST_WARP_INSTRUCTIONS))
    most_words = MOST_EXACT_WORDS if exact else MOST_WORDS
    try:
        affordable = (
            of if exact or of <= FEWEST_IN_A_ROW else _affordable_blocks(run, wave.blocks, launches)
        )
        is_affordable = affordable >= min(of, FEWEST_IN_A_ROW)
        spans = _spans(run, wave, affordable) if is_affordable else wave_spans(of, wave, 1)
        builder = StreamBuilder(kernel, run.launch, spans, most_words)
        if is_affordable:
            run.over(blocks_of_spans(of, spans)).follow(builder, progress=progress)
        streams = builder.finish()
        if len(streams.blocks) < min(of, FEWEST_IN_A_ROW) and not exact:
            streams = _cut_streams(run, wave, launches, progress)
    except (ExecutionError, LaunchError) as error:
        raise _no_streams(kernel, error.what) from None
    if len(streams.blocks) < min(of, FEWEST_IN_A_ROW):
        raise _too_few(kernel)
    return streams


def _cut_streams(run: Run, wave: Wave, launches: int, progress: Progress | None) -> AccessStreams:
    """Streams of up to a wave of blocks, whose warps share the words that there may be.

    UnsupportedError where not even `FEWEST_IN_A_ROW` can be executed.
    """
    of, warps = run.launch.blocks, run.launch.warps_per_block
    pilot = _pilot(run, random_blocks(of, _CUT_PILOT_BLOCKS).indices, most_of_warp=0)
    affordable = _blocks_for(pilot.blocks, pilot.executed * launches / MOST_CUT_INSTRUCTIONS)
    blocks = min(of, wave.blocks, affordable)
    if blocks < min(of, FEWEST_IN_A_ROW):
        raise _too_few(run.kernel)
    spans = _spans(run, wave, blocks)
    of_warp = MOST_WORDS // launches // (sum(map(len, spans)) * warps)
    # The last access of a warp may go beyond its share.
    builder = StreamBuilder(run.kernel, run.launch, spans, 2 * MOST_WORDS, max(1, of_warp))
    run.over(blocks_of_spans(of, spans)).follow(builder, progress=progress)
    return builder.finish()


def _spans(run: Run, wave: Wave, affordable: int) -> tuple[Span, ...]:
    """Spans of whole waves; where they lie together, at the start of a grid whose blocks do more
    there than in its middle."""
    of = run.launch.blocks
    middle = wave_spans(of, wave, affordable)
    if len(middle) > 1 or not middle[0].start:
        return middle
    start = wave_spans(of, wave, affordable, at_start=True)
    done = [_pilot(run, _spread(one.blocks), most_of_warp=0).executed for one in (*start, *middle)]
    return start if done[0] > _FAR_MORE * done[1] else middle


def _spread(blocks: Sequence[int]) -> Sequence[int]:
    """A few of some blocks in a row."""
    return blocks[:: max(1, len(blocks) // _COMPARED_BLOCKS)][:_COMPARED_BLOCKS]


def _needed(run: Run) -> Needed:
    """What the addresses of the streams depend on."""
    pointers = run.memory.pointers(run.kernel)
    return needed_for_trace(run.kernel, pointers=pointers, untraced=_NOT_STREAMED)


def _affordable_blocks(run: Run, wave_blocks: int, launches: int) -> int:
    """How many blocks like those of a pilot the limits pay for; where the whole grid is executed
    whatever is asked for, a pilot would cost as much as all, and what does not fit is left out."""
    if run.resident > 1:
        return _WAVES * wave_blocks
    pilot = _pilot(run, random_blocks(run.launch.blocks, _PILOT_BLOCKS).indices)
    enough, most = (
        _blocks_for(pilot.blocks, max(pilot.executed / instructions, pilot.words / words))
        for instructions, words in (
            (ENOUGH_WARP_INSTRUCTIONS, ENOUGH_WORDS),
            (MOST_WARP_INSTRUCTIONS / launches, MOST_WORDS / launches),
        )
    )
    if launches > 1:
        most = max(most, enough)
    return min(most, max(enough, _WAVES * wave_blocks))


class _Pilot(NamedTuple):
    """Blocks that were executed first, and what they took."""

    blocks: int
    executed: float  # instructions of warps
    words: int


def _pilot(run: Run, blocks: Sequence[int], most_of_warp: int | None = None) -> _Pilot:
    """Execute some blocks to learn what they take."""
    assert run.needed is not None
    chosen = these_blocks(run.launch.blocks, blocks)
    spans = runs_of(tuple(chosen))
    builder = StreamBuilder(run.kernel, run.launch, spans, MOST_WORDS, most_of_warp)
    run.over(chosen).follow(builder)
    executed = float(builder.entered @ _needed_instructions(run.kernel, run.needed))
    return _Pilot(len(chosen), executed, builder.in_use)


def _blocks_for(pilot: int, cost: float) -> int:
    """Blocks that a limit pays for, of which the pilot's took the share `cost`."""
    return int(pilot / cost) if cost else _ANY_NUMBER


def _needed_instructions(kernel: Kernel, needed: Needed) -> NDArray[np.int64]:
    """How many instructions of each basic block are executed."""
    executed = np.zeros(len(kernel.instructions), np.int64)
    executed[[*needed.in_full, *needed.address_only]] = 1
    before = np.concatenate([[0], executed.cumsum()])
    return np.array([before[b.end] - before[b.start] for b in kernel.blocks], np.int64)


def _too_few(kernel: Kernel) -> UnsupportedError:
    return _no_streams(kernel, f"fewer than {FEWEST_IN_A_ROW} blocks are affordable")


def _no_streams(kernel: Kernel, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"its waves cannot be executed on their own: {why}",
        where=f"kernel {kernel.shown}",
    )
