"""What `validate mdm` answers: the models of Table V on the applications of Table IV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from kernelcast.machines.schema import ENTRIES
from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.validation.mdm.points import (
    FAST_CLOCK,
    FAST_HZ,
    GRID_BANDWIDTHS,
    GRID_SMS,
    GRIDS,
    SLOW_HZ,
    STACK_SCALES,
    STACKED,
    STREAMING_L1,
    SWEEPS,
    TABLE_III,
    Point,
    Settings,
    Sweep,
    grid_settings,
    stack_settings,
)
from kernelcast.validation.mdm.printed import (
    CLOCK_ERRORS,
    MD_ERRORS,
    NMD_ERRORS,
    STALLS_SCALED,
    SWEEP_ERRORS,
)
from kernelcast.validation.mdm.schemes import GPUMECH, MDM
from kernelcast.validation.mdm.study import MdmStudy, mean
from kernelcast.validation.mdm.trends import Trend

_BOTH = (GPUMECH, MDM)

Errors = dict[str, float | None]
"""By scheme; null where nothing was observed."""


class ApplicationPart(Struct, frozen=True):
    """An application on Table III: its divergent loads per 1000 instructions, whether the paper
    calls it divergent and whether it is, and IPC and error by scheme."""

    name: str
    title: str
    stated_divergent: bool
    dpki: NotNegative
    is_divergent: bool
    ipc: dict[str, float]
    error: Errors


class MeanPart(Struct, frozen=True):
    """Mean errors of one kind of applications, ours and the paper's."""

    kind: str
    error: Errors
    stated: dict[str, float]


class SweepStep(Struct, frozen=True):
    """Mean errors where the number of the sweep has this value."""

    value: float
    error: Errors
    stated: dict[str, float]


class SweepPart(Struct, frozen=True):
    """A figure that varies one number of the machine, over all divergent applications."""

    figure: str
    path: str
    title: str
    unit: str
    steps: list[SweepStep]


class GridPart(Struct, frozen=True):
    """IPC of one application by scheme, a row for each bandwidth of the DRAM and a column for each
    number of SMs, over the reference on Table III."""

    figure: str
    application: str
    sms: list[float]
    bandwidths: list[float]
    performance: dict[str, list[list[float]]]


class ClockPart(Struct, frozen=True):
    """How much longer an application takes at the slow clock, by scheme, and by scaling stalls."""

    application: str
    slowdown: dict[str, float]


class ClocksPart(Struct, frozen=True):
    """Figure 13: all divergent applications, their mean, the mean error against what was observed
    (MDM where nothing was; null where something is missing), and those that the paper prints."""

    slow_hz: float
    fast_hz: float
    applications: list[ClockPart]
    mean: dict[str, float]
    mean_error: dict[str, float | None]
    stated_error: dict[str, float]


class StackPart(Struct, frozen=True):
    """Figure 14: SM cycles per instruction by term, at bandwidths that are `scale` times as high
    as those of Table III."""

    scheme: str
    scale: float
    cpi: NotNegative
    parts: dict[str, float]


class StreamingPart(Struct, frozen=True):
    """Figure 15: IPC and error of an application with a streaming L1 cache, by scheme."""

    application: str
    ipc: dict[str, float]
    error: Errors


class TrendPart(Struct, frozen=True):
    """A sentence of the paper; it holds where every number found is above the next."""

    source: str
    says: str
    found: list[float]
    holds: bool


