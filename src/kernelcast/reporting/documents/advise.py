"""What `advise` answers: every launch that was tried, and the one that is advised, if any."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from kernelcast.analysis.remedies import RemedyKind
from kernelcast.exploration.advice import LEAST_GAIN, LaunchAdvice
from kernelcast.exploration.candidates import Candidate
from kernelcast.exploration.code_advice import CodeChange
from kernelcast.ir import Dim3
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.parameters import model_label
from kernelcast.reporting.documents.base import (
    Extents,
    Natural,
    NotNegative,
    Positive,
    Share,
    json_schema,
)
from kernelcast.reporting.documents.result import launch_title

_SCHEMA: Literal["kernelcast/advise/1"] = "kernelcast/advise/1"


class CandidatePart(Struct, frozen=True):
    """A launch that was tried.

    `registers` is the cap on those of a thread, null for the compiler's own choice; `by` the rule
    that proposes it. `gain` is the share of the launch's time that it saves. `time_s` and what
    follows from it are null where it was `refused`. `results` says whether it leaves the same in
    memory, null where nobody looked. Where it was not `executed`, its time follows from a launch of
    the same warps in other blocks, of which it is the least that it may take where it is a `bound`.
    """

    grid: Extents
    block: Extents
    registers: Positive | None
    by: str
    time_s: NotNegative | None
    gain: float | None
    bottleneck: Bottleneck | None
    warps_per_sm: Natural | None
    refused: str
    results: str | None
    executed: bool
    bound: bool


class StrategiesPart(Struct, frozen=True):
    """Warps of a block by the three strategies of Resios 2011, section 5.2.1, and their least."""

    even_work: Natural
    utilisation: Natural
    hiding_latency: Natural
    warps: Positive


class CodeChangePart(Struct, frozen=True):
    """A change of the code, and the times by the timing simulation without and with it.

    `lines` are those whose accesses it cures; `array` is empty for shared memory; `shared_bytes`
    what a block holds more. `advised` is false where it gains too little, or does not fit. `time_s`
    and `gain` are the best there is, `most_s` and `least_gain` the worst; the same of what is
    simulated as it would be.
    """

    kind: RemedyKind
    lines: list[str]
    array: str
    change: str
    before_s: NotNegative
    time_s: NotNegative
    gain: float
    most_s: NotNegative
    least_gain: float
    shared_bytes: Natural
    advised: bool


class AdviceResult(Struct, frozen=True):
    """Advice for one launch on one GPU.

    `best` is null where the launch is best left as it is. `confirmed_s` are the times of the launch
    and of the best by the default model. `change` says in words what to change; `code_changes` are
    by falling gain, each by itself, and `together_s` the time with all that are advised. All times
    are of one launch, which is made `repeat` times.
    """

    kernel: str
    title: str
    repeat: Positive
    gpu: str
    model_label: str
    time_s: NotNegative
    bottleneck: Bottleneck
    block: Extents
    best: CandidatePart | None
    gain: Share
    confirmed_s: list[NotNegative]
    change: str
    candidates: list[CandidatePart]
    strategies: StrategiesPart | None
    fixed: str
    least_gain: Share
    code_changes: list[CodeChangePart]
    together_s: NotNegative | None


class AdviseDocument(Struct, frozen=True):
    """All that `advise --json` prints."""

    schema: Literal["kernelcast/advise/1"]
    results: list[AdviceResult]


def advise_document(found: Sequence[LaunchAdvice]) -> AdviseDocument:
    """The advice for some launches."""
    return AdviseDocument(_SCHEMA, [advice_result(one) for one in found])


def advise_schema() -> dict[str, Any]:
    """The JSON Schema of `advise --json`."""
    return json_schema(AdviseDocument, _SCHEMA, "kernelcast advise --json")


def advice_result(found: LaunchAdvice) -> AdviceResult:
    """The advice for one launch."""
    current = found.current
    case = current.case
    rules = found.rules
    return AdviceResult(
        kernel=case.kernel.shown,
        title=launch_title(case),
        repeat=case.launch.repeat,
        gpu=case.machine.name,
        model_label=model_label(current.model),
        time_s=current.time_s,
        bottleneck=current.bottleneck,
        block=list(case.launch.block),
        best=None if found.best is None else _candidate(found.best, current.time_s),
        gain=found.gain,
        confirmed_s=list(found.confirmed or ()),
        change=_change(found),
        candidates=[_candidate(c, current.time_s) for c in found.candidates],
        strategies=None
        if rules is None
        else StrategiesPart(rules.even, rules.utilisation, rules.hiding, rules.warps),
        fixed=found.fixed,
        least_gain=LEAST_GAIN,
        code_changes=[_code_change(c, c in found.worthwhile) for c in found.changes],
        together_s=found.together_s,
    )


def _candidate(candidate: Candidate, before_s: float) -> CandidatePart:
    case = candidate.case
    return CandidatePart(
        grid=list(candidate.grid),
        block=list(candidate.block),
        registers=candidate.cap,
        by=candidate.by,
        time_s=candidate.time_s if math.isfinite(candidate.time_s) else None,
        gain=None if case is None else 1 - candidate.time_s / before_s,
        bottleneck=candidate.bottleneck,
        warps_per_sm=None if case is None else case.occupancy.warps_per_sm,
        refused=candidate.refused,
        results=None if candidate.verdict is None else str(candidate.verdict),
        executed=candidate.is_executed,
        bound=candidate.is_bound,
    )


def _change(found: LaunchAdvice) -> str:
    best, launch = found.best, found.current.case.launch
    if best is None:
        words = "; ".join(map(_words, found.worthwhile))
        return f"leave the launch, {words}" if words else "leave it as it is"
    if best.cap is None:
        return f"launch blocks of {_extents(best.block)} in a grid of {_extents(best.grid)}"
    threads = launch.threads_per_block
    blocks = best.case.occupancy.blocks_per_sm if best.case else 1
    return (
        f"compile with --maxrregcount={best.cap}, or declare the kernel "
        f"__launch_bounds__({threads}, {blocks})"
    )


def _code_change(change: CodeChange, advised: bool) -> CodeChangePart:
    return CodeChangePart(
        kind=change.remedy.kind,
        lines=[f"{Path(place.file).name}:{place.line}" for place in change.lines],
        array=change.remedy.array,
        change=_words(change),
        before_s=change.before_s,
        time_s=change.time_s,
        gain=change.gain,
        most_s=change.most_s or change.time_s,
        least_gain=change.least_gain,
        shared_bytes=change.shared_bytes,
        advised=advised,
    )


def _words(change: CodeChange) -> str:
    remedy = change.remedy
    if remedy.kind is RemedyKind.PADDING:
        return f"pad the rows of {remedy.stride_bytes} B in shared memory by {remedy.pad_bytes} B"
    if remedy.kind is RemedyKind.LAYOUT:
        return f"keep the fields of {remedy.array}, {remedy.stride_bytes} B apart, in an array each"
    return (
        f"stage {remedy.array} in shared memory, {change.shared_bytes} B for a block: lanes are "
        f"{remedy.stride_bytes} B apart in it"
    )


def _extents(extents: Dim3) -> str:
    x, y, z = extents
    return ",".join(map(str, (x, y, z)[: 3 if z > 1 else 2 if y > 1 else 1]))
