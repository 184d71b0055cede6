"""Loops of C and the model resios: Algorithm 5.1, functions on three GPUs, the launch search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measured import Measured, median_seconds
from kernelcast import api
from kernelcast.exploration.advice import LaunchSearch
from kernelcast.exploration.candidates import proposed, why_fixed
from kernelcast.forecasting.build import Build
from kernelcast.frontends.workloads import Workload
from kernelcast.models import load_model
from kernelcast.profiling.run import ENOUGH
from kernelcast.simulation.coarse import CoarseSm, CoarseTrace, simulate_coarsely
from kernelcast.simulation.coarse_loop import COMPUTE, MEMORY

ROOT = Path(__file__).parents[1]
NESTS = ROOT / "tests" / "frontends" / "c" / "nests"
GPUS = ("h100-sxm", "a100-sxm-80gb", "rtx-4090")
SIZES = {"n": 256, "m": 256, "k": 64, "ni": 256, "nj": 256, "nk": 64, "nl": 64}
SIZES |= {"steps": 1, "width": 256, "height": 256}
FUNCTIONS = {
    "gemm": ("algebra.c", "ni", "nj", "nk"),
    "gemm_linear": ("algebra.c", "n", "m", "k"),
    "two_mm": ("algebra.c", "ni", "nj", "nk", "nl"),
    "atax": ("algebra.c", "m", "n"),
    "bicg": ("algebra.c", "m", "n"),
    "mvt": ("algebra.c", "n"),
    "syrk": ("algebra.c", "n", "m"),
    "gesummv": ("algebra.c", "n"),
    "jacobi_2d": ("stencils.c", "steps", "n"),
    "convolution_2d": ("stencils.c", "width", "height"),
}
OPERATIONS, WARPS, BLOCKS = 100, 8, 64


def measure() -> Iterator[Measured]:
    seconds = median_seconds(simulate, 5, time.process_time)
    rate = OPERATIONS * WARPS * BLOCKS / seconds / 1e6
    yield Measured("Algorithm 5.1", rate, "M operations/s", 1.0)
    seconds = median_seconds(forecast_nests, 3, time.process_time)
    name = f"{len(FUNCTIONS)} functions of C loops on {len(GPUS)} GPUs, resios"
    yield Measured(name, seconds, "s", 5.0, True)
    works = searched()
    for name, work in works.items():
        yield Measured(f"launch search of {name}, volkov", ranked(work), "candidates/s", 200.0)
    for name in ("saxpy.cu", "convolution_2d"):
        seconds = median_seconds(partial(advised, works[name]), 3, time.process_time)
        yield Measured(f"advice for {name}, the search included", seconds, "s")


def simulate() -> None:
    """A load for every nine additions, with the latencies of a GTX 460."""
    kinds = np.where(np.arange(OPERATIONS) % 10 == 0, MEMORY, COMPUTE).astype(np.int8)
    latency = np.where(kinds == MEMORY, 500.0, 22.0)
    ones = np.ones(OPERATIONS)
    trace = CoarseTrace(kinds, latency, 12 * ones, ones / 12, 0 * ones, ones)
    simulate_coarsely(trace, CoarseSm(48, 8), BLOCKS, WARPS)


def forecast_nests() -> None:
    machines = [api.machine(name) for name in GPUS]
    for function, (file, *names) in FUNCTIONS.items():
        sizes = {name: SIZES[name] for name in names}
        work = api.workload(NESTS / file, function=function, sizes=sizes)
        for case in api.cases(work, machines):
            api.predict(case, model="resios")


def searched() -> dict[str, Workload]:
    """Launches whose candidates are ranked: streams, stencils, and products of matrices."""

    def nest(file: str, function: str, **sizes: int) -> Workload:
        return api.workload(NESTS / file, function=function, sizes=sizes)

    return {
        "saxpy.cu": api.workload(ROOT / "examples" / "saxpy.cu"),
        "matmul_naive.cu": api.workload(ROOT / "examples" / "matmul_naive.cu"),
        "gemm": nest("algebra.c", "gemm", ni=512, nj=512, nk=64),
        "syrk": nest("algebra.c", "syrk", n=256, m=256),
        "jacobi_2d": nest("stencils.c", "jacobi_2d", n=512, steps=1),
        "convolution_2d": nest("stencils.c", "convolution_2d", width=256, height=256),
    }


def advised(work: Workload) -> None:
    api.advise(work, GPUS[0], model="volkov")


def ranked(work: Workload) -> float:
    """Candidates for the last launch that are ranked in a second of the processor's time, once it
    is executed itself and the process has read all code."""
    search = LaunchSearch(work, api.machine(GPUS[0]), load_model("volkov"), Build(), ENOUGH)
    case = search.case(work.launches[-1])
    search.model.predict(case)
    candidates = proposed(case, None, why_fixed(case))
    seconds = median_seconds(lambda: search.ranked(case, candidates), 5, time.process_time)
    return len(candidates) / seconds
