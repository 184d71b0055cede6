"""Tables of gpu-l2-stream as observations: times of the bytes it counts, lengths of the arrays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelcast.measurements.reading import read_measurements

SHARED = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/RRZE-HPC+gpu-benches/gpu-l2-stream"
)
CLOCKS = "clock: 1725 1740 1740 \n"
ROW = (
    "  64    2    10752      511    8.3%     |  GB/s:    250    200    100    410    400    390    "
    "810    800    790    210    200    190 \n"
)
ARRAY_BYTES = (1024 * 1024 * 1024 + 2) * 8


def test_times_are_those_of_the_streams_that_are_counted(tmp_path: Path) -> None:
    """1 Gi + 2 doubles each: 1 array of read and write, 2 of scale, 4 of triad."""
    file = tmp_path / "chip.txt"
    file.write_text(CLOCKS + "\n" + ROW)
    found = read_measurements(file).observations
    times = {one.kernel: one.time_s * 200e9 / ARRAY_BYTES for one in found}
    assert times == pytest.approx({"read": 1, "scale": 1, "triad": 1, "write": 1})
    assert found[0].seconds == pytest.approx([ARRAY_BYTES / rate for rate in (250e9, 200e9, 100e9)])


def test_arrays_are_as_long_as_the_program_makes_them(tmp_path: Path) -> None:
    """3 x 8192 + 8161 doubles, twice, are 511 KiB and a half."""
    file = tmp_path / "chip.txt"
    file.write_text(ROW)
    (one, *_) = read_measurements(file).observations
    assert one.parameters == {"block": 64, "blocks": 2, "around": 3 * 8192 + 8161}


def test_a_row_that_was_cut_off_is_left_out_and_named(tmp_path: Path) -> None:
    file = tmp_path / "chip.txt"
    file.write_text(ROW + ROW[:60])
    found = read_measurements(file)
    assert len(found.observations) == 4
    assert "line 2" in found.damaged[0]


@pytest.mark.parametrize(("chip", "rows"), [("a100_80", 2132), ("a40", 1804)])
def test_public_tables_are_read_whole(chip: str, rows: int) -> None:
    file = SHARED / f"{chip}.txt"
    if not file.is_file():
        pytest.skip(f"no {file}")
    assert len(read_measurements(file).observations) == 4 * rows
