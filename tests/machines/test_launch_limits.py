"""The largest grids and blocks of the CUDA C++ Programming Guide."""

from __future__ import annotations

import pytest

from kernelcast.errors import LaunchError
from kernelcast.ir import Dim3, Launch
from kernelcast.machines.launch_limits import check_launch
from kernelcast.machines.loader import load_machine

LARGEST = [
    ("gtx-280", (65535, 65535, 1), (512, 1, 1), 16_384),
    ("gtx-480", (65535, 65535, 65535), (1024, 1, 1), 49_152),
    ("gtx-680", (2**31 - 1, 65535, 65535), (1, 1024, 1), 49_152),
    ("h100-sxm", (2**31 - 1, 65535, 65535), (16, 1, 64), 232_448),
]


@pytest.mark.parametrize(("name", "grid", "block", "shared"), LARGEST)
def test_the_largest_launch_passes(name: str, grid: Dim3, block: Dim3, shared: int) -> None:
    check_launch(load_machine(name), Launch(grid, block, smem_bytes=shared))


@pytest.mark.parametrize(("name", "grid", "block", "shared"), LARGEST)
def test_one_more_in_any_direction_fails(name: str, grid: Dim3, block: Dim3, shared: int) -> None:
    machine = load_machine(name)
    for axis in range(3):
        bigger = tuple(n + (i == axis) for i, n in enumerate(grid))
        with pytest.raises(LaunchError, match=f"grid has {bigger[axis]} in {'xyz'[axis]}"):
            check_launch(machine, Launch(bigger, (1, 1, 1)))
    with pytest.raises(LaunchError, match="dynamic shared memory"):
        check_launch(machine, Launch(grid, block, smem_bytes=shared + 1))


@pytest.mark.parametrize(
    ("name", "block", "message"),
    [
        ("h100-sxm", (2048, 1, 1), r"block of 2048 threads exceeds 1024 on h100-sxm \(cc 9.0\)"),
        ("h100-sxm", (32, 33, 1), "block of 1056 threads exceeds 1024"),
        ("h100-sxm", (1, 1, 65), "block has 65 in z"),
        ("h100-sxm", (0, 1, 1), "block has 0 in x"),
        ("gtx-280", (513, 1, 1), "block of 513 threads exceeds 512"),
    ],
)
def test_blocks_that_do_not_fit(name: str, block: Dim3, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        check_launch(load_machine(name), Launch((1, 1, 1), block))
