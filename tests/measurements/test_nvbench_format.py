"""Tables of NVBench: what is an axis, what was skipped, which time is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelcast.errors import ParseError
from kernelcast.measurements.observation import Measurements
from kernelcast.measurements.reading import read_measurements

SHARED = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/R100001+Programming-Massively-Parallel-Processors"
)
HEAD = (
    "Benchmark,Device,Device Name,T,Size (pow2),Size,Cols 1 / Rows 2,Skipped,Num Elements,Samples,"
    "CPU Time (sec),Noise,GPU Time (sec),Noise,Elem/s (elem/sec),GlobalMem BW (bytes/sec),BWUtil,"
    "Samples,Batch GPU (sec),Width (pow2),Width,Share"
)
ROWS = (
    "add,0,A GPU,U32,2^9,512,7,No,99,10,3e-3,0.5,2e-3,0.1,1e9,1e9,0.5,20,1e-3,,,",
    "add,0,A GPU,U32,2^10,1024,7,Yes,,,,,,,,,,,,,,",
    "mul,0,A GPU,,,,,No,99,10,3e-3,0.5,5e-6,0.1,1e9,1e9,0.5,20,1e-3,2^4,16,0.25",
)


def written(path: Path, *lines: str) -> Measurements:
    file = path / "table.csv"
    file.write_text("\n".join(lines) + "\n")
    return read_measurements(file)


def test_axes_are_parameters_and_what_was_measured_is_not(tmp_path: Path) -> None:
    """Were a count taken for an axis, a workload would be run with it."""
    add, mul = written(tmp_path, HEAD, *ROWS).observations
    assert add.parameters == {"t": "U32", "size": 512, "cols_1_rows_2": 7}
    assert mul.parameters == {"width": 16, "share": 0.25}


def test_the_time_is_that_of_the_gpu(tmp_path: Path) -> None:
    """Not the CPU's, which holds the launch, nor that of a batch, whose L2 cache is warm."""
    found = written(tmp_path, HEAD, *ROWS)
    assert [one.seconds for one in found.observations] == [(2e-3,), (5e-6,)]
    assert [one.kernel for one in found.observations] == ["add", "mul"]


def test_skipped_rows_are_counted(tmp_path: Path) -> None:
    found = written(tmp_path, HEAD, *ROWS)
    assert (found.device, found.failed) == ("A GPU", 1)


def test_a_row_that_was_cut_off_is_an_error(tmp_path: Path) -> None:
    """Else a broken download would pass for a shorter table."""
    with pytest.raises(ParseError, match="damaged nvbench"):
        written(tmp_path, HEAD, ROWS[0][:40])


@pytest.mark.parametrize(
    ("table", "count", "failed"),
    [
        ("array_add", 26, 0),
        ("convolution", 208, 2),
        ("histogram", 64, 0),
        ("image_to_grayscale", 13, 0),
        ("mat_mat_mul", 23, 6573),
        ("mat_vec_mul", 36, 1224),
        ("reduction", 182, 0),
        ("scan", 78, 0),
    ],
)
@pytest.mark.parametrize("chip", ["1650", "2060"])
def test_public_tables_are_read_whole(table: str, count: int, failed: int, chip: str) -> None:
    file = SHARED / f"Performance-Tests-NvBench/{table}/BenchResults/BenchResults{chip}.csv"
    if not file.is_file():
        pytest.skip(f"no {file}")
    found = read_measurements(file)
    assert (len(found.observations), found.failed) == (count, failed)
    assert all(name.isidentifier() for one in found.observations for name in one.parameters)
