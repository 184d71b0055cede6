"""Which blocks of a grid are executed, as a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
