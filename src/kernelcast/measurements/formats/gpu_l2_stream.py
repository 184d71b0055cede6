"""A table of gpu-benches' gpu-l2-stream: GB/s of four kernels that go round arrays of one length.

    768    2   129024      383  100.0%     |  GB/s:   1654   1654   1654   2867   2866   2865  ...

Of each of read, scale, triad and write the best, the median and the worst of eleven launches. The
first lines tell clocks or are empty.
"""

from __future__ import annotations

import re

from kernelcast.measurements.observation import Measurements, Observation
from kernelcast.measurements.rows import begins_with, squeezed_rows, usable_rows

_ELEMENTS = 1024 * 1024 * 1024 + 2
_ELEMENT_BYTES = 8
_STREAMS = {"read": 1, "scale": 2, "triad": 4, "write": 1}
"""Arrays that the benchmark counts as moved once, in the order of its columns."""
_REPEATS = 3
_ROW = re.compile(rf"(\d+) (\d+) \d+ (\d+) [\d.]+% \| GB/s:((?: \d+){{{_REPEATS * 4}}})")
_BETWEEN = re.compile(r"clock:")
_CHUNK, _REST = 8192, 8161
"""Arrays are of m x 8192 + 8161 elements, two of which the table gives in whole KiB."""
_GB, _KIB = 1e9, 1024


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return begins_with(head, _ROW, _BETWEEN)


def read(text: str) -> Measurements:
    """One observation for each kernel of each row: its times are those of the bytes it counts.

    The file does not name its device.
    """
    observations, damaged = usable_rows(squeezed_rows(text, _BETWEEN), _observations)
    return Measurements("unnamed GPU", observations, damaged=damaged)


def _observations(line: str) -> list[Observation]:
    found = _ROW.fullmatch(line)
    if found is None:
        raise ValueError(f"no row of gpu-l2-stream: {line}")
    block, blocks, kib = (int(number) for number in found.groups()[:3])
    rates = [float(rate) for rate in found[4].split()]
    chunks = kib * _KIB // (2 * _ELEMENT_BYTES * _CHUNK)
    return [
        Observation(
            kernel=kernel,
            parameters={"block": block, "blocks": blocks, "around": chunks * _CHUNK + _REST},
            seconds=tuple(
                streams * _ELEMENTS * _ELEMENT_BYTES / (rate * _GB)
                for rate in rates[_REPEATS * at : _REPEATS * (at + 1)]
            ),
            block=(block, 1, 1),
        )
        for at, (kernel, streams) in enumerate(_STREAMS.items())
    ]
