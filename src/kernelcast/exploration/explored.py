"""What a sweep tells: every launch's time in every configuration, and what follows from that.

best          the least time; of several programs, the least geometric mean of their times
Pareto front  no other configuration is as fast with as little of every swept number
sensitivity   at each value of an axis, the geometric mean of the times over all other axes;
              elasticity is the slope of its logarithm over that of the number
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernelcast.exploration.design_space import DesignSpace
from kernelcast.exploration.sweep import DesignSweep
from kernelcast.profiling.profile import Floats

_COSTS_LESS_ABOVE = ("cycles", "s", "slots")
"""Units of numbers that are the dearer the smaller they are: waits."""


@dataclass(frozen=True)
class ExploredModel:
    """What one model says of one program, or of all together, over the whole space.

    `times_s` has an element per configuration: the sum of the launches, each as often as it
    repeats, NaN where one cannot run. Of all programs together (`program` is None) it is the
    geometric mean. `nominal_s` is the same on the machine as it is, NaN where that is not known.
    """

    program: str | None
    model: str
    space: DesignSpace
    times_s: Floats
    nominal_s: float

    def fastest(self, count: int) -> NDArray[np.int64]:
        """The configurations of least time, those that cost less first where times are equal."""
        count = min(count, int(np.isfinite(self.times_s).sum()))
        keys = [*reversed(_costs(self.space)), self.times_s]
        return np.lexsort(keys)[:count]

    @cached_property
    def is_on_front(self) -> NDArray[np.bool_]:
        """By configuration, whether it is on the Pareto front of time and every swept number."""
        shape = self.space.shape
        # Along each axis what costs less comes first; then the least time of all that cost less.
        order = np.ix_(*(np.argsort(_cost_of(a.unit, np.array(a.values))) for a in self.space.axes))
        times = np.where(np.isnan(self.times_s), np.inf, self.times_s).reshape(shape)[order]
        least = times
        for axis in range(times.ndim):
            least = np.minimum.accumulate(least, axis)
        others = np.full(shape, np.inf)
        for axis in range(times.ndim):
            above = [slice(None)] * times.ndim
            below = [slice(None)] * times.ndim
            above[axis], below[axis] = slice(1, None), slice(None, -1)
            np.minimum(others[tuple(above)], least[tuple(below)], out=others[tuple(above)])
        front = np.empty(shape, bool)
        front[order] = (times < others) & np.isfinite(times)
        return front.ravel()

    def mean_times_s(self, axis: int) -> Floats:
        """At each value of an axis, the geometric mean over all other axes where all can run."""
        with np.errstate(invalid="ignore"):
            logarithms = np.log(np.moveaxis(self.times_s.reshape(self.space.shape), axis, 0))
        rows = logarithms.reshape(logarithms.shape[0], -1)
        runs = ~np.isnan(rows).any(axis=0)
        if not runs.any():
            return np.full(len(rows), np.nan)
        return np.asarray(np.exp(rows[:, runs].mean(axis=1)), np.float64)

    def elasticity(self, axis: int) -> float:
        """Least-squares slope of ln time over ln number; NaN where an axis has one value or a 0."""
        values = np.array(self.space.axes[axis].values, np.float64)
        times = self.mean_times_s(axis)
        if len(values) < 2 or (values <= 0).any() or np.isnan(times).any():
            return float("nan")
        x = np.log(values) - np.log(values).mean()
        return float(x @ np.log(times) / (x @ x))


@dataclass(frozen=True)
class Exploration:
    """A sweep with all its times: `times_s[row, configuration]` in seconds, NaN where none.

    `refusals` says why launches cannot run, and in how many predictions. `computed` counts the
    predictions that were made now; the others were in the file of results.
    """

    sweep: DesignSweep
    times_s: Floats
    nominal_s: Floats
    refusals: tuple[tuple[str, int], ...]
    computed: int
    results: Path | None = None

    @property
    def space(self) -> DesignSpace:
        """The design space."""
        return self.sweep.space

    @cached_property
    def numbers(self) -> dict[str, Floats]:
        """By path, the value in every configuration."""
        return self.space.numbers(np.arange(len(self.space)))

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The numbers at whose values every launch takes the same time by every model."""
        shape = self.space.shape
        times = self.times_s.reshape(-1, *shape)
        flat = [
            np.array_equal(times, times.take([0], at).repeat(length, at), equal_nan=True)
            for at, length in enumerate(shape, 1)
        ]
        axes = zip(self.space.axes, flat, strict=True)
        return tuple(axis.path for axis, same in axes if same and len(axis.values) > 1)

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of what was explored."""
        return tuple(dict.fromkeys(row.program for row in self.sweep.rows))

    @property
    def models(self) -> tuple[str, ...]:
        """The models, with their parameters."""
        return tuple(dict.fromkeys(row.model_label for row in self.sweep.rows))

    def program(self, program: str, model: str) -> ExploredModel:
        """One model's times of one program."""
        rows = [
            at
            for at, row in enumerate(self.sweep.rows)
            if (row.program, row.model_label) == (program, model)
        ]
        repeats = np.array([self.sweep.rows[at].case.launch.repeat for at in rows], np.float64)
        return ExploredModel(
            program=program,
            model=model,
            space=self.space,
            times_s=repeats @ self.times_s[rows],
            nominal_s=float(repeats @ self.nominal_s[rows]),
        )

    def all_programs(self, model: str) -> ExploredModel:
        """One model's geometric mean over all programs."""
        each = [self.program(program, model) for program in self.programs]
        return ExploredModel(
            program=None,
            model=model,
            space=self.space,
            times_s=np.exp(np.mean([np.log(e.times_s) for e in each], axis=0)),
            nominal_s=float(np.exp(np.mean([np.log(e.nominal_s) for e in each]))),
        )

    def bottleneck(self, found: ExploredModel, configuration: int) -> str:
        """What binds the launch that takes longest; empty for all programs together."""
        rows = [
            at
            for at, row in enumerate(self.sweep.rows)
            if (row.program, row.model_label) == (found.program, found.model)
        ]
        if not rows:
            return ""
        repeats = [self.sweep.rows[at].case.launch.repeat for at in rows]
        spent = self.times_s[rows, configuration] * repeats
        return self.sweep.bottleneck(rows[int(np.argmax(spent))], configuration)


def _costs(space: DesignSpace) -> list[Floats]:
    """By axis, what its number costs in every configuration, in some unit."""
    numbers = space.numbers(np.arange(len(space)))
    return [_cost_of(axis.unit, numbers[axis.path]) for axis in space.axes]


def _cost_of(unit: str, values: Floats) -> Floats:
    return -values if unit in _COSTS_LESS_ABOVE else values
