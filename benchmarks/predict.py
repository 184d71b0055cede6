"""What one forecast takes from the shell: seconds and memory, compiled code in the cache."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.measured import Measured

ROOT = Path(__file__).parents[1]
PLAIN = (
    str(Path(sys.executable).parent / "kernelcast"),
    "predict",
    str(ROOT / "examples" / "matmul_tiled.cu"),
)
COMMAND = (*PLAIN, "--model", "all")
REPEATS = 5


def measure() -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "KERNELCAST_CACHE": directory}
        anew = {**environment, "KERNELCAST_RECALL": "0"}
        cold, _ = run(environment)
        for name, command, most_s in (("plain", PLAIN, 0.9), ("all models", COMMAND, 1.5)):
            again = _median(environment, command)
            first = _median(anew, command)
            yield Measured(f"predict matmul_tiled.cu, 2048^2, {name}", again[0], "s", most_s, True)
            yield Measured("  asked for the first time", first[0], "s")
            yield Measured("  its peak memory", first[1], "MB", 500, True)
    yield Measured("  with an empty cache", cold, "s")


def _median(environment: Mapping[str, str], command: Sequence[str]) -> tuple[float, float]:
    """Seconds, the median of some runs, and the most memory in MB."""
    run(environment, command)
    runs = [run(environment, command) for _ in range(REPEATS)]
    return statistics.median(s for s, _ in runs), max(m for _, m in runs)


def run(environment: Mapping[str, str], command: Sequence[str] = COMMAND) -> tuple[float, float]:
    """Seconds and peak memory in MB of one run."""
    launcher = (sys.executable, "-c", LAUNCHER, *command)
    done = subprocess.run(launcher, env=environment, check=True, capture_output=True, text=True)
    seconds, maxrss = map(float, done.stdout.split())
    return seconds, maxrss * MAXRSS_BYTES / 1e6


LAUNCHER = """
import os, sys, time
nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - start, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs a command from a small process: a child's peak memory counts that of its parent."""

MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""Unit of `ru_maxrss`."""
