"""A table of gpu-benches' gpu-stream: GB/s of six kernels for block sizes and blocks per SM.

    block smBlocks   threads    occ%   |                init       read       scale   ...
      16      1728       1    0.8%     |  GB/s:          53         21         40     ...

The heads of `smBlocks` and `threads` are exchanged. A table without `smBlocks` gives the threads of
an SM as `blockSize`, not how they are divided into blocks, and is not of this format.
"""

from __future__ import annotations

from kernelcast.measurements.observation import Measurements, Observation
from kernelcast.measurements.rows import usable_rows

_ELEMENTS = 128 * 1024 * 1024 + 2
_ELEMENT_BYTES = 8
_STREAMS = {"init": 1, "read": 1, "scale": 2, "triad": 4, "3pt": 2, "5pt": 2}
"""Arrays that the benchmark counts as moved once, in the order of its columns.

The triad of these tables is `a + b * c`. With one warp on an SM its three loads take longer than
the one of `read`, as they must, if four arrays are counted; they would take less if three were.
Later versions of the program, whose tables lack `smBlocks`, read two arrays.
"""
_GB = 1e9


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return head.split()[:2] == ["block", "smBlocks"]


def read(text: str) -> Measurements:
    """One observation for each kernel of each row: its time is that of the bytes it counts.

    The file does not name its device.
    """
    _, *rows = ((f"line {n}", row) for n, row in enumerate(text.splitlines(), 1) if row.strip())
    observations, damaged = usable_rows(rows, _observations)
    return Measurements("unnamed GPU", observations, damaged=damaged)


def _observations(row: str) -> list[Observation]:
    launch, rates = row.split("GB/s:")
    block, _, blocks = map(int, launch.split()[:3])
    return [
        Observation(
            kernel=name,
            parameters={"block": block, "blocks": blocks},
            seconds=(streams * _ELEMENTS * _ELEMENT_BYTES / (float(rate) * _GB),),
            block=(block, 1, 1),
        )
        for (name, streams), rate in zip(_STREAMS.items(), rates.split(), strict=True)
    ]
