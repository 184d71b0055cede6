"""Functions of C files executed as kernels, beside the same functions run natively."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.kept import CACHE

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.c.launching import FunctionLaunches, launch_function
from kernelcast.frontends.c.plan import FunctionPlan
from kernelcast.frontends.c.program import CProgram, read_program
from kernelcast.frontends.loading import LoadedModule, load_bytes
from kernelcast.ir import Array
from kernelcast.toolchain.nvrtc import CompileOptions

NESTS = Path(__file__).parent / "nests"
_EXACT = CompileOptions(extra=("--fmad=false",))
"""C code for x86 has no fused multiply-add, unless it is asked for."""


@cache
def program(file: str) -> CProgram:
    path = NESTS / file
    return read_program(path.read_text("utf-8"), str(path))


def plan(file: str, function: str) -> FunctionPlan:
    return next(p for p in program(file).plans if p.name == function)


@cache
def _module(file: str) -> LoadedModule:
    text = program(file).readable_cuda.encode()
    return load_bytes(text, name=f"{file}u", options=_EXACT, cache=CACHE)


def launched(file: str, function: str, sizes: Mapping[str, Any], **more: Any) -> FunctionLaunches:
    return launch_function(plan(file, function), sizes, **more)


def executed(file: str, launches: FunctionLaunches) -> dict[str, np.ndarray]:
    """What all launches leave in the function's arrays and scalars on the device."""
    module = _module(file)
    memory: Memory | None = None
    found: dict[str, np.ndarray] = {}
    for launch in launches.launches:
        kernel = module.kernel(launch.kernel)
        memory = Memory.build(kernel, launch, earlier=memory)
        execute(kernel, launch, memory, cache=CACHE)
        arrays = [label for label, value in launch.args.items() if isinstance(value, Array)]
        found |= {label: memory.array(label) for label in arrays}
    return found
