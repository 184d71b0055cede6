"""What `explore` answers: the fastest configurations, the Pareto front, what every number does."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from kernelcast.exploration.explored import Exploration, ExploredModel
from kernelcast.reporting.documents.base import Natural, NotNegative, Positive, Share, json_schema

_SCHEMA: Literal["kernelcast/explore/1"] = "kernelcast/explore/1"


class SweptNumber(Struct, frozen=True):
    """An axis: a number of the machine by its path, its unit and the values it took.

    `nominal` is the machine's own value, null where it has none.
    """

    path: str
    unit: str
    values: list[float]
    nominal: float | None


class SweptLaunch(Struct, frozen=True):
    """A launch that was predicted in every configuration."""

    program: str
    kernel: str
    launch: str
    repeat: Positive


class ConfigurationTime(Struct, frozen=True):
    """One configuration: its numbers in the order of the axes, its time, and what binds there.

    `speedup` is over the machine as it is, null where that is not known; `bottleneck` is that of
    the launch that takes longest, null of several programs together.
    """

    numbers: list[float]
    time_s: NotNegative
    speedup: NotNegative | None
    bottleneck: str | None


class Sensitivity(Struct, frozen=True):
    """What one axis does: at each of its values the geometric mean of the times over all others.

    Only over those where the launch can run at every value; null where there are none.
    `elasticity` is the slope of ln time over ln number: -1 where the time is inverse to it.
    """

    path: str
    times_s: list[NotNegative | None]
    elasticity: float | None


class ExploredResult(Struct, frozen=True):
    """What one model says of one program; of the geometric mean over all where that is null.

    `front_size` counts the configurations of the Pareto front, of which `front` are the fastest;
    `can_run` is the share of configurations in which all launches can.
    """

    program: str | None
    model: str
    nominal_time_s: NotNegative | None
    can_run: Share
    best: list[ConfigurationTime]
    front_size: Natural
    front: list[ConfigurationTime]
    sensitivities: list[Sensitivity]


class Refusal(Struct, frozen=True):
    """Why launches cannot run, and in how many predictions."""

    reason: str
    predictions: Positive


class ExploreDocument(Struct, frozen=True):
    """All that `explore --json` prints.

    `predictions` are those of all launches, models and configurations, `computed` those that were
    made now and not found in the file of results.
    """

    schema: Literal["kernelcast/explore/1"]
    gpu: str
    axes: list[SweptNumber]
    configurations: Positive
    launches: list[SweptLaunch]
    models: list[str]
    predictions: Positive
    computed: Natural
    results_file: str | None
    results: list[ExploredResult]
    refusals: list[Refusal]
    assumptions: list[str]


def explore_document(exploration: Exploration, top: int) -> ExploreDocument:
    """An exploration, `top` configurations of every list."""
    space = exploration.space
    own = [space.machine.get(axis.path) for axis in space.axes]
    launches = {
        (row.program, id(row.case)): SweptLaunch(
            row.program, row.kernel, str(row.case.launch), row.case.launch.repeat
        )
        for row in exploration.sweep.rows
        if row.model_label == exploration.models[0]
    }
    return ExploreDocument(
        schema=_SCHEMA,
        gpu=space.machine.name,
        axes=[
            SweptNumber(axis.path, axis.unit, list(axis.values), nominal)
            for axis, nominal in zip(space.axes, own, strict=True)
        ],
        configurations=len(space),
        launches=list(launches.values()),
        models=list(exploration.models),
        predictions=exploration.sweep.size,
        computed=exploration.computed,
        results_file=str(exploration.results) if exploration.results else None,
        results=[_result(exploration, found, top) for found in _found(exploration)],
        refusals=[Refusal(reason, count) for reason, count in exploration.refusals],
        assumptions=_assumptions(exploration),
    )


def _assumptions(exploration: Exploration) -> list[str]:
    sized = any(row.case.sized_from is not None for row in exploration.sweep.rows)
    idle = [f"{path} changes no forecast here" for path in exploration.without_effect]
    return [*([_SIZED] if sized else []), *idle]


_SIZED = (
    "caches that start empty are simulated with the capacities of the machine as it is; what those "
    "of others hold follows from stack distances"
)


def explore_schema() -> dict[str, Any]:
    """The JSON Schema of `explore --json`."""
    return json_schema(ExploreDocument, _SCHEMA, "kernelcast explore --json")


def _found(exploration: Exploration) -> list[ExploredModel]:
    found = [exploration.program(p, m) for m in exploration.models for p in exploration.programs]
    if len(exploration.programs) > 1:
        found += [exploration.all_programs(model) for model in exploration.models]
    return found


def _result(exploration: Exploration, found: ExploredModel, top: int) -> ExploredResult:
    front = np.flatnonzero(found.is_on_front)
    fastest_of_front = front[np.argsort(found.times_s[front], kind="stable")][:top]
    return ExploredResult(
        program=found.program,
        model=found.model,
        nominal_time_s=_known(found.nominal_s),
        can_run=float(np.isfinite(found.times_s).mean()),
        best=[_time(exploration, found, int(n)) for n in found.fastest(top)],
        front_size=len(front),
        front=[_time(exploration, found, int(n)) for n in fastest_of_front],
        sensitivities=[
            Sensitivity(
                axis.path,
                [_known(t) for t in found.mean_times_s(at).tolist()],
                _known(found.elasticity(at)),
            )
            for at, axis in enumerate(found.space.axes)
        ],
    )


def _time(exploration: Exploration, found: ExploredModel, configuration: int) -> ConfigurationTime:
    time_s = float(found.times_s[configuration])
    return ConfigurationTime(
        numbers=[float(column[configuration]) for column in exploration.numbers.values()],
        time_s=time_s,
        speedup=_known(found.nominal_s / time_s),
        bottleneck=exploration.bottleneck(found, configuration) or None,
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
