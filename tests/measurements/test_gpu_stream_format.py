"""Tables of gpu-stream as observations: the time of the bytes it counts, the blocks on an SM."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelcast.errors import InputError, ParseError
from kernelcast.measurements.reading import read_measurements

SHARED = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/RRZE-HPC+gpu-benches/gpu-stream"
)
HEAD = "block smBlocks   threads    occ%   |        init  read  scale  triad  3pt  5pt\n"
ROW = "  64     13824       2    6.2%     |  GB/s:  400   200   800   1200  800  80\n"


def test_times_are_those_of_the_streams_that_are_counted(tmp_path: Path) -> None:
    """128 Mi + 2 doubles each: 1 array of init and read, 2 of scale and stencils, 4 of triad."""
    file = tmp_path / "chip.txt"
    file.write_text(HEAD + ROW)
    found = read_measurements(file).observations
    array_s = (128 * 1024 * 1024 + 2) * 8 / 400e9
    times = {one.kernel: one.time_s / array_s for one in found}
    assert times == pytest.approx(
        {"init": 1, "read": 2, "scale": 1, "triad": 4 / 3, "3pt": 1, "5pt": 10}
    )


def test_the_third_number_is_the_blocks_on_an_sm(tmp_path: Path) -> None:
    """The heads say otherwise: 13824 threads are 2 blocks of 64 on each of 108 SMs."""
    file = tmp_path / "chip.txt"
    file.write_text(HEAD + ROW)
    (one, *_) = read_measurements(file).observations
    assert one.parameters == {"block": 64, "blocks": 2}


def test_a_table_without_blocks_on_an_sm_is_refused(tmp_path: Path) -> None:
    """Its block sizes are the threads of an SM: taken for blocks, 2048 would not even launch."""
    file = tmp_path / "chip.txt"
    file.write_text("blockSize   threads       %occ  |   init\n  64  6912  3.1 %  |  GB/s: 208\n")
    with pytest.raises(InputError, match="no file of measurements"):
        read_measurements(file)


def test_a_row_that_was_cut_off_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "chip.txt"
    file.write_text(HEAD + ROW[:-12])
    with pytest.raises(ParseError, match="damaged"):
        read_measurements(file)


@pytest.mark.parametrize(("chip", "rows"), [("v100", 39), ("a100_80", 39), ("a40", 31)])
def test_public_tables_are_read_whole(chip: str, rows: int) -> None:
    file = SHARED / f"{chip}.txt"
    if not file.is_file():
        pytest.skip(f"no {file}")
    assert len(read_measurements(file).observations) == 6 * rows
