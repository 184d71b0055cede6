"""Which launch of a kernel is fastest: block sizes and shapes, and caps on registers, by a model.

Every candidate is executed and forecast like the launch itself. A block may change along the axes
whose extent the kernel asks for; the grid follows, so that there are as many threads. The three
strategies of Resios 2011, section 5.2.1, are a candidate like others. Caps on registers are those
at which another block fits an SM; the source is compiled anew with them, as `__launch_bounds__`
would have it.

A candidate is advised if the model that searched and the default model both say that it is faster,
and it leaves the same in memory as the launch did. Else the launch is left as it is. Changes of the
code are `code_advice`'s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kernelcast.analysis.block_size import axes_of_block_size
from kernelcast.analysis.intensity import arithmetic_intensity
from kernelcast.errors import CompileError, KernelcastError, LaunchError, UnsupportedError
from kernelcast.execution.blocks import all_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.exploration.code_advice import CodeChange, code_changes
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import Workload
from kernelcast.ir import Dim3, Launch, OpClass, Space
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.machines.classes import class_number
from kernelcast.machines.machine import Machine
from kernelcast.models import load_model
from kernelcast.models.terms.base import Case, Model, Prediction
from kernelcast.models.terms.launch_size import LaunchSize, launch_size
from kernelcast.profiling.run import ENOUGH, Sampling

LEAST_GAIN = 0.02
"""Share of the time below which a gain is none: two forecasts of one launch may differ by as much,
as blocks are drawn and warps come in another order."""

_MOST_COMPARED = 4e9
"""Thread instructions that a launch may have for its results to be compared: some seconds."""
_MOST_TRIED = 4
_WIDTHS = (32, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024)
_EXTENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_LEAST_WIDTH, _LEAST_SHAPE = 8, 64
_CAPS = (24, 32, 40, 48, 56, 64, 72, 80, 96, 128, 168)


class CodeVerdict(StrEnum):
    """What became of the results of a candidate."""

    SAME = "leaves the same in memory"
    OTHER = "leaves something else in memory"
    UNKNOWN = "too large to compare what it leaves in memory"


@dataclass(frozen=True)
class Candidate:
    """A launch that might be faster.

    `cap` are the registers that a thread may have, None for the compiler's own choice. `by` says
    who proposes it, where that is a rule. `refused` is why there is no prediction.
    """

    grid: Dim3
    block: Dim3
    cap: int | None = None
    by: str = ""
    prediction: Prediction | None = None
    refused: str = ""
    verdict: CodeVerdict | None = None

    @property
    def time_s(self) -> float:
        """As predicted, infinite where it is refused."""
        return math.inf if self.prediction is None else self.prediction.time_s


@dataclass(frozen=True)
class LaunchAdvice:
    """What was tried for a launch, and what came of it.

    `candidates` are by rising time, those that leave something else in memory last. `best` is
    advised, None where the launch is best left alone. `confirmed` are the times of the launch and
    of `best` by the default model. `rules` are the three strategies, None where they cannot be
    followed. `fixed` says why blocks stay as they are. `changes` of the code are by falling gain,
    each by itself, for the launch as it is.
    """

    current: Prediction
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    confirmed: tuple[float, float] | None
    rules: LaunchSize | None
    fixed: str = ""
    changes: tuple[CodeChange, ...] = ()

    @property
    def gain(self) -> float:
        """Share of the time that the advice saves, 0 where there is none."""
        return 1 - self.best.time_s / self.current.time_s if self.best else 0.0

    @property
    def worthwhile(self) -> tuple[CodeChange, ...]:
        """The changes of the code that gain something."""
        return tuple(c for c in self.changes if c.is_chosen and c.gain >= LEAST_GAIN)


@dataclass(frozen=True)
class _Advisor:
    """A launch by itself, and how it is built and judged."""

    work: Workload
    machine: Machine
    model: Model
    build: Build
    sampling: Sampling

    def case(self, launch: Launch, cap: int | None = None) -> Case:
        """The launch executed, its code compiled with a cap."""
        build = self.build
        if cap is not None:
            extra = (*build.options.extra, f"--maxrregcount={cap}")
            build = replace(build, options=replace(build.options, extra=extra))
        work = replace(self.work, launches=(launch,))
        (found,) = cases_of_workload(work, [self.machine], build=build, sampling=self.sampling)
        return found

    def tried(self, candidate: Candidate, launch: Launch) -> Candidate:
        """The candidate with its prediction, or why there is none."""
        changed = replace(launch, grid=candidate.grid, block=candidate.block)
        try:
            prediction = self.model.predict(self.case(changed, candidate.cap))
        except (LaunchError, CompileError, UnsupportedError) as error:
            return replace(candidate, refused=str(error))
        except KernelcastError as error:
            return replace(candidate, refused=f"goes wrong: {error}")
        return replace(candidate, prediction=prediction)


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
    advisor = _Advisor(work, machine, model, build or Build(), sampling)
    case = advisor.case(launch)
    current = model.predict(case)
    rules = _three_strategies(case)
    fixed = _why_fixed(case)
    proposed = list(dict.fromkeys((*_blocks(case, rules, fixed), *_caps(case))))
    tried = []
    for done, candidate in enumerate(proposed, 1):
        tried.append(advisor.tried(candidate, launch))
        if progress:
            progress(done / len(proposed))
    ranked = sorted(tried, key=lambda c: c.time_s)
    candidates, best, confirmed = _chosen(advisor, launch, current, ranked)
    candidates.sort(key=lambda c: (c.verdict is CodeVerdict.OTHER, c.time_s))
    changes = code_changes(case)
    return LaunchAdvice(current, tuple(candidates), best, confirmed, rules, fixed, changes)


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


def _why_fixed(case: Case) -> str:
    """Why the block cannot be another one, empty where it can."""
    if case.launch.smem_bytes:
        return "its dynamic shared memory may depend on the size of a block"
    if not axes_of_block_size(case.kernel):
        return "the kernel does not ask how large its blocks are"
    return ""


def _blocks(case: Case, rules: LaunchSize | None, fixed: str) -> Iterator[Candidate]:
    """Blocks of other extents along the axes that the kernel asks for."""
    if fixed:
        return
    launch = case.launch
    most = case.kernel.resources.max_threads_per_block or int(
        case.machine.number("occupancy.threads_per_block", "advice")
    )
    free = [axis for axis in axes_of_block_size(case.kernel) if launch.grid[axis] > 1] or [0]
    is_flat = launch.threads == launch.grid[0] * launch.block[0]
    rows = _flat(launch) if is_flat else _shapes(launch, free)
    blocks = [block for block in rows if WARP_LANES <= math.prod(block) <= most]
    named: dict[Dim3, str] = {}
    if rules is not None:
        x, y = rules.block(1 if is_flat else 2)
        proposed = (x, y, launch.block[2])
        kept = (axis in free or proposed[axis] == launch.block[axis] for axis in range(3))
        if math.prod(proposed) <= most and all(kept):
            named[proposed] = "three strategies"
            blocks.append(proposed)
    for block in dict.fromkeys(blocks):
        if block != launch.block:
            yield Candidate(_grid(launch, block), block, by=named.get(block, ""))


def _flat(launch: Launch) -> Iterator[Dim3]:
    _, y, z = launch.block
    return ((width, y, z) for width in _WIDTHS)


def _shapes(launch: Launch, free: Sequence[int]) -> Iterator[Dim3]:
    """Powers of two along the first two axes that may change."""
    x, y, z = launch.block
    for width in _EXTENTS if 0 in free else (x,):
        for height in _EXTENTS if 1 in free else (y,):
            is_wide = width >= _LEAST_WIDTH or 0 not in free
            if is_wide and _LEAST_SHAPE <= width * height * z <= _EXTENTS[-1]:
                yield width, height, z


def _grid(launch: Launch, block: Dim3) -> Dim3:
    """As many threads along every axis, rounded up to whole blocks."""
    x, y, z = (
        -(-blocks * old // new)
        for blocks, old, new in zip(launch.grid, launch.block, block, strict=True)
    )
    return x, y, z


def _caps(case: Case) -> Iterator[Candidate]:
    """Caps on registers with which more blocks fit an SM."""
    registers, launch = case.kernel.resources.registers, case.launch
    if registers is None or "registers" not in case.occupancy.co_limiters:
        return
    slack = next(s for s in case.occupancy.slacks if s.resource == "registers per thread")
    if slack.for_one_more is None:
        return
    for cap in _CAPS:
        if cap <= slack.for_one_more:
            yield Candidate(launch.grid, launch.block, cap)


def _chosen(
    advisor: _Advisor, launch: Launch, current: Prediction, ranked: Sequence[Candidate]
) -> tuple[list[Candidate], Candidate | None, tuple[float, float] | None]:
    """The fastest candidate that holds what it promises."""
    candidates = list(ranked)
    judge = load_model("auto")
    before: float | None = None
    for place, candidate in enumerate(candidates[:_MOST_TRIED]):
        if candidate.time_s > (1 - LEAST_GAIN) * current.time_s:
            break
        assert candidate.prediction is not None
        case = candidate.prediction.case
        verdict = _compared(advisor, current.case, case)
        candidates[place] = checked = replace(candidate, verdict=verdict)
        if verdict is CodeVerdict.OTHER:
            continue
        if before is None:
            before = judge.predict(current.case).time_s
        after = judge.predict(case).time_s
        if after <= (1 - LEAST_GAIN) * before:
            return candidates, checked, (before, after)
    return candidates, None, None


def _compared(advisor: _Advisor, current: Case, other: Case) -> CodeVerdict:
    """Execute both launches whole, and look at the arrays that they leave."""
    if max(c.profile.total.thread for c in (current, other)) > _MOST_COMPARED:
        return CodeVerdict.UNKNOWN
    try:
        images = [_left_in_memory(advisor, case) for case in (current, other)]
    except KernelcastError:
        return CodeVerdict.OTHER
    return CodeVerdict.SAME if images[0] == images[1] else CodeVerdict.OTHER


def _left_in_memory(advisor: _Advisor, case: Case) -> dict[str, bytes]:
    memory = Memory.build(case.kernel, case.launch, base_dir=advisor.work.base_dir)
    run = Run(
        case.kernel,
        case.launch,
        memory,
        all_blocks(case.launch.blocks),
        budget=advisor.sampling.budget,
        threads=1 if OpClass.ATOMIC in case.profile.counts else advisor.sampling.threads,
        cache=advisor.build.cache,
    )
    run.execute()
    return memory.image()
