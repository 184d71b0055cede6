"""Loops of C and the model resios: Algorithm 5.1, functions on three GPUs, the launch search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measured import Measured, median_seconds
from kernelcast import api
from kernelcast.exploration.advice import advise_launch
from kernelcast.models import load_model
from kernelcast.simulation.coarse import CoarseSm, CoarseTrace, simulate_coarsely
from kernelcast.simulation.coarse_loop import COMPUTE, MEMORY

ROOT = Path(__file__).parents[1]
NESTS = ROOT / "tests" / "frontends" / "c" / "nests" / "algebra.c"
GPUS = ("h100-sxm", "a100-sxm-80gb", "rtx-4090")
SIZES = {"n": 256, "m": 256, "k": 64, "ni": 256, "nj": 256, "nk": 64, "nl": 64}
FUNCTIONS = {
    "gemm": ("ni", "nj", "nk"),
    "gemm_linear": ("n", "m", "k"),
    "two_mm": ("ni", "nj", "nk", "nl"),
    "atax": ("m", "n"),
    "bicg": ("m", "n"),
    "mvt": ("n",),
    "syrk": ("n", "m"),
    "gesummv": ("n",),
}
OPERATIONS, WARPS, BLOCKS = 100, 8, 64


def measure() -> Iterator[Measured]:
    seconds = median_seconds(simulate, 5)
    rate = OPERATIONS * WARPS * BLOCKS / seconds / 1e6
    yield Measured("Algorithm 5.1", rate, "M operations/s", 1.0)
    seconds = median_seconds(forecast_nests, 3)
    name = f"{len(FUNCTIONS)} functions of C loops on {len(GPUS)} GPUs, resios"
    yield Measured(name, seconds, "s", 5.0, True)
    yield Measured("launch search of saxpy.cu, volkov", searched(), "candidates/s", 200.0)


def simulate() -> None:
    """A load for every nine additions, with the latencies of a GTX 460."""
    kinds = np.where(np.arange(OPERATIONS) % 10 == 0, MEMORY, COMPUTE).astype(np.int8)
    latency = np.where(kinds == MEMORY, 500.0, 22.0)
    ones = np.ones(OPERATIONS)
    trace = CoarseTrace(kinds, latency, 12 * ones, ones / 12, 0 * ones, ones)
    simulate_coarsely(trace, CoarseSm(48, 8), BLOCKS, WARPS)


def forecast_nests() -> None:
    machines = [api.machine(name) for name in GPUS]
    for function, names in FUNCTIONS.items():
        sizes = {name: SIZES[name] for name in names}
        work = api.workload(NESTS, function=function, sizes=sizes)
        for case in api.cases(work, machines):
            api.predict(case, model="resios")


def searched() -> float:
    """Candidates that are tried in a second, the comparison of results included."""
    work = api.workload(ROOT / "examples" / "saxpy.cu")
    machine, model = api.machine(GPUS[0]), load_model("volkov")
    start = time.perf_counter()
    found = advise_launch(work, work.launches[0], machine, model)
    return len(found.candidates) / (time.perf_counter() - start)
