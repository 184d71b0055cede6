"""Launches executed and profiled, each put beside the GPUs that it is to be forecast for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import (
    Build,
    chosen_isa,
    executable_kernel,
    open_module,
    ptx_because,
    with_fallback,
)
from kernelcast.forecasting.fitting import fitted, warned
from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.loading import LoadedModule
from kernelcast.frontends.workloads import Workload
from kernelcast.hierarchy.rules import access_rules
from kernelcast.ir import Kernel, Launch, TensorMap
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.rules import AccessRules
from kernelcast.profiling.run import ENOUGH, Sampling, profile_launch
from kernelcast.toolchain.cache import Cache

_Runs = list[tuple[Kernel, Launch]]


def case_of_kernel(
    kernel: Kernel,
    launch: Launch,
    chip: Machine,
    *,
    sampling: Sampling = ENOUGH,
    cache: Cache | None = None,
    base_dir: Path | None = None,
) -> Case:
    """Execute one launch of a kernel and put its profile beside the GPU.

    Raises LaunchError where the launch does not fit the kernel or the GPU, UnsupportedError for
    code that cannot be executed, and ExecutionError where the kernel itself goes wrong.
    """
    kernel, launch = _fitted(kernel, launch, chip)
    (profile,) = _execute([(kernel, launch)], access_rules(chip), base_dir, sampling, cache)
    return Case(kernel, launch, chip, profile)


def cases_of_workload(
    work: Workload,
    machines: Sequence[Machine],
    *,
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    progress: Progress | None = None,
) -> tuple[Case, ...]:
    """One case per launch and machine, in that order.

    The launches run one after another on the same memory. GPUs whose code is the same share one
    execution, unless their tags lie in banks by different rules. `progress` is told the share of
    each execution that is done. Raises as `case_of_kernel` does, and as `build.open_module`.
    """
    rules = tuple(access_rules(chip) for chip in machines)
    study = _Study(work, rules, build or Build(), sampling, progress)
    rows = [study.cases_on(chip, own) for chip, own in zip(machines, rules, strict=True)]
    return tuple(row[at] for at in range(len(work.launches)) for row in rows)


@dataclass(frozen=True)
class _Study:
    """A workload, and what was compiled and executed of it so far."""

    work: Workload
    rules: tuple[AccessRules, ...]
    build: Build
    sampling: Sampling
    progress: Progress | None
    _modules: dict[tuple[int, int], LoadedModule] = field(default_factory=dict)
    _executed: dict[tuple[object, ...], list[Profile]] = field(default_factory=dict)

    def cases_on(self, chip: Machine, own: AccessRules) -> list[Case]:
        """The case of every launch on one GPU, whose own rules of accesses these are."""
        module = self._module(chip)
        isa = chosen_isa(module, chip, self.build)
        (runs, profiles), reason = with_fallback(
            lambda isa: self._profiled(module, chip, own, isa), isa, self.build
        )
        if reason:
            runs = [(warned(kernel, ptx_because(reason)), launch) for kernel, launch in runs]
        return [
            _case(kernel, launch, chip, profiles[: at + 1])
            for at, (kernel, launch) in enumerate(runs)
        ]

    def _module(self, chip: Machine) -> LoadedModule:
        module = self._modules.get(chip.compute_capability)
        if module is None:
            assert self.work.source is not None
            names = [launch.kernel for launch in self.work.launches]
            module = open_module(self.work.source, chip, names, self.build)
            self._modules[chip.compute_capability] = module
        return module

    def _profiled(
        self, module: LoadedModule, chip: Machine, own: AccessRules, isa: str
    ) -> tuple[_Runs, list[Profile]]:
        runs = [
            _fitted(executable_kernel(module, launch.kernel, isa), launch, chip)
            for launch in self.work.launches
        ]
        code = tuple(_code(kernel) for kernel, _ in runs)
        rules = own.with_those_of(self.rules)
        if (code, rules) not in self._executed:
            self._executed[code, rules] = _execute(
                runs, rules, self.work.base_dir, self.sampling, self.build.cache, self.progress
            )
        return runs, self._executed[code, rules]


def _case(kernel: Kernel, launch: Launch, chip: Machine, profiles: Sequence[Profile]) -> Case:
    """The case of a launch; its profile is the last, after those of earlier launches."""
    *earlier, own = profiles
    partial = {
        array.label
        for profile in earlier
        for array in profile.footprints
        if array.written and not profile.sample.is_exact
    }
    named = dict.fromkeys(
        value.of or label if isinstance(value, TensorMap) else label
        for label, value in launch.args.items()
    )
    if stale := [label for label in named if label in partial]:
        warning = (
            f"only a sample of an earlier launch's blocks wrote {', '.join(stale)}; "
            "use --exact where addresses or branches depend on it"
        )
        kernel = warned(kernel, warning)
    return Case(kernel, launch, chip, replace(own, kernel=kernel))


def _fitted(kernel: Kernel, launch: Launch, chip: Machine) -> tuple[Kernel, Launch]:
    """The launch with its arguments in the kernel's order, and the kernel with what to warn of."""
    launch = check_launch(kernel, launch)
    return fitted(kernel, launch, chip), launch


def _code(kernel: Kernel) -> tuple[object, ...]:
    """What decides how a kernel executes: equal for targets that differ in nothing else."""
    return kernel.parameters, kernel.instructions, kernel.blocks, kernel.variables


def _execute(
    runs: Sequence[tuple[Kernel, Launch]],
    rules: AccessRules,
    base_dir: Path | None,
    sampling: Sampling,
    cache: Cache | None,
    progress: Progress | None = None,
) -> list[Profile]:
    """The profiles of launches that run one after another on the same memory."""
    profiles: list[Profile] = []
    memory: Memory | None = None
    for number, (kernel, launch) in enumerate(runs, 1):
        is_last = number == len(runs)
        is_read = not is_last or number > 1 or reads_arrays(kernel, needed_for_trace(kernel))
        memory = Memory.build(kernel, launch, base_dir=base_dir, earlier=memory, is_read=is_read)
        profiles.append(
            profile_launch(
                kernel,
                launch,
                memory,
                sampling,
                cache,
                progress,
                keeps_memory=not is_last,
                rules=rules,
            )
        )
    return profiles
