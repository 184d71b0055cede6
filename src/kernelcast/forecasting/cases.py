"""Launches executed and profiled, each put beside the GPUs that it is to be forecast for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache as remembered
from functools import partial
from pathlib import Path

from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.errors import KernelcastError, LaunchError, UnsupportedError
from kernelcast.execution.blocks import Wave, all_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
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
from kernelcast.forecasting.recalled import (
    kept_profiles,
    recall_of_execution,
    recalled_profiles,
    recalling,
)
from kernelcast.forecasting.runs import run_of_last
from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.loading import LoadedModule
from kernelcast.frontends.workloads import Workload
from kernelcast.hierarchy.caches.memory_system import missing_numbers
from kernelcast.hierarchy.rules import access_rules, caches_memory
from kernelcast.ir import CacheState, Kernel, Launch, arrays_in
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.rules import AccessRules
from kernelcast.profiling.run import ENOUGH, Sampling, profile_launch
from kernelcast.profiling.stream_run import streams_of_run
from kernelcast.profiling.streams import AccessStreams
from kernelcast.profiling.time_limit import limited
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.recall import Recall

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
    (executed,) = _execute(
        [(kernel, launch)], [chip], access_rules(chip), base_dir, sampling, cache
    )
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
    run = Run(kernel, launch, memory, all_blocks(launch.blocks), cache=cache)
    streams, why = _streams(kernel, launch, memory, machines, sampling, cache, 1, None)
    sampling = _beside(streams, machines, sampling)
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
        executed = _ExecutedLaunch(profiles[rules], _by_wave(streams), why, lambda: run)
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
    _executed: dict[tuple[object, ...], list[_ExecutedLaunch]] = field(default_factory=dict)

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
            self._modules[chip.compute_capability] = module
        return module

    def _profiled(
        self, module: LoadedModule, chip: Machine, own: AccessRules, isa: str
    ) -> tuple[_Runs, list[_ExecutedLaunch]]:
        runs = self._runs(module, chip, isa)
        code = _code_of(runs)
        rules = own.with_those_of(self.rules)
        if (code, rules) not in self._executed:
            others = [one for one in self.machines if one is not chip]
            alike = [one for one in others if self._executes(one, code, isa)]
            self._executed[code, rules] = _execute(
                runs,
                [chip, *alike],
                rules,
                self.work.base_dir,
                self.sampling,
                self.build.cache,
                self.progress,
            )
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


@dataclass(frozen=True)
class _ExecutedLaunch:
    """What the execution of a launch tells, whatever the machine: its profile and its streams."""

    profile: Profile
    streams: Callable[[Wave], AccessStreams]
    why_no_streams: str = ""
    run: Callable[[], Run] | None = None
    recall: Recall | None = None

    def case(
        self,
        kernel: Kernel,
        launch: Launch,
        chip: Machine,
        caches: CacheState,
        earlier: tuple[Case, ...] = (),
    ) -> Case:
        """The launch on a machine."""
        wave = _wave(kernel, launch, chip)
        case = Case(
            kernel,
            launch,
            chip,
            replace(self.profile, kernel=kernel),
            None if self.why_no_streams else partial(self.streams, wave),
            self.why_no_streams,
            caches,
            earlier,
            run=self.run,
        )
        return case if self.recall is None else recalling(case, self.recall)


def _by_wave(streams: Mapping[Wave, AccessStreams]) -> Callable[[Wave], AccessStreams]:
    """The streams for a wave, else for any: whole waves of the largest GPU do for all."""
    return lambda wave: streams[wave] if wave in streams else next(iter(streams.values()))


def _warned_of_samples(kernel: Kernel, launch: Launch, earlier: Sequence[Case]) -> Kernel:
    """The kernel with a warning where it takes arrays that earlier launches wrote in part only."""
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
    if not (stale := [label for label in named if label in partial]):
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


def _execute(
    runs: Sequence[tuple[Kernel, Launch]],
    machines: Sequence[Machine],
    rules: AccessRules,
    base_dir: Path | None,
    sampling: Sampling,
    cache: Cache | None,
    progress: Progress | None = None,
) -> list[_ExecutedLaunch]:
    """What launches tell that run one after another on the same memory.

    They are not executed where an earlier process has done so, unless somebody asks for what was
    not kept.
    """
    waves = [_wave(*run, chip) for run in runs for chip in _with_caches(machines)]
    recall = recall_of_execution(runs, waves, rules, base_dir, sampling, cache)
    again = partial(_execute_now, runs, machines, rules, base_dir, sampling, cache)
    if recall is None:
        return again(progress)
    if (known := recalled_profiles(recall, runs)) is not None:
        return _recalled(known, recall, remembered(again), runs, base_dir, sampling, cache)
    executed = again(progress)
    kept_profiles(recall, [(one.profile, one.why_no_streams) for one in executed])
    return [replace(one, recall=recall.about(str(number))) for number, one in enumerate(executed)]


def _execute_now(
    runs: Sequence[tuple[Kernel, Launch]],
    machines: Sequence[Machine],
    rules: AccessRules,
    base_dir: Path | None,
    sampling: Sampling,
    cache: Cache | None,
    progress: Progress | None = None,
) -> list[_ExecutedLaunch]:
    executed: list[_ExecutedLaunch] = []
    memory: Memory | None = None
    for number, (kernel, launch) in enumerate(runs, 1):
        is_last = number == len(runs)
        is_read = _is_read(runs, number)
        memory = Memory.build(kernel, launch, base_dir=base_dir, earlier=memory, is_read=is_read)
        streams, why = _streams(
            kernel, launch, memory, machines, sampling, cache, len(runs), progress
        )
        profile = profile_launch(
            kernel,
            launch,
            memory,
            _beside(streams, machines, sampling),
            cache,
            progress,
            keeps_memory=not is_last,
            rules=rules,
        )
        run = _run_again(runs[:number], base_dir, sampling, cache, is_read=is_read)
        executed.append(_ExecutedLaunch(profile, _by_wave(streams), why, run))
    return executed


def _run_again(
    runs: Sequence[tuple[Kernel, Launch]],
    base_dir: Path | None,
    sampling: Sampling,
    cache: Cache | None,
    *,
    is_read: bool,
) -> Callable[[], Run]:
    """Makes the last of some launches ready once more."""
    return partial(
        run_of_last, runs, sampling=sampling, base_dir=base_dir, cache=cache, is_read=is_read
    )


def _is_read(runs: Sequence[tuple[Kernel, Launch]], number: int) -> bool:
    """Whether a launch, counted from 1, takes what arrays hold, or others before or after it do."""
    kernel, _ = runs[number - 1]
    return len(runs) > 1 or reads_arrays(kernel, needed_for_trace(kernel))


def _recalled(
    known: Sequence[tuple[Profile, str]],
    recall: Recall,
    again: Callable[[], list[_ExecutedLaunch]],
    runs: Sequence[tuple[Kernel, Launch]],
    base_dir: Path | None,
    sampling: Sampling,
    cache: Cache | None,
) -> list[_ExecutedLaunch]:
    """What an earlier process found out about launches; accesses are not kept."""

    def streams(number: int, wave: Wave) -> AccessStreams:
        return again()[number].streams(wave)

    def run(number: int) -> Run:
        is_read = _is_read(runs, number + 1)
        return _run_again(runs[: number + 1], base_dir, sampling, cache, is_read=is_read)()

    return [
        _ExecutedLaunch(
            profile, partial(streams, number), why, partial(run, number), recall.about(str(number))
        )
        for number, (profile, why) in enumerate(known)
    ]


def _streams(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    machines: Sequence[Machine],
    sampling: Sampling,
    cache: Cache | None,
    launches: int,
    progress: Progress | None,
) -> tuple[Mapping[Wave, AccessStreams], str]:
    """The accesses that caches are simulated with, by wave, or why there are none.

    Whole waves of the largest GPU do for all; what some SMs hold of one is another for each.
    """
    if not sampling.caches:
        return {}, "only what its warps do by themselves was asked for"
    able = _with_caches(machines)
    held = {wave for chip in able if (wave := _wave(kernel, launch, chip)).blocks}
    waves = sorted(held, key=lambda wave: (-wave.blocks, wave.sms))
    if not waves:
        return {}, "no machine asked for has the numbers that it takes"
    run = Run(
        kernel,
        launch,
        memory,
        all_blocks(launch.blocks),
        budget=sampling.budget,
        threads=sampling.threads,
        cache=cache,
    )
    until = limited(progress, sampling.time_limit, launch.blocks)

    def of_wave(wave: Wave, sharing: int) -> AccessStreams:
        return streams_of_run(run, wave, exact=sampling.exact, launches=sharing, progress=until)

    try:
        largest = of_wave(waves[0], launches)
    except UnsupportedError as error:
        return {}, error.what
    found = dict.fromkeys(waves, largest)
    if any(not span.is_consecutive for span in largest.spans):
        for wave in waves[1:]:
            with suppress(UnsupportedError):  # each has less room, which may be too little
                found[wave] = of_wave(wave, launches * len(waves))
    return found, ""


def _with_caches(machines: Sequence[Machine]) -> list[Machine]:
    """Those that have the numbers that caches are simulated by."""
    return [chip for chip in machines if not missing_numbers(chip)]


def _beside(
    streams: Mapping[Wave, AccessStreams], machines: Sequence[Machine], sampling: Sampling
) -> Sampling:
    """How a launch is profiled beside its streams: what neighbours share is asked where not all
    blocks run through the caches of every machine."""
    are_whole = streams and all(len(one.blocks) == one.of for one in streams.values())
    if are_whole and all(caches_memory(c) and not missing_numbers(c) for c in machines):
        return replace(sampling, caches=False)
    return sampling


def _wave(kernel: Kernel, launch: Launch, chip: Machine) -> Wave:
    """Blocks that are resident at a time on a whole GPU, none where none fits an SM."""
    try:
        per_sm = occupancy_of_launch(chip, kernel.resources, launch).blocks_per_sm
    except LaunchError:
        per_sm = 0
    return Wave(int(chip.number("sm.count")), per_sm)
