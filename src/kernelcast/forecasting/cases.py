"""Launches executed and profiled, each put beside the GPUs that it is to be forecast for."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.errors import KernelcastError
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import (
    Build,
    chosen_isa,
    executable_kernel,
    open_module,
    ptx_because,
    with_fallback,
    with_unheard_macros,
)
from kernelcast.forecasting.executed import (
    ExecutedLaunch,
    LaunchesInOrder,
    StreamsByWave,
    run_of_memory,
    sampling_beside,
    streams_by_wave,
)
from kernelcast.forecasting.fitting import fitted, warned
from kernelcast.forecasting.residents import with_residents
from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.loading import LoadedModule
from kernelcast.frontends.workloads import Workload
from kernelcast.hierarchy.rules import access_rules
from kernelcast.ir import CacheState, Kernel, Launch, arrays_in
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
    caches: CacheState = CacheState.COLD,
) -> Case:
    """Execute one launch of a kernel and put its profile beside the GPU.

    Raises LaunchError where the launch does not fit the kernel or the GPU, UnsupportedError for
    code that cannot be executed, and ExecutionError where the kernel itself goes wrong.
    """
    kernel, launch = _fitted(kernel, launch, chip)
    launches = LaunchesInOrder(
        [(kernel, launch)], [chip], access_rules(chip), base_dir, sampling, cache
    )
    (executed,) = launches.executed()
    return executed.case(kernel, launch, chip, caches)


def case_of_module(
    module: LoadedModule,
    launch: Launch,
    chip: Machine,
    *,
    build: Build,
    sampling: Sampling = ENOUGH,
    caches: CacheState = CacheState.COLD,
) -> Case:
    """As `case_of_kernel`, for the kernel of a module that the launch names, in the ISA that
    `build` chooses: PTX stands for machine code that cannot be executed."""

    def attempt(isa: str) -> Case:
        kernel = executable_kernel(module, launch.kernel, isa)
        return case_of_kernel(
            kernel, launch, chip, sampling=sampling, cache=build.cache, caches=caches
        )

    case, reason = with_fallback(attempt, chosen_isa(module, chip, build), build)
    if not reason:
        return case
    kernel = warned(case.kernel, ptx_because(reason))
    return replace(case, kernel=kernel, profile=replace(case.profile, kernel=kernel))


def cases_of_memory(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    machines: Sequence[Machine],
    *,
    sampling: Sampling = ENOUGH,
    cache: Cache | None = None,
    caches: CacheState = CacheState.COLD,
) -> tuple[Case, ...]:
    """One case per machine of a launch whose memory is there already, and is left as it was.

    It can be undone (`Memory.undo`): every execution finds what the launch would, also those that
    models make later. The machines are those that execute this code. Raises as `case_of_kernel`
    does.
    """
    assert memory.undo is not None
    asked = tuple(access_rules(chip) for chip in machines)
    fits = [fitted(kernel, launch, chip) for chip in machines]
    alone = run_of_memory(kernel, launch, memory, sampling, cache)
    sampled, sampling = with_residents(alone, sampling, machines)
    run = replace(sampled, budget=None, threads=None)
    streams, why = streams_by_wave(sampled, machines, sampling)
    sampling = sampling_beside(streams, machines, sampling)
    profiles: dict[AccessRules, Profile] = {}
    found = []
    for chip, own, fit in zip(machines, asked, fits, strict=True):
        rules = own.with_those_of(asked)
        if rules not in profiles:
            try:
                profiles[rules] = profile_launch(
                    kernel, launch, memory, sampling, cache, rules=rules
                )
            finally:
                memory.undo()
        executed = ExecutedLaunch(profiles[rules], StreamsByWave(streams), why, lambda: run)
        found.append(executed.case(fit, launch, chip, caches))
    return tuple(found)


def cases_of_workload(
    work: Workload,
    machines: Sequence[Machine],
    *,
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    progress: Progress | None = None,
    caches: CacheState | None = None,
    modules: MutableMapping[tuple[int, int], LoadedModule] | None = None,
) -> tuple[Case, ...]:
    """One case per launch and machine, in that order.

    The launches run one after another on the same memory. GPUs whose code is the same share one
    execution, unless their tags lie in banks by different rules. `progress` is told the share of
    each execution that is done. `caches` says what launches find in the L2 cache, in place of what
    the workload says. Raises as `case_of_kernel` does, and as `build.open_module`.
    """
    rules = tuple(access_rules(chip) for chip in machines)
    state = work.caches if caches is None else caches
    compiled = {} if modules is None else modules
    study = _Study(
        work, tuple(machines), rules, build or Build(), sampling, progress, state, compiled
    )
    rows = [study.cases_on(chip, own) for chip, own in zip(machines, rules, strict=True)]
    return tuple(row[at] for at in range(len(work.launches)) for row in rows)


@dataclass(frozen=True)
class _Study:
    """A workload, and what was compiled and executed of it so far."""

    work: Workload
    machines: tuple[Machine, ...]
    rules: tuple[AccessRules, ...]
    build: Build
    sampling: Sampling
    progress: Progress | None
    caches: CacheState
    _modules: MutableMapping[tuple[int, int], LoadedModule]
    _executed: dict[tuple[object, ...], list[ExecutedLaunch]] = field(default_factory=dict)

    def cases_on(self, chip: Machine, own: AccessRules) -> list[Case]:
        """The case of every launch on one GPU, whose own rules of accesses these are."""
        module = self._module(chip)
        isa = chosen_isa(module, chip, self.build)
        (runs, executed), reason = with_fallback(
            lambda isa: self._profiled(module, chip, own, isa), isa, self.build
        )
        if reason:
            runs = [(warned(kernel, ptx_because(reason)), launch) for kernel, launch in runs]
        cases: list[Case] = []
        for (kernel, launch), found in zip(runs, executed, strict=True):
            kernel = _warned_of_samples(kernel, launch, cases)
            cases.append(found.case(kernel, launch, chip, self.caches, tuple(cases)))
        return cases

    def _module(self, chip: Machine) -> LoadedModule:
        module = self._modules.get(chip.compute_capability)
        if module is None:
            assert self.work.source is not None
            names = [launch.kernel for launch in self.work.launches]
            module = open_module(self.work.source, chip, names, self.build)
            module = with_unheard_macros(module, self.work.source, self.work.names, self.build)
            self._modules[chip.compute_capability] = module
        return module

    def _profiled(
        self, module: LoadedModule, chip: Machine, own: AccessRules, isa: str
    ) -> tuple[_Runs, list[ExecutedLaunch]]:
        runs = self._runs(module, chip, isa)
        code = _code_of(runs)
        rules = own.with_those_of(self.rules)
        if (code, rules) not in self._executed:
            others = [one for one in self.machines if one is not chip]
            alike = [one for one in others if self._executes(one, code, isa)]
            launches = LaunchesInOrder(
                runs,
                [chip, *alike],
                rules,
                self.work.base_dir,
                self.sampling,
                self.build.cache,
            )
            self._executed[code, rules] = launches.executed(self.progress)
        return runs, self._executed[code, rules]

    def _runs(self, module: LoadedModule, chip: Machine, isa: str) -> _Runs:
        return [
            _fitted(executable_kernel(module, launch.kernel, isa), launch, chip)
            for launch in self.work.launches
        ]

    def _executes(self, chip: Machine, code: tuple[object, ...], isa: str) -> bool:
        """Whether a machine's code is this; not where it has none, which is said in its turn."""
        with suppress(KernelcastError):
            return _code_of(self._runs(self._module(chip), chip, isa)) == code
        return False


