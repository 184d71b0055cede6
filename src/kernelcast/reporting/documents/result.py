"""One prediction in the published form: what one model says about one launch on one GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import Struct

from kernelcast.hierarchy.caches.counts import SimulatedBlocks
from kernelcast.ir import Launch, Space
from kernelcast.models.terms.base import Bottleneck, Case, Part, Prediction
from kernelcast.models.terms.parameters import model_label, parameters
from kernelcast.reporting.documents.accesses import WastefulAccess, wasteful_accesses
from kernelcast.reporting.documents.base import Extents, Natural, NotNegative, Positive, Share
from kernelcast.reporting.documents.caches import CachePart, launch_part
from kernelcast.reporting.documents.divergence import DivergencePart, divergence
from kernelcast.reporting.documents.lines import CostlyLine, costly_lines
from kernelcast.reporting.plain_words import MEANING, STALL

_COSTLY_LINES = 5
"""Source lines of a result, unless all are asked for."""


class LaunchPart(Struct, frozen=True):
    """How the kernel was launched; `smem` is dynamic shared memory in bytes."""

    grid: Extents
    block: Extents
    smem: Natural
    blocks: Positive
    threads: Positive
    repeat: Positive


class BreakdownPart(Struct, frozen=True):
    """One term of the time; the cycles of all terms sum to the result's. `meaning` says it in plain
    words where the name is a profiler's; else it is empty."""

    name: str
    cycles: float
    fraction: float
    time_s: float
    meaning: str = ""


class BoundPart(Struct, frozen=True):
    """The cycles that one resource alone would take, their rank (1 the longest), and how long
    they are beside the longest."""

    name: str
    cycles: NotNegative
    rank: Positive
    of_longest: Share


class OccupancyPart(Struct, frozen=True):
    """Blocks and warps that an SM holds at once; `waves` is the grid over what all SMs hold, and
    `tail_share` how full the last wave is."""

    blocks_per_sm: Positive
    warps_per_sm: Positive
    relative: Share
    limiter: str
    waves: NotNegative | None
    tail_share: Share | None


class SimulatedBlocksPart(Struct, frozen=True):
    """Blocks that ran through the simulated caches, of how many.

    `spread` is by how much their spans differ in what they move, relative to its mean; where they
    are not `in_whole_waves`, they lay on some of the SMs.
    """

    blocks: Positive
    of: Positive
    spread: NotNegative
    in_whole_waves: bool


class TrafficPart(Struct, frozen=True):
    """Bytes that each level serves, as estimated and bounded, and that lanes ask for by space.

    `state` is what the L2 cache holds at the start: `cold`, `warm` or `flushed`. `caches` is what
    simulated caches hold, and `simulated` the blocks that ran through them, null where caches are
    not simulated.
    """

    l1_bytes: NotNegative
    l2_bytes: NotNegative
    l2_low_bytes: NotNegative
    l2_high_bytes: NotNegative
    dram_bytes: NotNegative
    dram_low_bytes: NotNegative
    dram_high_bytes: NotNegative
    global_requested_bytes: NotNegative
    shared_requested_bytes: NotNegative
    local_requested_bytes: NotNegative
    state: str
    caches: CachePart | None
    simulated: SimulatedBlocksPart | None


class CountPart(Struct, frozen=True):
    """Executed instructions of one class in the whole grid."""

    warp: NotNegative
    thread: NotNegative


class WorkPart(Struct, frozen=True):
    """All executed instructions of the grid, the share of lanes active in them, and the share of
    branches that diverge, null where none does."""

    warp: NotNegative
    thread: NotNegative
    simt_efficiency: Share
    divergent_share: Share | None


class SampledPart(Struct, frozen=True):
    """Blocks executed, of how many, and the relative standard error of the instruction count."""

    blocks: Positive
    of: Positive
    spread: NotNegative | None


class ResourcesPart(Struct, frozen=True):
    """Registers of a thread, shared memory of a block, static and dynamic together, what of a
    thread's registers is spilled, as far as the compiler said so, and its local memory."""

    registers: Natural | None
    shared_bytes: Natural
    spilled_bytes: Natural
    local_bytes: Natural


