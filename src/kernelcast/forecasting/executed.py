"""Launches executed and profiled, once for all GPUs that execute their code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.errors import ExecutionError, UnsupportedError
from kernelcast.execution.blocks import Wave, all_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.recalled import (
    kept_profiles,
    recall_of_execution,
    recalled_profiles,
    recalling,
)
from kernelcast.forecasting.residents import resident_wave, with_residents
from kernelcast.forecasting.runs import run_of_last
from kernelcast.hierarchy.caches.memory_system import missing_numbers
from kernelcast.hierarchy.rules import caches_memory
from kernelcast.ir import CacheState, Kernel, Launch
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.rules import AccessRules
from kernelcast.profiling.run import Sampling, profile_launch
from kernelcast.profiling.stream_run import streams_of_run
from kernelcast.profiling.streams import AccessStreams
from kernelcast.profiling.time_limit import limited
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.recall import Recall


@dataclass(frozen=True)
class ExecutedLaunch:
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
        wave = resident_wave(kernel, launch, chip)
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


@dataclass(frozen=True)
class StreamsByWave:
    """The streams of a launch for each of some waves."""

    known: Mapping[Wave, AccessStreams]

    def __call__(self, wave: Wave) -> AccessStreams:
        """Those for a wave, else for any: whole waves of the largest GPU do for all."""
        return self.known[wave] if wave in self.known else next(iter(self.known.values()))


@dataclass(frozen=True)
class LaunchesInOrder:
    """Launches that run one after another on the same memory, and what they are executed for.

    `rules` are those of accesses on all of the `machines`; files of arrays are looked for from
    `base_dir` on. Cases ask methods of it for more, and are sent to workers: it can be pickled.
    """

    runs: Sequence[tuple[Kernel, Launch]]
    machines: Sequence[Machine]
    rules: AccessRules
    base_dir: Path | None
    sampling: Sampling
    cache: Cache | None

    def executed(self, progress: Progress | None = None) -> list[ExecutedLaunch]:
        """What they tell, in order.

        They are not executed where an earlier process has done so, unless somebody asks for what
        was not kept.
        """
        waves = [
            resident_wave(*run, chip) if _has_caches(chip) else None
            for run in self.runs
            for chip in self.machines
        ]
        recall = recall_of_execution(
            self.runs, waves, self.rules, self.base_dir, self.sampling, self.cache
        )
        if recall is None:
            return self._executed_now(progress)
        if (known := recalled_profiles(recall, self.runs)) is not None:
            return self._recalled(known, recall)
        found = self._executed_now(progress)
        kept_profiles(recall, [(one.profile, one.why_no_streams) for one in found])
        return [replace(one, recall=recall.about(str(n))) for n, one in enumerate(found)]

    def _recalled(
        self, known: Sequence[tuple[Profile, str]], recall: Recall
    ) -> list[ExecutedLaunch]:
        """What an earlier process found out; accesses, which it did not keep, are executed for."""
        return [
            ExecutedLaunch(
                profile,
                partial(self._streams_of, number),
                why,
                partial(self._run_of, number),
                recall.about(str(number)),
            )
            for number, (profile, why) in enumerate(known)
        ]

    @cached_property
    def _again(self) -> list[ExecutedLaunch]:
        """What they tell when executed for what was not kept, all of them once."""
        return self._executed_now()

    def _streams_of(self, number: int, wave: Wave) -> AccessStreams:
        return self._again[number].streams(wave)

    def _executed_now(self, progress: Progress | None = None) -> list[ExecutedLaunch]:
        found: list[ExecutedLaunch] = []
        memory: Memory | None = None
        for number, (kernel, launch) in enumerate(self.runs):
            if not self._is_read and (earlier := self.runs.index((kernel, launch))) < number:
                found.append(found[earlier])
                continue
            memory = Memory.build(
                kernel, launch, base_dir=self.base_dir, earlier=memory, is_read=self._is_read
            )
            try:
                found.append(self._executed_on(memory, number, progress))
            except ExecutionError as error:
                error.launch = number
                raise
        return found

    def _executed_on(
        self, memory: Memory, number: int, progress: Progress | None
    ) -> ExecutedLaunch:
        """What a launch tells that runs on memory as those before it left it."""
        kernel, launch = self.runs[number]
        alone = run_of_memory(kernel, launch, memory, self.sampling, self.cache)
        run, sampling = with_residents(alone, self.sampling, self.machines)
        streams, why = streams_by_wave(run, self.machines, sampling, len(self.runs), progress)
        profile = profile_launch(
            kernel,
            launch,
            memory,
            sampling_beside(streams, self.machines, sampling),
            self.cache,
            progress,
            keeps_memory=self._is_read and number + 1 < len(self.runs),
            rules=self.rules,
        )
        return ExecutedLaunch(profile, StreamsByWave(streams), why, partial(self._run_of, number))

    def _run_of(self, number: int) -> Run:
        """A launch made ready once more."""
        alone = run_of_last(
            self.runs[: number + 1],
            sampling=self.sampling,
            base_dir=self.base_dir,
            cache=self.cache,
            is_read=self._is_read,
        )
        return with_residents(alone, self.sampling, self.machines)[0]

    @cached_property
    def _is_read(self) -> bool:
        """Whether any launch goes by what arrays hold: else one that is launched again does the
        same again, and none need see what those before it left."""
        return any(reads_arrays(kernel, needed_for_trace(kernel)) for kernel, _ in self.runs)


def run_of_memory(
    kernel: Kernel, launch: Launch, memory: Memory, sampling: Sampling, cache: Cache | None
) -> Run:
    """All blocks of a launch on memory that is there already."""
    return Run(
        kernel,
        launch,
        memory,
        all_blocks(launch.blocks),
        budget=sampling.budget,
        threads=sampling.threads,
        cache=cache,
    )


def streams_by_wave(
    run: Run,
    machines: Sequence[Machine],
    sampling: Sampling,
    launches: int = 1,
    progress: Progress | None = None,
) -> tuple[Mapping[Wave, AccessStreams], str]:
    """The accesses that caches are simulated with, by wave, or why there are none.

    Whole waves of the largest GPU do for all; what some SMs hold of one is another for each. The
    launch is one of so many `launches` whose streams are all kept.
    """
    if not sampling.caches:
        return {}, "only what its warps do by themselves was asked for"
    kernel, launch = run.kernel, run.launch
    able = [chip for chip in machines if not missing_numbers(chip)]
    held = {wave for chip in able if (wave := resident_wave(kernel, launch, chip)).blocks}
    waves = sorted(held, key=lambda wave: (-wave.blocks, wave.sms))
    if not waves:
        return {}, "no machine asked for has the numbers that it takes"
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


def sampling_beside(
    streams: Mapping[Wave, AccessStreams], machines: Sequence[Machine], sampling: Sampling
) -> Sampling:
    """How a launch is profiled beside its streams: what neighbours share is asked where not all
    blocks run through the caches of every machine."""
    are_whole = streams and all(len(one.blocks) == one.of for one in streams.values())
    if are_whole and all(map(_has_caches, machines)):
        return replace(sampling, caches=False)
    return sampling


def _has_caches(chip: Machine) -> bool:
    """Whether it caches memory, and has the numbers that its caches are simulated by."""
    return caches_memory(chip) and not missing_numbers(chip)