def _warned_of_samples(kernel: Kernel, launch: Launch, earlier: Sequence[Case]) -> Kernel:
    """The kernel with a warning where it goes by what arrays hold that earlier launches wrote in
    part only."""
    partial = {
        array.label
        for case in earlier
        for array in case.profile.footprints
        if array.written and not case.profile.sample.is_exact
    }
    given = {**launch.args, **launch.symbols}
    named = dict.fromkeys(
        name for label, value in given.items() for name, _ in arrays_in(label, value)
    )
    stale = [label for label in named if label in partial]
    if not stale or not reads_arrays(kernel, needed_for_trace(kernel)):
        return kernel
    return warned(
        kernel,
        f"only a sample of an earlier launch's blocks wrote {', '.join(stale)}; "
        "use --exact where addresses or branches depend on it",
    )


def _fitted(kernel: Kernel, launch: Launch, chip: Machine) -> tuple[Kernel, Launch]:
    """The launch with its arguments in the kernel's order, and the kernel with what to warn of."""
    launch = check_launch(kernel, launch)
    return fitted(kernel, launch, chip), launch


def _code_of(runs: _Runs) -> tuple[object, ...]:
    """What decides how kernels execute: equal for targets that differ in nothing else."""
    return tuple((k.parameters, k.instructions, k.blocks, k.variables) for k, _ in runs)
