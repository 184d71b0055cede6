"""The applications of Table IV by the models of Table V on all machines of the figures.

    IPC = sum over kernels of #Instructions / sum over kernels of cycles      section III-C
    Error = |IPC_model - IPC_observed| / IPC_observed                         (11)

Where nothing was observed, MDM stands in its place, and the error is how far a model is from MDM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelcast.execution.trace import Progress
from kernelcast.exploration.dvfs import SM_CLOCK, StallScaling, stall_scaling
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.machines.loader import apply_overrides
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Case, Model
from kernelcast.profiling.profile import MOST_DPKI
from kernelcast.validation.mdm.applications import Application, paper_machine
from kernelcast.validation.mdm.observed import ObservedIpc, observed_ipc
from kernelcast.validation.mdm.points import (
    FAST_CLOCK,
    SLOW_HZ,
    TABLE_III,
    Point,
    Settings,
    needed_points,
    observable_points,
)
from kernelcast.validation.mdm.schemes import MDM, SIMULATION, TableFive, table_v

_EXECUTING = 0.5
"""The share of the work that is done when all kernels are executed, for the bar of progress."""


@dataclass(frozen=True)
class ApplicationForecast:
    """All kernels of an application together.

    `ipc` counts warp instructions per cycle of the whole chip; `stack` divides the cycles that an
    SM takes for each of its warp instructions among the terms of the model, and sums to SMs / ipc.
    """

    ipc: float
    time_s: float
    stack: Mapping[str, float]


@dataclass(frozen=True)
class MdmStudy:
    """What the models say at every point, and what of it was observed."""

    applications: tuple[Application, ...]
    dpki: Mapping[str, float]
    forecasts: Mapping[Point, ApplicationForecast] = field(repr=False)
    observed: ObservedIpc | None = None
    stalls: Mapping[str, tuple[StallScaling, ...]] = field(default_factory=dict, repr=False)

    def divergent(self, is_divergent: bool = True) -> tuple[str, ...]:
        """Names of the applications that the paper calls so."""
        return tuple(a.name for a in self.applications if a.is_divergent == is_divergent)

    def is_divergent(self, application: str) -> bool:
        """Whether its loads diverge, by their number (section I)."""
        return self.dpki[application] > MOST_DPKI

    def reference(self, application: str, settings: Settings = TABLE_III) -> float | None:
        """The observed IPC, that of MDM where nothing was observed at all."""
        if self.observed is None:
            return self.forecasts[Point(MDM, application, settings)].ipc
        return self.observed(application, settings)

    def error(self, scheme: str, application: str, settings: Settings = TABLE_III) -> float | None:
        """Equation 11; None where this was not observed."""
        reference = self.reference(application, settings)
        if reference is None:
            return None
        return abs(self.forecasts[Point(scheme, application, settings)].ipc / reference - 1)

    def mean_error(
        self, scheme: str, applications: Sequence[str], settings: Settings = TABLE_III
    ) -> float | None:
        """The mean over applications; None where one of them was not observed, or none is there."""
        return mean([self.error(scheme, name, settings) for name in applications])

    def slowdown(self, scheme: str, application: str, fast: Settings) -> float:
        """Time on the machine of Table III over the time with the clock of `fast`."""
        slow = self.forecasts[Point(scheme, application)]
        return slow.time_s / self.forecasts[Point(scheme, application, fast)].time_s

    def slowdown_of_stalls(self, application: str, slower: float) -> float:
        """The same by scaling the stalls that MDM sees at a clock `slower` times as fast."""
        runs = self.stalls[application]
        return sum(run.time_s(slower) for run in runs) / sum(run.time_s(1.0) for run in runs)

    def slowdown_error(self, application: str, slowdown: float, fast: Settings) -> float | None:
        """How far a slowdown is from that of the reference; None where that was not observed."""
        slow_ipc, fast_ipc = (self.reference(application, s) for s in (TABLE_III, fast))
        if slow_ipc is None or fast_ipc is None:
            return None
        observed = fast_ipc / slow_ipc * dict(fast)[SM_CLOCK] / SLOW_HZ
        return abs(slowdown / observed - 1)


def mean(values: Sequence[float | None]) -> float | None:
    """The arithmetic mean; None where a value is missing or there is none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def study_mdm(
    applications: Sequence[Application],
    *,
    observed: ObservedIpc | Model | None = None,
    models: TableFive | None = None,
    build: Build | None = None,
    progress: Progress | None = None,
) -> MdmStudy:
    """Execute every application once and forecast it at all points of the figures.

    `models` are those of Table V where none are given. Where a model is `observed`, as the timing
    simulation, its IPC at every point is what they are held to. Raises as `cases_of_workload` does,
    and MissingNumberError where a model needs a number that Table III lacks.
    """
    chosen = table_v() if models is None else models
    chip = paper_machine()
    cases: dict[str, tuple[Case, ...]] = {}
    for at, application in enumerate(applications, 1):
        cases[application.name] = cases_of_workload(application.workload(), [chip], build=build)
        _tell(progress, _EXECUTING * at / len(applications))
    divergent = {a.name: cases[a.name] for a in applications if a.is_divergent}
    points = needed_points(applications, tuple(chosen))
    simulated: tuple[Point, ...] = ()
    every = dict(chosen)
    if observed is not None and not callable(observed):
        every[SIMULATION] = observed
        simulated = observable_points(applications, SIMULATION)
    forecasts = _forecasts((*points, *simulated), cases, every, chip, progress)
    known = {(p.application, p.settings): forecasts.pop(p).ipc for p in simulated}
    return MdmStudy(
        tuple(applications),
        {name: _dpki(own) for name, own in cases.items()},
        forecasts,
        observed if callable(observed) else observed_ipc(known) if known else None,
        {name: _stalls(own, chosen[MDM], chip) for name, own in divergent.items()},
    )


