"""The launches of a workload, checked one after the other on the same memory."""

from __future__ import annotations

from kernelcast.checking.checked import CheckedLaunch, check_run
from kernelcast.execution.blocks import all_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import (
    Build,
    chosen_isa,
    executable_kernel,
    open_module,
    with_fallback,
)
from kernelcast.forecasting.residents import resident_wave
from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.workloads import Workload
from kernelcast.machines.machine import Machine


def check_workload(
    work: Workload,
    chip: Machine,
    build: Build,
    *,
    budget: int | None = None,
    progress: Progress | None = None,
) -> tuple[tuple[CheckedLaunch, ...], str]:
    """Check every launch, up to the first that goes wrong and stops.

    Beside them, why PTX was executed where machine code was to be; empty where it was not. `budget`
    is as for `execute`. Raises as `build.open_module` does, LaunchError for arguments that do not
    fit, and UnsupportedError for code that cannot be executed.
    """
    assert work.source is not None
    module = open_module(work.source, chip, [one.kernel for one in work.launches], build)

    def checked(isa: str) -> tuple[CheckedLaunch, ...]:
        memory: Memory | None = None
        found: list[CheckedLaunch] = []
        for one in work.launches:
            kernel = executable_kernel(module, one.kernel, isa)
            launch = check_launch(kernel, one)
            memory = Memory.build(kernel, launch, base_dir=work.base_dir, earlier=memory)
            blocks = all_blocks(launch.blocks)
            run = Run(
                kernel,
                launch,
                memory,
                blocks,
                resident=resident_wave(kernel, launch, chip).blocks,
                budget=budget,
                cache=build.cache,
            )
            found.append(check_run(run, progress=progress))
            if found[-1].error is not None:
                break
        return tuple(found)

    return with_fallback(checked, chosen_isa(module, chip, build), build)
