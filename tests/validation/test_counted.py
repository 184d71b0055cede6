"""Counters of published kernels: each by its name, with what the launches before it made."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.machines.loader import load_machine
from kernelcast.measurements.observation import Observation
from kernelcast.validation.counted import execute_counted
from kernelcast.validation.counter_scores import counter_scores

CHIP = load_machine("t4")
READ = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup"

SOURCE = """/* kernelcast
[[launch]]
kernel = "number"
grid = 1
block = 1024
args = { at = "s32[1024]" }
[[launch]]
kernel = "twice"
grid = 1
block = 32
args = { at = "s32[1024]", from = "f32[1024]", to = "f32[32]" }
*/
extern "C" __global__ void number(int* at) { at[threadIdx.x] = 8 * threadIdx.x; }
extern "C" __global__ void twice(const int* at, const float* from, float* to) {
    float first = from[at[threadIdx.x]];
    __syncthreads();
    to[threadIdx.x] = first * from[at[threadIdx.x] + 1];
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "twice.cu").write_text(SOURCE)
    return tmp_path


def test_a_kernel_reads_what_the_launches_before_it_wrote(folder: Path) -> None:
    """Every lane reads a sector of its own twice: 32 and 4 of the indices miss, 32 and 4 hit."""
    one = Observation("twice", {}, (), counters={f"{READ}_hit.sum": 36, f"{READ}_miss.sum": 36})
    ((observation, case),), missing = execute_counted([one], folder, CHIP)
    assert (observation, case.launch.kernel, missing) == (one, "twice", [])
    for score in counter_scores([(observation, case)]):
        assert (score.median, score.median_error) == (1, 0), score.metric


def test_kernels_without_a_workload_are_one_line(folder: Path) -> None:
    few, many = (
        [Observation(f"k{n}", {}, ()) for n in range(count) for _ in "ab"] for count in (2, 5)
    )
    assert execute_counted(few, folder, CHIP) == ([], ["no workload: k0, k1"])
    assert execute_counted(many, folder, CHIP) == ([], ["no workload: k0, k1, k2 and 2 others"])


def test_a_kernel_of_a_program_has_its_workload_in_the_programs_folder(folder: Path) -> None:
    (folder / "app").mkdir()
    (folder / "twice.cu").rename(folder / "app/twice.cu")
    ((_, case),), missing = execute_counted([Observation("app/twice", {}, ())], folder, CHIP)
    assert (case.launch.kernel, missing) == ("twice", [])


def test_a_workload_that_does_not_launch_its_kernel_is_named(folder: Path) -> None:
    (folder / "twice.cu").rename(folder / "thrice.cu")
    pairs, missing = execute_counted([Observation("thrice", {}, ())], folder, CHIP)
    assert (pairs, missing) == ([], ["thrice: its workload does not launch it"])
