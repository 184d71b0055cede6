"""A large matrix product from machine code, and what leaving values out gains."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.engine import rate
from benchmarks.measured import Measured
from benchmarks.predict import MAXRSS_BYTES
from kernelcast import api
from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.execution.engine.jit import machine_code
from kernelcast.execution.engine.run import lower
from kernelcast.execution.memory import Memory
from kernelcast.execution.sampling import sample_blocks
from kernelcast.ir import Kernel, Launch
from kernelcast.suite.registry import kernel_named
from kernelcast.suite.table import Scale

SOURCE = Path(__file__).with_name("sgemm.cu")
CONVOLUTION = "convolution_layer"
BLOCKS = 8


def measure() -> Iterator[Measured]:
    launch = api.workload(SOURCE).launches[0]
    kernel = api.load(SOURCE, build=api.Build(isa="sass"))
    yield from _compile_time(kernel)
    for sampling, name, most in (
        (api.Sampling(), "a sample", 3),
        (api.Sampling(exact=True), "every block", 120),
    ):
        start = time.perf_counter()
        api.case(kernel, launch, sampling=sampling)
        seconds = time.perf_counter() - start
        yield Measured(f"profile of sgemm.cu, 4096^3, {name}", seconds, "s", most, True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES / 1e6
    yield Measured("  peak memory", peak, "MB", 1500, True)
    yield _gain("sgemm.cu", kernel, launch)
    known = kernel_named(CONVOLUTION)
    layer = known.launches(Scale.FULL)[0]
    yield _gain(CONVOLUTION, api.load(known.source, kernel=layer.kernel), layer)


def _compile_time(kernel: Kernel) -> Iterator[Measured]:
    for needed, name in ((None, "every value"), (needed_for_trace(kernel), "what a trace needs")):
        lower.cache_clear()
        start = time.perf_counter()
        machine_code(lower(kernel, needed).ir, None)
        per_instruction = (time.perf_counter() - start) / len(kernel.instructions)
        yield Measured(
            f"compiling sgemm.cu, {name}", 1e3 * per_instruction, "ms/instruction", 1, True
        )


def _gain(name: str, kernel: Kernel, launch: Launch) -> Measured:
    """How much faster the engine is where it computes only what the trace needs."""
    memory = Memory.build(kernel, launch)
    blocks = sample_blocks(launch.blocks, BLOCKS)
    whole = rate(kernel, launch, memory, blocks, "engine", 3)
    sliced = rate(kernel, launch, memory, blocks, "engine", 3, needed=needed_for_trace(kernel))
    return Measured(f"{name}: only what a trace needs, over all", sliced / whole, "times")
