"""What `explain` answers: one prediction in depth, down to every source line and instruction."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from msgspec import Struct, field

from kernelcast.analysis.coalescing import StaticAccess
from kernelcast.errors import MissingNumberError
from kernelcast.exploration.occupancy_curve import occupancy_curve
from kernelcast.hierarchy.caches.counts import CacheCounts
from kernelcast.ir import CopyPlan, Instruction, Location, OpClass, Space
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.models.terms.base import Case, Prediction
from kernelcast.profiling.profile import AccessProfile, Count, LineProfile, Profile
from kernelcast.reporting.documents.base import Natural, NotNegative, Positive, Share
from kernelcast.reporting.documents.caches import CachePart, cache_part
from kernelcast.reporting.documents.code_facts import (
    CodeFacts,
    accesses_by_code,
    code_facts,
    requests_by_code,
)
from kernelcast.reporting.documents.costs import instruction_costs
from kernelcast.reporting.documents.end_to_end import EndToEndTime, end_to_end_time
from kernelcast.reporting.documents.memory_chart import SpacePart, spaces
from kernelcast.reporting.documents.next_steps import next_steps
from kernelcast.reporting.documents.occupancy_curve import CurveResult, curve_result
from kernelcast.reporting.documents.predict import total_times
from kernelcast.reporting.documents.result import CountPart, Result, result
from kernelcast.reporting.documents.roofline import RooflinePart, roofline_part
from kernelcast.reporting.documents.simulated import SimulatedPart, simulated_part, stalls_of
from kernelcast.reporting.documents.sources import ShownFile, source_files
from kernelcast.reporting.documents.speed_of_light import SpeedPart, speed_of_light

_UNLIKE_RATIO = 1.25
_UNLIKE_SHARE = 0.01
"""Op classes whose counts in PTX and machine code differ more, and matter at least so much."""


class LinePart(Struct, frozen=True):
    """What the instructions of one source line cost; `cost` is a share, see the document's `heat`.

    `stalls` is what warps did that were about to issue them, as shares of what all warps did all
    the time; null where the model does not simulate warps.
    """

    file: str
    line: Positive
    warp_instructions: NotNegative
    thread_instructions: NotNegative
    requests: NotNegative
    sectors: NotNegative
    shared_passes: NotNegative
    shared_ideal_passes: NotNegative
    caches: CachePart | None
    stalls: dict[str, Share] | None
    cost: Share


class PatternPart(Struct, frozen=True):
    """How an instruction accesses the space it leads to most often: `per_request` sectors, or
    passes of shared memory, null where it made no request; `by_code` is what code alone says of
    whole warps, null where it does not tell."""

    space: str
    unit: Literal["sectors", "passes"]
    per_request: NotNegative | None
    by_code: NotNegative | None


class InstructionPart(Struct, frozen=True):
    """How often one instruction was executed, `lanes` the mean share of lanes active in it;
    `stalls` and `cost` are as of a line."""

    index: Natural
    text: str
    op_class: str = field(name="class")
    file: str | None
    line: Positive | None
    warps: NotNegative
    threads: NotNegative
    code_offset: Natural | None
    lanes: Share
    access: PatternPart | None
    caches: CachePart | None
    stalls: dict[str, Share] | None
    cost: Share


class UnlikePart(Struct, frozen=True):
    """An op class of which machine code and PTX execute unlike numbers of warp instructions."""

    op_class: str = field(name="class")
    warp: NotNegative
    ptx_warp: NotNegative


class ExplainDocument(Struct, frozen=True):
    """All that `explain --json` prints.

    `ptx_counts` are those of the same launch as PTX, null where PTX was executed anyway, and
    `unlike_ptx` the classes, after the sum of all, in which the two differ. `simulated` is null
    where the model does not simulate warps. `heat` names what the `cost` of lines and instructions
    is a share of: what warps spend waiting where they are simulated, else what binds. `roofline`
    and `curve`, the throughput over occupancy by the volkov model, are null where the machine lacks
    a number for them. `end_to_end` is null where no copies are asked for.
    """

    schema: Literal["kernelcast/explain/1"]
    result: Result
    ptx_counts: dict[str, CountPart] | None
    lines: list[LinePart]
    instructions: list[InstructionPart]
    unlike_ptx: list[UnlikePart] | None
    simulated: SimulatedPart | None
    heat: str
    what_to_do: list[str]
    speed_of_light: list[SpeedPart]
    roofline: RooflinePart | None
    spaces: list[SpacePart]
    curve: CurveResult | None
    sources: list[ShownFile]
    end_to_end: EndToEndTime | None
    code: CodeFacts


def explain_document(
    prediction: Prediction, ptx: Profile | None = None, copies: CopyPlan | None = None
) -> ExplainDocument:
    """One prediction; `ptx` is the profile of the same launch as PTX, where there is one, and
    `copies` are those around it.

    Raises NotFoundError and MissingNumberError as `models.terms.transfers` does.
    """
    case = prediction.case
    profile, counts, found = case.profile, case.cache_counts, prediction.simulated
    # A generic access may lead to several spaces: the one it leads to most often stands for it.
    accesses = {a.instruction: a for a in sorted(profile.accesses, key=lambda a: a.requests)}
    at_line: dict[Location | None, list[int]] = defaultdict(list)
    for i in profile.kernel.instructions:
        at_line[i.location].append(i.index)
    heat, costs = instruction_costs(prediction)
    by_code = accesses_by_code(profile)
    told, curve, speeds = result(prediction, lines=None), _curve(case), speed_of_light(prediction)
    return ExplainDocument(
        schema="kernelcast/explain/1",
        result=told,
        ptx_counts=_counts(ptx) if ptx else None,
        lines=[
            _line(
                line,
                counts,
                stalls_of(found, at_line[line.location]),
                sum(costs[i] for i in at_line[line.location]),
            )
            for line in profile.lines
        ],
        instructions=[
            _instruction(
                profile,
                i,
                accesses.get(i.index),
                by_code.get(i.index),
                counts,
                stalls_of(found, [i.index]),
                costs[i.index],
            )
            for i in profile.kernel.instructions
        ],
        unlike_ptx=_unlike(profile, ptx) if ptx else None,
        simulated=simulated_part(case, found) if found else None,
        heat=heat,
        what_to_do=next_steps(told.bottleneck, told.wasteful_accesses, speeds, curve),
        speed_of_light=speeds,
        roofline=roofline_part(prediction),
        spaces=spaces(case),
        curve=curve,
        sources=source_files(profile.kernel),
        end_to_end=None if copies is None else _end_to_end(prediction, copies),
        code=code_facts(profile, by_code),
    )


def _end_to_end(prediction: Prediction, copies: CopyPlan) -> EndToEndTime:
    ((_, by), kernel_s), *_ = total_times([prediction]).items()
    return end_to_end_time([prediction.case], by, kernel_s, copies)


def _curve(case: Case) -> CurveResult | None:
    try:
        return curve_result(occupancy_curve(case))
    except MissingNumberError:
        return None


def _counts(profile: Profile) -> dict[str, CountPart]:
    return {str(op): CountPart(c.warp, c.thread) for op, c in profile.counts.items()}


def _line(
    line: LineProfile,
    counts: CacheCounts | None,
    stalls: dict[str, float] | None,
    cost: float,
) -> LinePart:
    return LinePart(
        file=line.location.file,
        line=line.location.line,
        warp_instructions=line.instructions.warp,
        thread_instructions=line.instructions.thread,
        requests=line.requests,
        sectors=line.sectors,
        shared_passes=line.shared_passes,
        shared_ideal_passes=line.shared_ideal_passes,
        caches=cache_part(counts, lambda access: access.location == line.location),
        stalls=stalls,
        cost=min(1.0, cost),
    )


def _instruction(
    profile: Profile,
    instruction: Instruction,
    access: AccessProfile | None,
    by_code: StaticAccess | None,
    counts: CacheCounts | None,
    stalls: dict[str, float] | None,
    cost: float,
) -> InstructionPart:
    i, place = instruction, instruction.location
    warps = float(profile.instruction_warps[i.index])
    threads = float(profile.instruction_threads[i.index])
    return InstructionPart(
        index=i.index,
        text=str(i),
        op_class=str(i.op_class),
        file=place.file if place else None,
        line=place.line if place else None,
        warps=warps,
        threads=threads,
        code_offset=i.code_offset,
        lanes=threads / (WARP_LANES * warps) if warps else 0.0,
        access=_pattern(access, by_code) if access else None,
        caches=cache_part(counts, lambda one: one.instruction == i.index) if access else None,
        stalls=stalls,
        cost=cost,
    )


def _pattern(access: AccessProfile, by_code: StaticAccess | None) -> PatternPart:
    is_shared = access.space is Space.SHARED
    used = access.passes if is_shared else access.sectors
    return PatternPart(
        space=str(access.space),
        unit="passes" if is_shared else "sectors",
        per_request=used / access.requests if access.requests else None,
        by_code=requests_by_code(by_code, access.space),
    )


def _unlike(profile: Profile, ptx: Profile) -> list[UnlikePart]:
    native, written = profile.total.warp, ptx.total.warp
    total = max(native, written)
    found = [UnlikePart("all", native, written)]
    for op_class in OpClass:
        native, written = (p.counts.get(op_class, Count()).warp for p in (profile, ptx))
        is_unlike = max(native, written) > _UNLIKE_RATIO * min(native, written)
        if is_unlike and max(native, written) > _UNLIKE_SHARE * total:
            found.append(UnlikePart(str(op_class), native, written))
    return found
