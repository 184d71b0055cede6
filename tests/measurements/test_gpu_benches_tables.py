"""The tables of gpu-benches, read line by line: what a column means, and what is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelcast.errors import InputError, ParseError
from kernelcast.measurements.gpu_benches import (
    FORMATS,
    CacheRead,
    ChaseRow,
    Intensity,
    SharedRead,
    ShortStreams,
    SmallKernel,
    Streams,
    Strided,
    is_table,
    read_table,
)

TABLES = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/RRZE-HPC+gpu-benches"
)
CACHE_HEAD = "     data set   exec time     spread        Eff. bw       DRAM read      DRAM write"
STREAM_HEAD = "block smBlocks   threads    occ%   |                init       read       scale"

EXAMPLES = {
    "gpu-latency": (
        "clock: 900 1100 1200 \n  1000000  1200      4.5     25.0    30.1 30.0 29.9 30.4\n\n",
        ChaseRow(1_000_000, 1.2e9, 4608.0, 30.0),
    ),
    "gpu-cache": (
        f"{CACHE_HEAD}\n"
        "      16 kB   48ms   2.2%   9000.5 GB/s   7 GB/s   6 GB/s   5 GB/s   4 GB/s \n",
        CacheRead(16384.0, 9000.5e9),
    ),
    "gpu-l2-cache": (
        "     data set   exec time     spread       Eff. bw\n"
        "   512 kB   2048 kB   10ms   22.8%   3000.5 GB/s   0 GB/s   0 GB/s   0 GB/s   0 GB/s \n",
        SharedRead(524288.0, 2097152.0, 3000.5e9),
    ),
    "gpu-stream": (
        f"{STREAM_HEAD}\n"
        "  48   7680    2    4.7%     |  GB/s:   116    54    98   175    93    90\n",
        Streams(80, 7680, 116e9, 54e9, 98e9, 175e9),
    ),
    "gpu-l2-stream": (
        "  96   1   8064   383   6%  |  GB/s:  7 6 5  10 9 8  13 12 11  16 15 14 \n",
        ShortStreams(84, 8064, 383, read=6e9, scale=9e9, triad=12e9, init=15e9),
    ),
    "gpu-small-kernels": ("8192  128kB     60     65  \n", SmallKernel(1024, 8192, 65e9)),
    "gpu-roofline": (
        "16\n-- Finished Building --\n\n"
        "3 504 blocks    88 its     22.250 Fl/B   674 GB/s  14988 GF/s   1740 Mhz   298 W   71°C\n",
        Intensity(88, 674e9, 14988e9, 1.74e9, 298),
    ),
    "gpu-strides": (
        "double stride     2    2    4.00     64   4.00   1.92   0.01 \n",
        Strided("double", "stride", 2, 4.0, 64.0),
    ),
}


def written(folder: Path, text: str) -> str:
    path = folder / "table.txt"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("program", FORMATS)
def test_every_column_is_what_the_program_wrote_there(program, tmp_path):
    text, first = EXAMPLES[program]
    path = written(tmp_path, text)
    table = read_table(path)
    assert is_table(path)
    assert (table.program, table.file, table.rows[0]) == (program, "table.txt", first)
    assert not table.is_cut


def test_the_clock_is_the_last_that_was_measured(tmp_path):
    assert read_table(written(tmp_path, EXAMPLES["gpu-latency"][0])).clock_hz == 1.2e9
    assert read_table(written(tmp_path, EXAMPLES["gpu-cache"][0])).clock_hz is None


def test_a_launch_takes_the_time_of_what_it_moves(tmp_path):
    """8192 elements, 8 bytes read and 8 written of each, at 65 GB/s; at half the block's size
    there are twice the blocks."""
    large, half = read_table(written(tmp_path, EXAMPLES["gpu-small-kernels"][0])).rows
    assert isinstance(large, SmallKernel) and isinstance(half, SmallKernel)
    assert large.launch_s == pytest.approx(16 * 8192 / 65e9)
    assert half.block == 512
    assert half.blocks_per_s == pytest.approx(16 / (16 * 8192 / 60e9))


def test_an_older_table_of_streams_has_no_column_of_blocks(tmp_path):
    head = "blockSize   threads       %occ  |                init       read"
    line = "       16        1728    0.8 %  |  GB/s:      54     20     39     55     37     37"
    (row,) = read_table(written(tmp_path, f"{head}\n{line}\n")).rows
    assert row == Streams(108, 1728, 54e9, 20e9, 39e9, 55e9)


@pytest.mark.parametrize("damage", ["rubbish", "1000000 1200 x 25.0 30.1 30.0 29.9 30.4", "7"])
def test_a_damaged_line_is_named(damage, tmp_path):
    line = EXAMPLES["gpu-latency"][0].splitlines()[1]
    with pytest.raises(ParseError, match=r"table\.txt:2: no line of gpu-latency"):
        read_table(written(tmp_path, f"{line}\n{damage}\n{line}\n"))


def test_a_line_with_fewer_columns_is_damaged_unless_it_is_the_last(tmp_path):
    """A run that was ended leaves such a line, and what stands before it is whole."""
    whole, short = "4096  64kB  31  32  31\n", "4341  67kB  33  33\n"
    table = read_table(written(tmp_path, whole + short))
    assert (len(table.rows), table.is_cut) == (3, True)
    with pytest.raises(ParseError, match=r"table\.txt:2"):
        read_table(written(tmp_path, whole + short + whole))


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "kernelcast/raw/1"}', "12\n13\n"])
def test_what_is_no_table_is_an_input_error(text, tmp_path):
    path = written(tmp_path, text)
    assert not is_table(path)
    with pytest.raises(InputError, match="no table of gpu-benches"):
        read_table(path)


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"\xff\xfe\x00")
    for bad in (str(tmp_path / "none.txt"), str(path)):
        assert not is_table(bad)
        with pytest.raises(InputError):
            read_table(bad)


def test_all_published_tables_are_read_as_those_of_their_program():
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}; set KERNELCAST_SHARED to the folder that holds it")
    files = sorted(TABLES.glob("*/*.txt"))
    assert len(files) > 20
    for file in files:
        table = read_table(str(file))
        assert table.program == file.parent.name
        assert len(table.rows) > 20, file
