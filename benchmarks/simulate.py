"""Warp instructions per second of the timing simulation, and what a forecast with it takes."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from benchmarks.measured import Measured
from benchmarks.predict import MAXRSS_BYTES, PLAIN, run
from kernelcast import api
from kernelcast.models import teg
from kernelcast.simulation.simulate import simulate
from kernelcast.simulation.simulated import Simulated

ROOT = Path(__file__).parents[1]
REPEATS = 5
CASES = (
    (Path(__file__).with_name("sgemm.cu"), 5),
    (ROOT / "examples" / "spmv_csr.cu", 2),
    (ROOT / "examples" / "saxpy.cu", None),
    (ROOT / "examples" / "matmul_tiled.cu", None),
)
"""Kernels, and millions of instructions per second of a core that are promised."""


def measure() -> Iterator[Measured]:
    for source, promised in CASES:
        (case, *_) = api.cases(api.workload(source), [api.machine("h100-sxm")])
        rates: list[float] = []

        def timed(*given: object, rates: list[float] = rates, **limits: object) -> Simulated:
            start = time.perf_counter()
            found = simulate(*given, **limits)  # type: ignore[arg-type]
            rates.append(float(found.issued.sum()) / (time.perf_counter() - start) / 1e6)
            return found

        with patch.object(teg, "simulate", timed):
            for _ in range(1 + REPEATS):
                teg.Teg().predict(case)
        rate = statistics.median(rates[1:])
        yield Measured(f"simulating {source.name}", rate, "M instructions/s", promised)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES / 1e9
    yield Measured("  peak memory", peak, "GB", 1, at_most=True)
    yield from _forecasts()


def _forecasts() -> Iterator[Measured]:
    for example in sorted((ROOT / "examples").glob("*.cu")):
        command = (*PLAIN[:-1], str(example), "--model", "teg")
        run(os.environ, command)
        seconds = statistics.median(run(os.environ, command)[0] for _ in range(3))
        yield Measured(f"predict {example.name}, teg", seconds, "s", 3, at_most=True)
