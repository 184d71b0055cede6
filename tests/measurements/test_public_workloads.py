"""The workloads of public measurements: their launches, without the sources they are of."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from kernelcast.frontends.workloads import LaunchFlags, read_workload
from kernelcast.machines.loader import machine_names
from kernelcast.measurements.reading import read_measurements

PUBLIC = Path(__file__).parents[2] / "measurements/public"
WORKLOADS = sorted(PUBLIC.rglob("*.cu"))
ON_VARIABLES = (PUBLIC / "gpuflopbench/hungarian-cuda/step_1_col_sub.cu",)
"""Kernels without arguments."""
SHARED = Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
HECBENCH = sorted((PUBLIC / "gpuflopbench").rglob("*.cu"))


@pytest.mark.parametrize("file", WORKLOADS, ids=lambda file: str(file.relative_to(PUBLIC)))
def test_launches_evaluate(file: Path) -> None:
    """Else no measurement of the set can be predicted."""
    launches = read_workload(file).launches
    assert launches
    assert all(launch.kernel and (launch.args or file in ON_VARIABLES) for launch in launches)


def test_every_set_of_the_table_names_workloads_that_are_there_and_a_known_gpu() -> None:
    """Else a row of the table of measured accuracy is left out."""
    sets = tomllib.loads((PUBLIC / "sets.toml").read_text())["set"]
    assert len(sets) > 10
    for one in sets:
        assert one["gpu"] in machine_names()
        kinds = ("folder", "workload", "ground_truth", "programs", "aside")
        assert sum(kind in one for kind in kinds) == 1
        if "ground_truth" in one:
            assert (PUBLIC / one["ground_truth"]).is_file()
            continue
        named = {path.stem for path in (PUBLIC / one.get("folder", ".")).rglob("*.cu")}
        assert named
        assert set(one.get("without", ())) <= named
        if "workload" in one:
            assert Path(one["workload"]).stem in named


@pytest.mark.parametrize(
    ("name", "parameters", "grids"),
    [
        ("array_add", {"axis_size": 100}, [(7, 7, 1)]),
        ("histogram", {"array_size": 1000, "num_threads": 32}, [(32, 1, 1)]),
        (
            "mat_mat_mul_rec_tiles",
            {"num_rows_1": 64, "num_cols_1_rows_2": 64, "num_cols_2": 64, "num_threads": 16},
            [(8, 4, 1)],
        ),
        ("convolution_2d_tiled", {"axis_size": 8192, "mask_width": 5}, [(683, 683, 1)]),
        ("reduction", {"array_size": 1 << 26}, [(131072, 1, 1), (256, 1, 1), (1, 1, 1)]),
        ("reduction_pairs", {"array_size": 1 << 26}, [(65536, 1, 1), (64, 1, 1), (1, 1, 1)]),
        (
            "scan_three_phase",
            {"num_elements": 1 << 26},
            [(16384, 1, 1), (4, 1, 1), (1, 1, 1), (3, 1, 1), (16383, 1, 1)],
        ),
    ],
)
def test_grids_are_those_of_the_benchmark(
    name: str, parameters: dict[str, int], grids: list[tuple[int, int, int]]
) -> None:
    """Another grid would be another amount of work than was timed."""
    flags = LaunchFlags(parameters=parameters)
    launches = read_workload(PUBLIC / "pmpp" / f"{name}.cu", flags).launches
    assert [launch.grid for launch in launches] == grids


@pytest.mark.parametrize(("blocks", "smem_bytes"), [(1, 50 << 10), (2, 12 << 10)])
def test_stream_reserves_more_for_a_single_block(blocks: int, smem_bytes: int) -> None:
    """Shared memory holds the blocks of an SM to those that were timed."""
    flags = LaunchFlags(parameters={"block": 96, "blocks": blocks})
    (launch,) = read_workload(PUBLIC / "stream.cu", flags).launches
    assert (launch.smem_bytes, launch.grid[0]) == (smem_bytes, ((128 << 20) + 2) // 96 + 1)


def test_kernels_of_hecbench_are_launched_as_those_that_were_measured() -> None:
    """Grid and block of every row of a kernel that has a workload."""
    files = [*(SHARED / "data").glob("*gpuFLOPBench/cuda-profiling/*.csv")]
    if not files:
        pytest.skip("no table of gpuFLOPBench")
    rows = read_measurements(files[0]).observations
    for file in HECBENCH:
        name = f"{file.parent.name}/{file.stem}"
        measured = {(row.grid, row.block) for row in rows if row.kernel == name}
        launch = read_workload(file).launches[-1]
        assert {(launch.grid, launch.block)} == measured, name
