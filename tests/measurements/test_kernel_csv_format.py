"""Tables with a row for each kernel: their sizes, their times, and what they do not tell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelcast.measurements.reading import read_measurements

SHARED = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/Debdeep23+Kernel_Performance_Prediction/predict-kernel-perf/data"
)
TABLE = """kernel,regs,shmem,block,grid_blocks,mean_ms,N,rows,cols,iters,gpu_device_name
copy,12,0,256,4096,0.25,1048576,,,0,A GPU
turn,8,0,1024,16,1.5,0,64,32,0,A GPU
"""


def test_sizes_that_a_kernel_has_not_are_left_out(tmp_path: Path) -> None:
    """A size of 0 would replace the workload's own."""
    file = tmp_path / "runs.csv"
    file.write_text(TABLE)
    found = read_measurements(file)
    copy, turn = found.observations
    assert found.device == "A GPU"
    assert copy.parameters == {"N": 1048576, "block": 256}
    assert turn.parameters == {"rows": 64, "cols": 32, "block": 1024}
    assert turn.seconds == (1.5e-3,)


def test_registers_are_not_read(tmp_path: Path) -> None:
    """The column is typed by hand: compared with a compiler's count it would warn in vain."""
    file = tmp_path / "runs.csv"
    file.write_text(TABLE)
    assert {one.registers for one in read_measurements(file).observations} == {None}


@pytest.mark.parametrize(("name", "count"), [("2080ti", 63), ("titanv", 60)])
def test_public_tables_are_read_whole(name: str, count: int) -> None:
    file = SHARED / f"runs_{name}_final.csv"
    if not file.is_file():
        pytest.skip(f"no {file}")
    assert len(read_measurements(file).observations) == count


def test_rows_without_a_time_are_counted_as_failed(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(TABLE + "late,8,0,1024,16,,0,64,32,0,A GPU\n")
    found = read_measurements(file)
    assert ([one.kernel for one in found.observations], found.failed) == (["copy", "turn"], 1)
