"""`kernelcast validate counters --workloads`: a published table beside kernels of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HEAD = (
    '"Kernel Name","traffic","dpAI","spAI","dpPerf","spPerf","xtime","Block Size","Grid Size",'
    '"device","intops","intPerf","intAI","targetName","exeArgs","kernelName"\n'
)
ROW = (
    '"{0}(float *)","{1}","0.0","0.0","0.0","{2}","1000.0","(256, 1, 1)","(4096, 1, 1)",'
    '"Some GPU","0.0","0.0","0.0","app","7","{0}"\n'
)
MIB = 1 << 20
SOURCE = """/* kernelcast
caches = "flushed"
n = "1 << 20"
[[launch]]
kernel = "before"
grid = 1
block = 32
args = { x = "f32[n]" }
[[launch]]
kernel = "triple"
grid = "n // 256"
block = 256
args = { x = "f32[n]" }
*/
extern "C" __global__ void before(float* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void triple(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 3; }
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Of `triple`, 8 MiB and 2^20 multiplications in a microsecond; two kernels more."""
    rows = [ROW.format(name, 8e6 * MIB, 1e6 * MIB) for name in ("triple", "fourfold", "fivefold")]
    file = tmp_path / "profiling-data.csv"
    file.write_text(HEAD + "".join(rows))
    (tmp_path / "workloads/app").mkdir(parents=True)
    (tmp_path / "workloads/app/triple.cu").write_text(SOURCE)
    return file


def words(table: Path, *more: str) -> tuple[object, ...]:
    folder = table.parent / "workloads"
    return ("validate", "counters", table, "--workloads", folder, "--gpu", "rtx-3080", *more)


def test_a_kernel_is_put_beside_its_row_and_those_without_a_workload_are_one_line(run, table):
    done = run(*words(table))
    assert done.status == 0, done.err
    assert "GeForce RTX 3080, counted by execution, beside Some GPU, profiled" in done.out
    assert "no workload: app/fourfold, app/fivefold" in done.out
    assert "dram__bytes.sum" in done.out


def test_json_holds_the_counters_of_the_kernels_own_launch(run, table):
    """It reads 4 MiB and writes 4 MiB, of which the L2 cache keeps 0.175 of its 5 MiB."""
    done = run(*words(table, "--json", "--only", "app/triple"))
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert (answer["gpu"], answer["missing"]) == ("rtx-3080", [])
    found = {name: part["launches"][0] for name, part in answer["counters"].items()}
    assert found["launch__grid_size"]["expected"] == found["launch__grid_size"]["counted"] == 4096
    assert found["flop_count_sp"]["expected"] == MIB
    moved = found["dram__bytes.sum"]
    assert moved["launch"] == "app/triple arguments=7"
    assert moved["counted"] == pytest.approx(8 * MIB)
    assert moved["expected"] == pytest.approx((8 - 0.175 * 5) * MIB, rel=1e-3)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--only", "app/tripel"), "app/triple"),
        (("--only", "app/fourfold"), "nothing can be compared"),
        (("--workloads", "nowhere"), "nowhere"),
    ],
)
def test_what_is_wrong_is_one_line(run, table, more, message):
    done = run(*words(table, *more))
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err
