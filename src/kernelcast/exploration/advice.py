"""Which launch of a kernel is fastest: block sizes and shapes, and caps on registers, by a model.

Of most candidates a time, or the least that it may be, follows from others (`relatives`): those
that could be the fastest are executed themselves before anything is said of them, as is every
candidate of which nothing follows, and where the model plays the launch itself. For a cap on
registers the source is compiled anew, as `__launch_bounds__` would have it.

Of those that are executed the one is advised that the default model finds to be the fastest, if
both models say that it is faster than the launch, and it leaves the same in memory. Else the launch
is left as it is. Changes of the code are `code_advice`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kernelcast.analysis.intensity import arithmetic_intensity
from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.errors import CompileError, KernelcastError, LaunchError, UnsupportedError
from kernelcast.execution.blocks import Blocks, all_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.exploration.candidates import (
    Candidate,
    CodeVerdict,
    Likeness,
    is_even,
    proposed,
    why_fixed,
)
from kernelcast.exploration.code_advice import CodeChange, code_changes, time_together
from kernelcast.exploration.relatives import Relatives
from kernelcast.exploration.sweep import TimeModel
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.forecasting.runs import run_of_last
from kernelcast.frontends.loading import LoadedModule
from kernelcast.frontends.workloads import Workload
from kernelcast.ir import Kernel, Launch, OpClass, Space
from kernelcast.machines.classes import class_number
from kernelcast.machines.machine import Machine
from kernelcast.models import load_model
from kernelcast.models.auto import Auto
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Bottleneck, Case, Model, Prediction
from kernelcast.models.terms.launch_size import LaunchSize, launch_size
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.run import ENOUGH, FEWEST_BLOCKS, Sampling

LEAST_GAIN = 0.02
"""Share of the time below which a gain is none: two forecasts of one launch may differ by as much,
as blocks are drawn and warps come in another order."""

_MOST_COMPARED = 4e9
"""Thread instructions that a launch may have for its results to be compared: some seconds."""
_FINALISTS, _MOST_EXECUTED = 4, 8


@dataclass(frozen=True)
class LaunchAdvice:
    """What was tried for a launch, and what came of it.

    `candidates` are by rising time, those that leave something else in memory last. `best` is
    advised, None where the launch is best left alone. `confirmed` are the times of the launch and
    of `best` by the default model. `rules` are the three strategies, None where they cannot be
    followed. `fixed` says why blocks stay as they are. `changes` of the code are by falling gain,
    each by itself, for the launch as it is, and `together_s` is the time with all that gain, by the
    timing simulation; None where there are not several, or they do not fit shared memory.
    """

    current: Prediction
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    confirmed: tuple[float, float] | None
    rules: LaunchSize | None
    fixed: str = ""
    changes: tuple[CodeChange, ...] = ()
    together_s: float | None = None

    @property
    def gain(self) -> float:
        """Share of the time that the advice saves, 0 where there is none."""
        return 1 - self.best.time_s / self.current.time_s if self.best else 0.0

    @property
    def worthwhile(self) -> tuple[CodeChange, ...]:
        """The changes of the code that gain something."""
        return tuple(c for c in self.changes if c.is_chosen and c.gain >= LEAST_GAIN)


@dataclass(frozen=True)
class LaunchSearch:
    """A launch by itself, and how others like it are built and judged."""

    work: Workload
    machine: Machine
    model: Model
    build: Build
    sampling: Sampling
    _modules: dict[int | None, dict[tuple[int, int], LoadedModule]] = field(
        default_factory=dict, repr=False
    )

    def case(self, launch: Launch, cap: int | None = None) -> Case:
        """The launch executed, its code compiled with a cap."""
        build = self.build
        if cap is not None:
            extra = (*build.options.extra, f"--maxrregcount={cap}")
            build = replace(build, options=replace(build.options, extra=extra))
        work = replace(self.work, launches=(launch,))
        (found,) = cases_of_workload(
            work,
            [self.machine],
            build=build,
            sampling=self.sampling,
            modules=self._modules.setdefault(cap, {}),
        )
        return found

    def relatives(self, case: Case) -> Relatives:
        """The launch of a case in other blocks."""
        return Relatives(
            case,
            partial(self._case_of, case.launch),
            partial(self._profile_of, case),
            partial(self._run_of, case.kernel),
        )

    def ranked(
        self, case: Case, candidates: Sequence[Candidate], progress: Progress | None = None
    ) -> list[Candidate]:
        """The candidates with their times, or the least that they may take, the fastest first.

        What the launch's own `case` tells of others is not executed; where it tells nothing, or the
        model plays a launch, all are.
        """
        relatives = self.relatives(case)
        plays = isinstance(self.model, (Teg, Auto))
        alike = Likeness.NONE if plays else relatives.likeness(candidates)
        tried = []
        for done, one in enumerate(candidates, 1):
            if alike is Likeness.NONE or one.cap is not None:
                tried.append(self.executed(one, case.launch))
            else:
                at_best = alike is Likeness.AT_BEST
                tried.append(self._timed(one, partial(relatives.derived, one, at_best=at_best)))
            if progress:
                progress(done / len(candidates))
        return sorted(tried, key=_time)

    def executed(self, candidate: Candidate, launch: Launch) -> Candidate:
        """The candidate executed and forecast like the launch, or why there is no prediction."""
        return self._timed(candidate, partial(self._case_of, launch, candidate))

    def _case_of(self, launch: Launch, candidate: Candidate) -> Case:
        return self.case(candidate.of(launch), candidate.cap)

    def _profile_of(self, case: Case, candidate: Candidate) -> Profile:
        """What warps of the candidate do by themselves."""
        sampling = replace(self.sampling, caches=False)
        if is_even(case) and sampling.blocks is None:
            sampling = replace(sampling, blocks=FEWEST_BLOCKS)
        search = replace(self, sampling=sampling)
        return search.case(candidate.of(case.launch)).profile

    def _run_of(self, kernel: Kernel, launch: Launch, blocks: Blocks) -> Run:
        """Blocks of the launch, made ready for a trace."""
        return run_of_last(
            [(kernel, launch)],
            blocks=blocks,
            sampling=self.sampling,
            base_dir=self.work.base_dir,
            cache=self.build.cache,
            is_read=reads_arrays(kernel, needed_for_trace(kernel)),
        )

    def _timed(self, candidate: Candidate, make: Callable[[], Case]) -> Candidate:
        try:
            case = make()
            time_s, bottleneck = self._time(case)
        except (LaunchError, CompileError, UnsupportedError) as error:
            return replace(candidate, refused=str(error), time_s=math.inf, case=None)
        except KernelcastError as error:
            return replace(candidate, refused=f"goes wrong: {error}", time_s=math.inf, case=None)
        return replace(candidate, case=case, time_s=time_s, bottleneck=bottleneck)

    def _time(self, case: Case) -> tuple[float, Bottleneck]:
        if isinstance(self.model, TimeModel):
            return self.model.predict_time(case)
        said = self.model.predict(case)
        return said.time_s, said.bottleneck


def advise_launch(
    work: Workload,
    launch: Launch,
    machine: Machine,
    model: Model,
    *,
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    progress: Progress | None = None,
) -> LaunchAdvice:
    """Search the launches of a kernel, one of a workload, for a faster one.

    Raises as `cases_of_workload` and the model do, where the launch itself cannot be forecast.
    """
    search = LaunchSearch(work, machine, model, build or Build(), sampling)
    case = search.case(launch)
    current = model.predict(case)
    rules, fixed = _three_strategies(case), why_fixed(case)
    ranked = search.ranked(case, proposed(case, rules, fixed), progress)
    ranked = _with_finalists(search, launch, current, ranked)
    candidates, best, confirmed = _chosen(search, current, ranked)
    candidates.sort(key=lambda c: (c.verdict is CodeVerdict.OTHER, c.time_s))
    found = LaunchAdvice(
        current, tuple(candidates), best, confirmed, rules, fixed, code_changes(case)
    )
    if len(found.worthwhile) < 2:
        return found
    return replace(found, together_s=time_together(case, found.worthwhile))


def _time(candidate: Candidate) -> float:
    return candidate.time_s


def _is_faster(after_s: float, before_s: float) -> bool:
    return after_s <= (1 - LEAST_GAIN) * before_s


def _three_strategies(case: Case) -> LaunchSize | None:
    """Resios 2011, section 5.2.1, with the latencies of what the kernel executes."""
    machine, resources = case.machine, case.kernel.resources
    classes = [c for c in case.profile.counts if not c.is_memory]
    compute = [class_number(machine, "latency", c) for c in classes]
    memory = machine.get("resios.memory_latency") or machine.get("latency.dram")
    uses_memory = any(a.space in (Space.GLOBAL, Space.LOCAL) for a in case.profile.accesses)
    intensity = arithmetic_intensity(case.kernel, case.profile.instruction_warps.tolist())
    try:
        return launch_size(
            machine,
            case.launch.threads,
            registers=resources.registers or 0,
            shared_bytes=resources.static_shared_bytes + case.launch.smem_bytes,
            compute_latencies=[cycles for cycles in compute if cycles],
            memory_latencies=[memory] if memory and uses_memory else [],
            intensity=max(intensity.ratio, 1e-9),
        )
    except KernelcastError:
        return None


def _with_finalists(
    search: LaunchSearch, launch: Launch, current: Prediction, ranked: Sequence[Candidate]
) -> list[Candidate]:
    """The ranking, in which the fastest were executed; they may stand elsewhere then.

    All are that could be among the fastest: as many as it takes where their times are bounds.
    """
    found = list(ranked)
    executed = 0
    while True:
        head = [c for c in found[:_FINALISTS] if _is_faster(c.time_s, current.time_s)]
        estimated = [c for c in head if not c.is_executed]
        if not estimated or (executed >= _MOST_EXECUTED and not estimated[0].is_bound):
            return found
        found[found.index(estimated[0])] = search.executed(estimated[0], launch)
        found.sort(key=_time)
        executed += 1


def _chosen(
    search: LaunchSearch, current: Prediction, ranked: Sequence[Candidate]
) -> tuple[list[Candidate], Candidate | None, tuple[float, float] | None]:
    """Of the fastest the one that the default model likes best and that computes the same; of the
    next ones where all of those compute something else."""
    candidates = list(ranked)
    faster = [
        (place, one.case)
        for place, one in enumerate(candidates)
        if one.case is not None and one.is_executed and _is_faster(one.time_s, current.time_s)
    ]
    if not faster:
        return candidates, None, None
    judge = load_model("auto")
    before = judge.predict(current.case).time_s
    cases = dict(faster)
    for start in range(0, len(faster), _FINALISTS):
        finalists = faster[start : start + _FINALISTS]
        judged = sorted((judge.predict(case).time_s, place) for place, case in finalists)
        for after, place in judged:
            if not _is_faster(after, before):
                return candidates, None, None
            verdict = _compared(search, current.case, cases[place])
            candidates[place] = checked = replace(candidates[place], verdict=verdict)
            if verdict is not CodeVerdict.OTHER:
                return candidates, checked, (before, after)
    return candidates, None, None


def _compared(search: LaunchSearch, current: Case, other: Case) -> CodeVerdict:
    """Execute both launches whole, and look at the arrays that they leave."""
    if max(c.profile.total.thread for c in (current, other)) > _MOST_COMPARED:
        return CodeVerdict.UNKNOWN
    try:
        images = [_left_in_memory(search, case) for case in (current, other)]
    except KernelcastError:
        return CodeVerdict.OTHER
    return CodeVerdict.SAME if images[0] == images[1] else CodeVerdict.OTHER


def _left_in_memory(search: LaunchSearch, case: Case) -> dict[str, bytes]:
    memory = Memory.build(case.kernel, case.launch, base_dir=search.work.base_dir)
    run = Run(
        case.kernel,
        case.launch,
        memory,
        all_blocks(case.launch.blocks),
        budget=search.sampling.budget,
        threads=1 if OpClass.ATOMIC in case.profile.counts else search.sampling.threads,
        cache=search.build.cache,
    )
    run.execute()
    return memory.image()
