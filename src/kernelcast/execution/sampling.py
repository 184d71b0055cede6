"""Which blocks of a large grid are executed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LEVELS = 3
"""Two to this many parts of a grid have as many blocks of a sample each. More would keep blocks of
a row apart."""

_Bits = NDArray[np.uint64]


def sample_blocks(total: int, wanted: int) -> tuple[int, ...]:
    """Choose `wanted` of `total` blocks, ascending; all of them where that is not fewer.

    A random sample from a fixed sequence: every block is as likely as any other, whatever its place
    in a row of the grid, which the estimate of shared memory rests on (see `profiling.footprints`).
    Every eighth of the grid has as many of them as another, or one more: where the last blocks have
    nothing to do, the sample holds as large a share of these as the grid does. A larger sample
    contains every smaller one, and a sample is the same in every run.
    """
    if total < 0 or wanted < 1:
        raise ValueError(f"cannot sample {wanted} of {total} blocks")
    if wanted >= total:
        return tuple(range(total))
    chosen: set[int] = set()
    drawn = 0
    while (missing := wanted - len(chosen)) > 0:
        # The high half of a product maps 64 random bits to 0 .. total - 1 (Lemire 2019).
        places = _places(np.arange(drawn, drawn + missing, dtype=np.uint64))
        chosen.update(int(place) * total >> 64 for place in places)
        drawn += missing
    return tuple(sorted(chosen))


def _places(draws: _Bits) -> _Bits:
    """Members of a sequence of 64-bit fractions; each eight in a row lie in eight equal parts.

    The van der Corput sequence, scrambled: which half of a part comes first is random (Owen,
    "Randomly Permuted (t,m,s)-Nets and (t,s)-Sequences", 1995), and so is the place in an eighth.
    """
    one = np.uint64(1)
    place = np.zeros_like(draws)
    for level in map(np.uint64, range(_LEVELS)):
        part = draws & (one << level) - one
        turned = _mixed(part << np.uint64(6) | level) & one
        place = place << one | (draws >> level & one) ^ turned
    return place << np.uint64(64 - _LEVELS) | _mixed(~draws) >> np.uint64(_LEVELS)


def _mixed(value: _Bits) -> _Bits:
    """SplitMix64 (Steele, Lea & Flood, OOPSLA 2014, Fig. 16): one step from state `value`."""
    z = value * np.uint64(0x9E37_79B9_7F4A_7C15)
    z = z + np.uint64(0x9E37_79B9_7F4A_7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58_476D_1CE4_E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D0_49BB_1331_11EB)
    return z ^ z >> np.uint64(31)