class ProvenancePart(Struct, frozen=True):
    """What made the result: machine file, code, executor, and how long execution took."""

    machine_file: str
    machine_version: str
    machine_overrides: list[str]
    source: str
    target: str
    toolchain: str
    resources: str
    trace: str
    seconds: NotNegative
    machine_title: str


class Result(Struct, frozen=True):
    """What one model says about one launch on one GPU.

    `title` is the launch in CUDA's notation, `model_label` the model with the parameters that are
    set, as `--model` takes it, and `meaning` says what the bottleneck is. `costly_lines` are those
    that ask most of what binds, dearest first: five of them, or all where it is explained.
    """

    kernel: str
    launch: LaunchPart
    gpu: str
    model: str
    isa: str
    time_s: NotNegative
    cycles: NotNegative
    low_s: NotNegative | None
    high_s: NotNegative | None
    bottleneck: Bottleneck
    breakdown: list[BreakdownPart]
    bounds: list[BoundPart]
    occupancy: OccupancyPart
    needed_warps: NotNegative | None
    traffic: TrafficPart
    counts: dict[str, CountPart]
    terms: dict[str, float | str | None]
    sampled: SampledPart
    assumptions: list[str]
    not_modelled: list[str]
    warnings: list[str]
    provenance: ProvenancePart
    title: str
    model_label: str
    model_parameters: dict[str, bool | int | float | str | None]
    meaning: str
    work: WorkPart
    resources: ResourcesPart
    costly_lines: list[CostlyLine]
    wasteful_accesses: list[WastefulAccess]
    divergence: DivergencePart


def result(prediction: Prediction, lines: int | None = _COSTLY_LINES) -> Result:
    """One prediction in the published form, with as many costly lines, or with all for None."""
    p, case = prediction, prediction.case
    sample = case.profile.sample
    low_s, high_s = _range(p)
    most = len(case.profile.lines) if lines is None else lines
    return Result(
        kernel=case.kernel.shown,
        launch=_launch(case.launch),
        gpu=case.machine.name,
        model=p.model.name,
        isa=case.kernel.isa,
        time_s=p.time_s,
        cycles=p.cycles,
        low_s=low_s,
        high_s=high_s,
        bottleneck=p.bottleneck,
        breakdown=[_term(p, part) for part in p.breakdown],
        bounds=_bounds(p.bounds),
        occupancy=_occupancy(case),
        needed_warps=p.needed_warps,
        traffic=_traffic(case),
        counts={str(op): CountPart(c.warp, c.thread) for op, c in case.profile.counts.items()},
        terms=dict(p.terms),
        sampled=SampledPart(sample.blocks, sample.of, sample.spread),
        assumptions=list(p.assumptions),
        not_modelled=list(p.model.not_modelled),
        warnings=[*case.kernel.warnings, *p.warnings],
        provenance=_provenance(case),
        title=launch_title(case),
        model_label=model_label(p.model),
        model_parameters={m.name: parameter_value(m.value) for m in parameters(p.model)},
        meaning=_meaning(case, p.bottleneck),
        work=_work(case),
        resources=_resources(case),
        costly_lines=costly_lines(case.profile, case.cache_counts, p.bottleneck, most),
        wasteful_accesses=wasteful_accesses(case.profile),
        divergence=divergence(case.profile),
    )


def _range(prediction: Prediction) -> tuple[float | None, float | None]:
    """From the least to the most time: what the model leaves open and the standard error of the
    executed sample, independent of each other. A simulation of the sample knows its own."""
    low_s, high_s = prediction.low_s, prediction.high_s
    spread = prediction.case.profile.sample.spread
    if prediction.simulated is not None or spread is None or not math.isfinite(spread):
        return low_s, high_s
    time_s = prediction.time_s
    error_s = spread * time_s
    low_s = time_s - math.hypot(time_s - (time_s if low_s is None else low_s), error_s)
    high_s = time_s + math.hypot((time_s if high_s is None else high_s) - time_s, error_s)
    return max(0.0, low_s), high_s


def launch_title(case: Case) -> str:
    """The launch in CUDA's notation: `saxpy<<<262144, 256>>>`."""
    return str(replace(case.launch, kernel=case.kernel.shown))


