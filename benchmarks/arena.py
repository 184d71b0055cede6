"""Every model on the synthetic workload: five GPUs, all alphas, all occupancies."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from benchmarks.measured import Measured
from kernelcast.machines.loader import load_machine
from kernelcast.validation.arena import GPUS, judge
from kernelcast.validation.statements import verdicts

REPEATS = 5


def measure() -> Iterator[Measured]:
    machines = [load_machine(name) for name in GPUS]
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        judge(machines)
        verdicts(machines)
        times.append(time.perf_counter() - start)
    yield Measured("arena of latency hiding, all models", statistics.median(times), "s", 2.0, True)
