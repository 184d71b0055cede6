"""The virtual GPU: what a program takes beyond its launches, and all values of one on two cores."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measured import Measured

ROOT = Path(__file__).parents[1]
GPU = "h100-sxm"


def measure() -> Iterator[Measured]:
    from kernelcast.devices.libraries import compiler
    from kernelcast.errors import ToolError
    from kernelcast.toolchain.nvcc import find_host_compiler, find_nvcc

    yield from _all_values()
    try:
        for tool in (compiler, find_nvcc, find_host_compiler):
            tool()
    except ToolError:
        return
    yield from _programs()


def _programs() -> Iterator[Measured]:
    histogram = ROOT / "examples" / "programs" / "histogram.cu"
    _ran(histogram, 4194304, 1)  # compiled, and its kernels, from here on
    seconds, profile = _ran(histogram, 4194304, 1)
    executed = sum(kernel["executed_s"] for kernel in profile["kernels"])
    yield Measured("run, one launch: beyond its execution", seconds - executed, "s", 2, True)
    launches = ROOT / "benchmarks" / "launches.cu"
    _ran(launches, 1)
    few, many = (_ran(launches, count)[0] for count in (200, 1200))
    yield Measured("run, a launch known before", 1e3 * (many - few) / 1000, "ms", 5, True)


def _ran(source: Path, *arguments: int) -> tuple[float, dict[str, Any]]:
    call = [sys.executable, "-m", "kernelcast", "run", "--json", "--gpu", GPU, str(source)]
    started = time.perf_counter()
    done = subprocess.run([*call, *map(str, arguments)], check=True, capture_output=True, text=True)
    return time.perf_counter() - started, json.loads(done.stdout)


def _all_values() -> Iterator[Measured]:
    """A tiled product of matrices, every block and value."""
    from kernelcast import api
    from kernelcast.execution.execute import execute
    from kernelcast.execution.memory import Memory

    work = api.workload(ROOT / "examples" / "matmul_tiled.cu")
    launch = work.launches[0]
    kernel = api.load(ROOT / "examples" / "matmul_tiled.cu", gpu=GPU, kernel=launch.kernel)
    memory = Memory.build(kernel, launch)
    execute(kernel, launch, memory, blocks=range(8), threads=1)
    execute(kernel, launch, memory, blocks=range(8), threads=2)
    one, two = (
        min(
            (execute(kernel, launch, memory, blocks=range(4096), threads=n) for _ in range(3)),
            key=lambda done: done.seconds,
        )
        for n in (1, 2)
    )
    rate = two.thread_instructions / two.seconds
    yield Measured("all values of a tiled product, two cores", rate / 1e9, "G instr/s", 2)
    yield Measured("the same over one core", one.seconds / two.seconds, "times", 1.7)
