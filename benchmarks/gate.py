"""How long the gate takes over fifty kernels of the suite, each launched in full size."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measured import Measured
from kernelcast.suite.registry import kernels
from kernelcast.suite.table import Scale, SuiteKernel, argument_text

_KERNELS = 50


def measure() -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as directory:
        files = [str(_workload(Path(directory), one)) for one in _drawn()]
        environment = {**os.environ, "KERNELCAST_CACHE": directory}
        cold, _ = _seconds(files, environment)
        warm, of_cores = _seconds(files, environment)
    yield Measured(f"gate over {_KERNELS} kernels", warm, "s", 30, True)
    yield Measured("  time of all cores together", of_cores, "s", 60, True)
    yield Measured("  with an empty cache", cold, "s")


def _drawn() -> list[SuiteKernel]:
    """Kernels of all families, those of one as far from each other as they can be."""
    known = list(kernels().values())
    return [known[at * len(known) // _KERNELS] for at in range(_KERNELS)]


def _workload(folder: Path, kernel: SuiteKernel) -> Path:
    """The kernel's first launch as a workload file."""
    launch = kernel.launches(Scale.FULL)[0]
    args = ", ".join(
        f"{label} = {_value(argument_text(value))}" for label, value in launch.args.items()
    )
    file = folder / f"{kernel.name}.toml"
    file.write_text(
        f"source = '{kernel.source}'\n[[launch]]\nkernel = '{launch.kernel}'\n"
        f"grid = {list(launch.grid)}\nblock = {list(launch.block)}\nsmem = {launch.smem_bytes}\n"
        f"args = {{ {args} }}\n"
    )
    return file


def _value(text: str) -> str:
    return text if text[0] == "{" else f"'{text}'"


def _seconds(files: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Of the clock and of the cores."""
    start, before = time.perf_counter(), _cpu_seconds()
    command = [sys.executable, "-m", "kernelcast", "gate", "time < 1000 s", *files]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, _cpu_seconds() - before


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