def _stalls(cases: Sequence[Case], model: Model, chip: Machine) -> tuple[StallScaling, ...]:
    """What a model sees of every kernel at the fast clock, to be scaled to the slow one."""
    fast = _moved(chip, FAST_CLOCK)
    return tuple(
        stall_scaling(model.predict(case.on(fast))).repeated(case.launch.repeat) for case in cases
    )


def _moved(chip: Machine, settings: Settings) -> Machine:
    return apply_overrides(chip, [f"{path}={value:.17g}" for path, value in settings])


def _forecasts(
    points: Sequence[Point],
    cases: Mapping[str, Sequence[Case]],
    models: TableFive,
    chip: Machine,
    progress: Progress | None,
) -> dict[Point, ApplicationForecast]:
    """Machine by machine, so that what a case finds out on one serves all models."""
    found = {}
    for at, settings in enumerate(machines := dict.fromkeys(p.settings for p in points), 1):
        here = _moved(chip, settings)
        moved = {name: [case.on(here) for case in own] for name, own in cases.items()}
        for point in points:
            if point.settings == settings:
                found[point] = _forecast(moved[point.application], models[point.scheme], here)
        _tell(progress, _EXECUTING + (1 - _EXECUTING) * at / len(machines))
    return found


def _forecast(cases: Sequence[Case], model: Model, chip: Machine) -> ApplicationForecast:
    instructions = cycles = time_s = 0.0
    parts: dict[str, float] = {}
    for case in cases:
        prediction, repeat = model.predict(case), case.launch.repeat
        instructions += repeat * case.profile.total.warp
        cycles += repeat * prediction.cycles
        time_s += repeat * prediction.time_s
        for part in prediction.breakdown:
            parts[part.name] = parts.get(part.name, 0.0) + repeat * part.cycles
    sms = chip.number("sm.count", "the cycles of an instruction")
    stack = {name: sms * part / instructions for name, part in parts.items()}
    return ApplicationForecast(instructions / cycles, time_s, stack)


def _dpki(cases: Sequence[Case]) -> float:
    """Divergent loads of all kernels per 1000 of their instructions."""
    instructions = [case.launch.repeat * case.profile.total.warp for case in cases]
    loads = [case.profile.dpki * n for case, n in zip(cases, instructions, strict=True)]
    return sum(loads) / sum(instructions)


def _tell(progress: Progress | None, share: float) -> None:
    if progress:
        progress(share)
