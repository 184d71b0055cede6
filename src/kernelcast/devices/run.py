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


@dataclass(frozen=True)
class CheckedProgram:
    """How a program ended whose launches were checked."""

    status: int
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
    forecasts = Forecasts(tuple(machines), model, sampling, caches, cache)
    budget = _BUDGET if sampling.budget is None else sampling.budget
    device = VirtualGpu(tuple(machines), forecasts, cache, sampling.threads, budget)
    status = _run(device, command, options, output)
    return ProgramRun(tuple(command), status, tuple(machines), model, device.record)


def check_on_device(
    command: Sequence[str],
    machine: Machine,
    *,
    options: ProgramOptions | None = None,
    cache: Cache | None = None,
    budget: int | None = None,
    output: IO[bytes] | int | None = None,
) -> CheckedProgram:
    """Run a program, or a source that is compiled first, and check every launch; none is forecast.

    All else is as for `run_on_device`.
    """
    device = VirtualGpu(
        (machine,), None, cache, budget=_BUDGET if budget is None else budget, checks=True
    )
    return CheckedProgram(_run(device, command, options, output), device.record)


def _run(
    device: VirtualGpu,
    command: Sequence[str],
    options: ProgramOptions | None,
    output: IO[bytes] | int | None,
) -> int:
    """Let a program run on a device to its end; its exit status."""
    folder = libraries()
    image = None
    if is_source(command[0]):
        capabilities = [machine.compute_capability for machine in device.machines]
        source = Path(command[0])
        image = compile_program(source, capabilities, folder, options=options, cache=device.cache)
    else:
        check_program(find_program(command[0]))
    try:
        return run_program(device, command, folder, image=image, output=output)
    except KeyboardInterrupt:
        return _INTERRUPTED