def parameter_value(value: object) -> bool | int | float | str | None:
    """A parameter's value; as text where JSON has no such type."""
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _launch(launch: Launch) -> LaunchPart:
    return LaunchPart(
        grid=list(launch.grid),
        block=list(launch.block),
        smem=launch.smem_bytes,
        blocks=launch.blocks,
        threads=launch.threads,
        repeat=launch.repeat,
    )


def _term(prediction: Prediction, part: Part) -> BreakdownPart:
    share = part.cycles / prediction.cycles if prediction.cycles else 0.0
    meaning = STALL.get(part.name, "") if prediction.simulated is not None else ""
    return BreakdownPart(part.name, part.cycles, share, share * prediction.time_s, meaning)


def _bounds(bounds: Sequence[Part]) -> list[BoundPart]:
    order = sorted(range(len(bounds)), key=lambda at: -bounds[at].cycles)
    ranks: Mapping[int, int] = {at: rank for rank, at in enumerate(order, 1)}
    longest = max((bound.cycles for bound in bounds), default=0.0)
    return [
        BoundPart(b.name, b.cycles, ranks[at], b.cycles / longest if longest else 0.0)
        for at, b in enumerate(bounds)
    ]


def _occupancy(case: Case) -> OccupancyPart:
    held = case.occupancy
    return OccupancyPart(
        held.blocks_per_sm,
        held.warps_per_sm,
        held.relative,
        held.limiter,
        held.waves,
        held.tail_share,
    )


def _traffic(case: Case) -> TrafficPart:
    moved, profile, counts = case.traffic, case.profile, case.cache_counts
    return TrafficPart(
        l1_bytes=moved.l1.central,
        l2_bytes=moved.l2.central,
        l2_low_bytes=moved.l2.low,
        l2_high_bytes=moved.l2.high,
        dram_bytes=moved.dram.central,
        dram_low_bytes=moved.dram.low,
        dram_high_bytes=moved.dram.high,
        global_requested_bytes=profile.requested_bytes(Space.GLOBAL),
        shared_requested_bytes=profile.requested_bytes(Space.SHARED),
        local_requested_bytes=profile.requested_bytes(Space.LOCAL),
        state=str(case.caches),
        caches=launch_part(counts),
        simulated=_simulated(counts.simulated) if counts else None,
    )


def _simulated(blocks: SimulatedBlocks) -> SimulatedBlocksPart:
    return SimulatedBlocksPart(blocks.blocks, blocks.of, blocks.spread, blocks.in_whole_waves)


_OF_MEMORY = (Bottleneck.DRAM_BANDWIDTH, Bottleneck.L2_BANDWIDTH, Bottleneck.L1_BANDWIDTH)


def _meaning(case: Case, bottleneck: Bottleneck) -> str:
    """What binds, in a sentence; with it, where most of what it moves is no data of the user's."""
    local, arrays = (case.profile.requested_bytes(s) for s in (Space.LOCAL, Space.GLOBAL))
    if bottleneck in _OF_MEMORY and local > arrays:
        return f"{MEANING[bottleneck]}; most are of local memory: spills or private arrays"
    return MEANING[bottleneck]


def _work(case: Case) -> WorkPart:
    profile = case.profile
    diverging = profile.divergent_branches
    return WorkPart(
        warp=profile.total.warp,
        thread=profile.total.thread,
        simt_efficiency=profile.simt_efficiency,
        divergent_share=diverging / profile.branches if diverging else None,
    )


def _resources(case: Case) -> ResourcesPart:
    held = case.kernel.resources
    return ResourcesPart(
        registers=held.registers,
        shared_bytes=held.static_shared_bytes + case.launch.smem_bytes,
        spilled_bytes=held.spilled_bytes,
        local_bytes=held.local_bytes,
    )


def _provenance(case: Case) -> ProvenancePart:
    machine, kernel = case.machine, case.kernel
    return ProvenancePart(
        machine_file=Path(machine.file).name,
        machine_version=machine.version,
        machine_overrides=list(machine.overrides),
        source=kernel.source,
        target=kernel.target,
        toolchain=f"{kernel.isa.upper()} {kernel.version}".strip(),
        resources=kernel.resources.source,
        trace=case.profile.executor,
        seconds=case.profile.seconds,
        machine_title=machine.title,
    )
