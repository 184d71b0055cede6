"""Largest grids and blocks, by compute capability.

Source: CUDA C++ Programming Guide, technical specifications per compute capability.
"""

from __future__ import annotations

from kernelcast.errors import LaunchError
from kernelcast.ir import Dim3, Launch
from kernelcast.machines.machine import Machine


def _largest_grid(capability: tuple[int, int]) -> Dim3:
    """Most blocks in x, y and z; grids have two dimensions before compute capability 2.0."""
    if capability < (2, 0):
        return (65535, 65535, 1)
    return (65535 if capability < (3, 0) else 2**31 - 1, 65535, 65535)


def _largest_block(capability: tuple[int, int]) -> Dim3:
    """Most threads in x, y and z."""
    return (512, 512, 64) if capability < (2, 0) else (1024, 1024, 64)


def check_launch(machine: Machine, launch: Launch) -> None:
    """LaunchError where a dimension, the block or its dynamic shared memory is too large."""
    capability = machine.compute_capability
    on = f"on {machine.name} (cc {capability[0]}.{capability[1]})"
    threads = int(machine.number("occupancy.threads_per_block", "the launch check"))
    if launch.threads_per_block > threads:
        raise LaunchError(
            f"block of {launch.threads_per_block} threads exceeds {threads} {on}",
            hint=f"use at most {threads} threads per block",
        )
    for what, size, largest in (
        ("grid", launch.grid, _largest_grid(capability)),
        ("block", launch.block, _largest_block(capability)),
    ):
        for axis, value, most in zip("xyz", size, largest, strict=True):
            if not 1 <= value <= most:
                raise LaunchError(
                    f"{what} has {value} in {axis}, allowed are 1 to {most} {on}",
                    hint=f"change the {what} of the launch",
                )
    default = machine.number("occupancy.shared_per_block", "the launch check")
    most = int(machine.get("occupancy.shared_per_block_optin") or default)
    if not 0 <= launch.smem_bytes <= most:
        raise LaunchError(
            f"{launch.smem_bytes} B of dynamic shared memory, allowed are 0 to {most} {on}",
            hint="change the dynamic shared memory of the launch",
        )
