"""The virtual GPU: what a program takes beyond its launches, and all values of one on two cores.

All of it by the processor's time, which other work beside it changes little, and the gain of two
cores by the clock on the wall, too.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measured import Measured, median_seconds

ROOT = Path(__file__).parents[1]
GPU = "h100-sxm"
BLOCKS = 2048


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
    used = _ran(histogram, 4194304, 1)
    yield Measured("run, one launch, its execution included", _seconds(used), "s", 2, True)
    yield Measured("its peak memory", used.ru_maxrss / 1000, "MB", 500, True)
    launches = ROOT / "benchmarks" / "launches.cu"
    _ran(launches, 1)
    few, many = (_seconds(_ran(launches, count)) for count in (200, 1200))
    yield Measured("run, a launch known before", 1e3 * (many - few) / 1000, "ms", 5, True)


def _ran(source: Path, *arguments: int) -> resource.struct_rusage:
    """What a program and its engine use."""
    call = [sys.executable, "-m", "kernelcast", "run", "--quiet", "--gpu", GPU, str(source)]
    silent = subprocess.DEVNULL
    program = subprocess.Popen([*call, *map(str, arguments)], stdout=silent, stderr=silent)
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    assert program.returncode == 0
    return used


def _seconds(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def _all_values() -> Iterator[Measured]:
    """A tiled product of matrices, every block and value."""
    from kernelcast import api
    from kernelcast.execution.execute import execute
    from kernelcast.execution.memory import Memory

    work = api.workload(ROOT / "examples" / "matmul_tiled.cu")
    launch = work.launches[0]
    kernel = api.load(ROOT / "examples" / "matmul_tiled.cu", gpu=GPU, kernel=launch.kernel)
    memory = Memory.build(kernel, launch)

    def seconds(clock: Callable[[], float], threads: int) -> float:
        def work() -> object:
            return execute(kernel, launch, memory, blocks=range(BLOCKS), threads=threads)

        return median_seconds(work, 3, clock)

    one, two = (seconds(time.process_time, threads) for threads in (1, 2))
    instructions = execute(kernel, launch, memory, blocks=range(BLOCKS)).thread_instructions
    rate = instructions / (two / 2)
    yield Measured("all values of a tiled product, two cores", rate / 1e9, "G instr/s", 2)
    yield Measured("the same over one core", one / (two / 2), "times", 1.7)
    one, two = (seconds(time.perf_counter, threads) for threads in (1, 2))
    yield Measured("  by the clock on the wall, which others slow down", one / two, "times")
