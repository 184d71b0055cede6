"""Which blocks of a large grid are executed."""

from __future__ import annotations

_MASK64 = (1 << 64) - 1


def sample_blocks(total: int, wanted: int) -> tuple[int, ...]:
    """Choose `wanted` of `total` blocks, ascending; all of them where that is not fewer.

    A stratified sample: the grid is cut into `wanted` equal strata and one block is taken from
    each. Its place within the stratum comes from a hash of the stratum's number, always the same,
    so that a sample is reproducible and does not fall in step with a grid's rows.
    """
    if total < 0 or wanted < 1:
        raise ValueError(f"cannot sample {wanted} of {total} blocks")
    if wanted >= total:
        return tuple(range(total))
    chosen = []
    for stratum in range(wanted):
        start, stop = stratum * total // wanted, (stratum + 1) * total // wanted
        chosen.append(start + _mixed(stratum) % (stop - start))
    return tuple(chosen)


def _mixed(value: int) -> int:
    """SplitMix64 (Steele, Lea & Flood, OOPSLA 2014, Fig. 16): one step from state `value`."""
    z = value + 0x9E37_79B9_7F4A_7C15 & _MASK64
    z = (z ^ z >> 30) * 0xBF58_476D_1CE4_E5B9 & _MASK64
    z = (z ^ z >> 27) * 0x94D0_49BB_1331_11EB & _MASK64
    return z ^ z >> 31
