"""Which blocks of a large grid are executed."""

from __future__ import annotations

_MASK64 = (1 << 64) - 1


def sample_blocks(total: int, wanted: int) -> tuple[int, ...]:
    """Choose `wanted` of `total` blocks, ascending; all of them where that is not fewer.

    A simple random sample from a fixed sequence: every block is as likely as any other, whatever
    its place in a row of the grid, which the estimate of shared memory rests on (see
    `profiling.footprints`). A larger sample contains every smaller one, and a sample is the same
    in every run.
    """
    if total < 0 or wanted < 1:
        raise ValueError(f"cannot sample {wanted} of {total} blocks")
    if wanted >= total:
        return tuple(range(total))
    chosen: set[int] = set()
    draw = 0
    while len(chosen) < wanted:
        # The high half of a product maps 64 random bits to 0 .. total - 1 (Lemire 2019).
        chosen.add(_mixed(draw) * total >> 64)
        draw += 1
    return tuple(sorted(chosen))


def _mixed(value: int) -> int:
    """SplitMix64 (Steele, Lea & Flood, OOPSLA 2014, Fig. 16): one step from state `value`."""
    z = value * 0x9E37_79B9_7F4A_7C15 & _MASK64
    z = z + 0x9E37_79B9_7F4A_7C15 & _MASK64
    z = (z ^ z >> 30) * 0xBF58_476D_1CE4_E5B9 & _MASK64
    z = (z ^ z >> 27) * 0x94D0_49BB_1331_11EB & _MASK64
    return z ^ z >> 31
