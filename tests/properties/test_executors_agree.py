"""The engine does what the reference does: on generated kernels, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.properties.ptx_programs import programs
from tests.properties.ptx_writer import Program
from tests.tracing import by_warp

from kernelcast.errors import ExecutionError
from kernelcast.execution.consumers import Keep
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import run_reference
from kernelcast.execution.trace import Words, decode
from kernelcast.ir import Kernel
from kernelcast.isas.ptx.reader import parse_ptx

engine = pytest.importorskip("kernelcast.execution.engine.run", reason="needs the engine")

BUDGET = 100_000


@pytest.fixture(autouse=True, scope="module")
def _quick_code(quick_code):
    """Compiling is nearly all the time these tests take."""


def memory_of(kernel: Kernel, program: Program) -> Memory:
    memory = Memory.build(kernel, program.launch)
    memory.array("in")[:] = program.words
    return memory


def outcome_of_reference(kernel: Kernel, program: Program, resident: int) -> tuple[object, ...]:
    memory = memory_of(kernel, program)
    try:
        words, warps, threads = run_reference(
            kernel,
            program.launch,
            memory,
            range(program.launch.blocks),
            budget=BUDGET,
            resident=resident,
        )
    except ExecutionError as error:
        return (type(error),)
    return observed(memory, words), warps, threads


def outcome_of_engine(kernel: Kernel, program: Program, resident: int) -> tuple[object, ...]:
    memory = memory_of(kernel, program)
    keep = Keep()
    try:
        run = engine.run_engine(
            kernel,
            program.launch,
            memory,
            range(program.launch.blocks),
            budget=BUDGET,
            resident=resident,
            consumers=[keep],
        )
    except ExecutionError as error:
        return (type(error),)
    return observed(memory, keep.words), run.warp_instructions, run.thread_instructions


def observed(memory: Memory, words: Words) -> tuple[object, object]:
    """The memory image, with one NaN for all, and the records of every warp."""
    image = {r.label: canonical(memory, r.label, r.type) for r in memory.regions}
    return image, by_warp(decode(words))


def canonical(memory: Memory, label: str, type_name: str) -> bytes:
    values = memory.array(label).copy()
    if type_name == "bf16":
        values[(values & 0x7FFF) > 0x7F80] = 0x7FC0
    elif type_name.startswith("f"):
        values[np.isnan(values)] = np.nan
    return values.tobytes()


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(programs())
def test_engine_and_reference_agree_on_memory_and_trace(program: Program) -> None:
    kernel = parse_ptx(program.text, "generated.ptx").kernel()
    for resident in (1, 3):
        of_engine = outcome_of_engine(kernel, program, resident)
        assert of_engine == outcome_of_reference(kernel, program, resident)
