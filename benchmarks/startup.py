"""How long a first answer takes: help, and loading machine files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measured import Measured, median_seconds


def measure() -> Iterator[Measured]:
    program = str(Path(sys.executable).parent / "kernelcast")

    def ask_for_help() -> None:
        subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL)

    yield Measured("kernelcast --help", 1e3 * median_seconds(ask_for_help, 9), "ms", 150, True)

    from kernelcast.machines.loader import load_machine, machine_names

    slowest = max(median_seconds(partial(load_machine, n), 9) for n in machine_names())
    yield Measured("load a machine file, the slowest", 1e3 * slowest, "ms", 5, True)