class MdmDocument(Struct, frozen=True):
    """All that `validate mdm --json` prints. `observed` is null where nothing was: errors are then
    how far a model is from MDM. `met` trends hold."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["mdm"]
    machine: str
    observed: str | None
    holds: bool
    met: Natural
    applications: list[ApplicationPart]
    means: list[MeanPart]
    sweeps: list[SweepPart]
    grids: list[GridPart]
    clocks: ClocksPart | None
    stacked: str | None
    stacks: list[StackPart]
    streaming: list[StreamingPart]
    trends: list[TrendPart]


def mdm_document(
    study: MdmStudy, trends: Iterable[Trend], machine: str, observed: str | None
) -> MdmDocument:
    """A study and what was found of it; `observed` names the observed side."""
    judged = [TrendPart(t.source, t.says, list(t.found), t.holds) for t in trends]
    names = {a.name for a in study.applications}
    md = study.divergent()
    return MdmDocument(
        schema="kernelcast/validate/1",
        set="mdm",
        machine=machine,
        observed=observed,
        holds=all(t.holds for t in judged),
        met=sum(t.holds for t in judged),
        applications=_applications(study),
        means=_means(study),
        sweeps=[_sweep(study, sweep) for sweep in SWEEPS] if md else [],
        grids=[_grid(study, figure, name) for figure, name in GRIDS.items() if name in names],
        clocks=_clocks(study) if md else None,
        stacked=STACKED if STACKED in names else None,
        stacks=_stacks(study) if STACKED in names else [],
        streaming=[_streaming(study, name) for name in md],
        trends=judged,
    )


def _schemes(study: MdmStudy) -> list[str]:
    return list(dict.fromkeys(point.scheme for point in study.forecasts))


def _ipcs(
    study: MdmStudy, name: str, schemes: Iterable[str], settings: Settings = TABLE_III
) -> dict[str, float]:
    return {s: study.forecasts[Point(s, name, settings)].ipc for s in schemes}


def _applications(study: MdmStudy) -> list[ApplicationPart]:
    schemes = _schemes(study)
    return [
        ApplicationPart(
            name=a.name,
            title=a.title,
            stated_divergent=a.is_divergent,
            dpki=study.dpki[a.name],
            is_divergent=study.is_divergent(a.name),
            ipc=_ipcs(study, a.name, schemes),
            error={s: study.error(s, a.name) for s in schemes},
        )
        for a in study.applications
    ]


def _means(study: MdmStudy) -> list[MeanPart]:
    kinds: tuple[tuple[str, bool, Mapping[str, float]], ...] = (
        ("not divergent", False, NMD_ERRORS),
        ("divergent", True, MD_ERRORS),
    )
    return [
        MeanPart(kind, {s: study.mean_error(s, names) for s in _schemes(study)}, dict(stated))
        for kind, is_divergent, stated in kinds
        if (names := study.divergent(is_divergent))
    ]


def _sweep(study: MdmStudy, sweep: Sweep) -> SweepPart:
    steps = [
        SweepStep(
            value,
            {s: study.mean_error(s, study.divergent(), settings) for s in _schemes(study)},
            dict(SWEEP_ERRORS.get((sweep.figure, value), {})),
        )
        for value, settings in zip(sweep.values, sweep.settings, strict=True)
    ]
    return SweepPart(sweep.figure, sweep.path, sweep.title, ENTRIES[sweep.path].unit, steps)


def _grid(study: MdmStudy, figure: str, name: str) -> GridPart:
    base = study.reference(name) or study.forecasts[Point(MDM, name)].ipc

    def row(scheme: str, bandwidth: float) -> list[float]:
        points = (Point(scheme, name, grid_settings(n, bandwidth)) for n in GRID_SMS)
        return [study.forecasts[point].ipc / base for point in points]

    performance = {s: [row(s, bandwidth) for bandwidth in GRID_BANDWIDTHS] for s in _BOTH}
    return GridPart(figure, name, list(GRID_SMS), list(GRID_BANDWIDTHS), performance)


def _clocks(study: MdmStudy) -> ClocksPart:
    rows = [ClockPart(name, _slowdowns(study, name)) for name in study.divergent()]
    ways = list(rows[0].slowdown)
    means = {way: mean([row.slowdown[way] for row in rows]) or 0.0 for way in ways}
    errors = {
        way: mean(
            [study.slowdown_error(row.application, row.slowdown[way], FAST_CLOCK) for row in rows]
        )
        for way in ways
    }
    return ClocksPart(SLOW_HZ, FAST_HZ, rows, means, errors, dict(CLOCK_ERRORS))


def _slowdowns(study: MdmStudy, application: str) -> dict[str, float]:
    """By scheme, and by scaling the stalls of the fast run."""
    found = {s: study.slowdown(s, application, FAST_CLOCK) for s in _BOTH}
    return found | {STALLS_SCALED: study.slowdown_of_stalls(application, FAST_HZ / SLOW_HZ)}


def _stacks(study: MdmStudy) -> list[StackPart]:
    found = []
    for scale in STACK_SCALES:
        for scheme in _BOTH:
            forecast = study.forecasts[Point(scheme, STACKED, stack_settings(scale))]
            parts = dict(forecast.stack)
            found.append(StackPart(scheme, scale, sum(parts.values()), parts))
    return found


def _streaming(study: MdmStudy, name: str) -> StreamingPart:
    errors: Errors = {s: study.error(s, name, STREAMING_L1) for s in _BOTH}
    return StreamingPart(name, _ipcs(study, name, _BOTH, STREAMING_L1), errors)
