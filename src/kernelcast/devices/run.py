"""A program, run on a virtual GPU and forecast on several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from kernelcast.devices.device import VirtualGpu
from kernelcast.devices.forecasts import Forecasts
from kernelcast.devices.libraries import libraries
from kernelcast.devices.programs import check_program, find_program, is_source
from kernelcast.devices.record import ProgramRecord
from kernelcast.devices.server import run_program
from kernelcast.ir import CacheState
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Model
from kernelcast.profiling.run import Sampling
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvcc import ProgramOptions, compile_program

_BUDGET = 1_000_000_000
"""Warp instructions after which a block is taken to be endless: half a minute of the engine. Real
programs have longer blocks than the samples of a forecast may."""

_INTERRUPTED = 130


@dataclass(frozen=True)
class ProgramRun:
    """What a program did: its command, exit status, and record; GPUs in the order asked for."""

    command: tuple[str, ...]
    status: int
    machines: tuple[Machine, ...]
    model: Model
    record: ProgramRecord = field(repr=False)


def run_on_device(
    command: Sequence[str],
    machines: Sequence[Machine],
    model: Model,
    *,
    options: ProgramOptions | None = None,
    sampling: Sampling | None = None,
    caches: CacheState = CacheState.COLD,
    cache: Cache | None = None,
    output: IO[bytes] | int | None = None,
) -> ProgramRun:
    """Run a program, or a source that is compiled first, on the first of the machines.

    `sampling` is how launches are sampled for their forecasts; all of every launch is executed, on
    `sampling.threads` threads. `output` is where the program's standard output goes. Where this is
    interrupted, the program ends, and the answer is what it did until then. Raises InputError for
    what cannot be run, ToolError where a compiler is missing, CompileError.
    """
    sampling = sampling or Sampling()
    folder = libraries()
    forecasts = Forecasts(tuple(machines), model, sampling, caches, cache)
    budget = _BUDGET if sampling.budget is None else sampling.budget
    device = VirtualGpu(tuple(machines), forecasts, cache, sampling.threads, budget)
    image = None
    if is_source(command[0]):
        capabilities = [machine.compute_capability for machine in machines]
        source = Path(command[0])
        image = compile_program(source, capabilities, folder, options=options, cache=cache)
    else:
        check_program(find_program(command[0]))
    try:
        status = run_program(device, command, folder, image=image, output=output)
    except KeyboardInterrupt:
        status = _INTERRUPTED
    return ProgramRun(tuple(command), status, tuple(machines), model, device.record)
