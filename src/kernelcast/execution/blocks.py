"""Which blocks of a grid are executed, as a value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from kernelcast.errors import LaunchError
from kernelcast.execution.sampling import sample_blocks

FIRST, MIDDLE, LAST = "first", "middle", "last"


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of a grid by linear index, ascending: the order in which they are begun.

    `of` is the number of blocks in the grid.
    """

    of: int
    indices: Sequence[int]

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices)

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True, slots=True)
class Span:
    """Blocks of a grid from `start` to before `end`: the first `run` of every `step`.

    What is counted are those from `counted` on; those before are its history, which leaves in the
    caches what they find there.
    """

    start: int
    counted: int
    end: int
    run: int = 1
    step: int = 1

    @property
    def is_consecutive(self) -> bool:
        """Whether none is left out between them."""
        return self.run == self.step

    @property
    def blocks(self) -> Sequence[int]:
        """Their indices, ascending."""
        if self.is_consecutive:
            return range(self.start, self.end)
        firsts = range(self.start, self.end, self.step)
        return [b for first in firsts for b in range(first, min(first + self.run, self.end))]

    @property
    def history(self) -> int:
        """How many come before those that are counted."""
        return bisect_left(self.blocks, self.counted)

    def __len__(self) -> int:
        return len(self.blocks)


@dataclass(frozen=True, slots=True)
class Wave:
    """The blocks that are resident together: `blocks_per_sm` on each of `sms` SMs.

    SMs take blocks in turn: block b of a wave is on SM b mod `sms`.
    """

    sms: int
    blocks_per_sm: int

    @property
    def blocks(self) -> int:
        """All of them."""
        return self.sms * self.blocks_per_sm


def all_blocks(of: int) -> Blocks:
    """The whole grid."""
    return Blocks(of, range(of))


def random_blocks(of: int, wanted: int) -> Blocks:
    """A random sample, the same in every run (see `sampling`)."""
    return Blocks(of, sample_blocks(of, wanted))


def these_blocks(of: int, indices: Sequence[int]) -> Blocks:
    """Some blocks, each once; LaunchError where the grid has no such one."""
    chosen = tuple(sorted(set(indices)))
    if chosen and not 0 <= chosen[0] <= chosen[-1] < of:
        wrong = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise LaunchError(f"block {wrong} of a grid of {of}", hint=f"the last is {of - 1}")
    return Blocks(of, chosen)


def wave_count(of: int, wave_blocks: int) -> int:
    """How many waves a grid has; the last may not be full."""
    if wave_blocks < 1:
        raise ValueError(f"waves of {wave_blocks} blocks")
    return -(-of // wave_blocks)


def whole_waves(
    of: int, wave_blocks: int, which: Sequence[str | int] = (FIRST, MIDDLE, LAST)
) -> Blocks:
    """Waves of blocks that are resident together: those that the GPU would begin at once.

    Parameters
    ----------
    of:
        Blocks in the grid.
    wave_blocks:
        Blocks that are resident at a time on the whole GPU: those of an SM times the SMs.
    which:
        `first`, `middle`, `last`, or numbers from 1 on. Waves named twice, as all three are in a
        grid of one, count once.

    Raises LaunchError for a wave that the grid does not have.
    """
    waves = wave_count(of, wave_blocks)
    named = {FIRST: 1, MIDDLE: (waves + 1) // 2, LAST: waves}
    chosen = sorted({named.get(w, 0) if isinstance(w, str) else w for w in which})
    for number in chosen:
        if not 1 <= number <= waves:
            many = "1 wave" if waves == 1 else f"{waves} waves"
            raise LaunchError(
                f"wave {number} of a grid with {many} of {wave_blocks} blocks",
                hint=f"choose among 1 to {waves}, {FIRST}, {MIDDLE} and {LAST}",
            )
    indices = [
        block
        for number in chosen
        for block in range((number - 1) * wave_blocks, min(number * wave_blocks, of))
    ]
    return Blocks(of, tuple(indices))


def blocks_of_spans(of: int, spans: Sequence[Span]) -> Blocks:
    """The blocks of some spans of a grid of `of` blocks."""
    if len(spans) == 1:
        return Blocks(of, spans[0].blocks)
    return Blocks(of, tuple(block for span in spans for block in span.blocks))


def runs_of(blocks: Sequence[int]) -> tuple[Span, ...]:
    """The runs of consecutive blocks among ascending ones; all are counted."""
    edges = [at for at in range(1, len(blocks)) if blocks[at] != blocks[at - 1] + 1]
    bounds = pairwise([0, *edges, len(blocks)]) if blocks else ()
    return tuple(Span(blocks[a], blocks[a], blocks[b - 1] + 1) for a, b in bounds)


def first_of(spans: Sequence[Span], count: int) -> tuple[Span, ...]:
    """Spans cut behind their first `count` blocks."""
    kept = []
    for span in spans:
        own = span.blocks[:count]
        count -= len(own)
        if own:
            end = own[-1] + 1
            kept.append(replace(span, counted=min(span.counted, end), end=end))
    return tuple(kept)


def wave_spans(of: int, wave: Wave, affordable: int, *, at_start: bool = False) -> tuple[Span, ...]:
    """Spans of whole waves that stand for a grid, where `affordable` blocks may be executed.

    Parameters
    ----------
    of:
        Blocks in the grid.
    wave:
        Blocks that are resident at a time on the whole GPU.
    affordable:
        Most blocks of all spans together, at least 1.
    at_start:
        Whether fewer than three waves are the first of the grid, and not those in its middle.

    The whole grid where that is affordable. Else of N waves that are, a fifth each is counted in
    the middle and at the end of the grid, after as many before it, and the rest at its start. Three
    or four waves do for start and middle, fewer lie together; where not even one wave is
    affordable, these are the blocks of as many of its SMs as are.
    """
    if of <= affordable:
        return (Span(0, 0, of),)
    wave_blocks = wave.blocks
    waves, of_waves = affordable // wave_blocks, wave_count(of, wave_blocks)
    if not waves:
        return (_on_some_sms(of, wave, affordable, at_start),)
    if waves < 3:
        start = 0 if at_start else (of_waves - waves) // 2 * wave_blocks
        return (Span(start, start, start + waves * wave_blocks),)
    part = max(waves // 5, 1)
    last = 2 * part if waves >= 5 else 0
    first = waves - last - 2 * part
    middle = first + (of_waves - last - 2 * part - first) // 2
    return tuple(
        Span(start * wave_blocks, counted * wave_blocks, min(end * wave_blocks, of))
        for start, counted, end in (
            (0, 0, first),
            (middle, middle + part, middle + 2 * part),
            (of_waves - last, of_waves - part, of_waves),
        )
        if start < of_waves
    )


def _on_some_sms(of: int, wave: Wave, affordable: int, at_start: bool) -> Span:
    """What neighbouring SMs hold of a wave, where not all of it is affordable."""
    start = 0 if at_start else (of // wave.blocks) // 2 * wave.blocks
    per_sm = min(wave.blocks_per_sm, -(-of // wave.sms), affordable)
    sms = affordable // per_sm
    end = min(of, start + (per_sm - 1) * wave.sms + sms)
    return Span(start, start, end, min(sms, wave.sms), wave.sms)
