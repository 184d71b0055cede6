"""What a sweep computes: every launch by every model in every configuration, in chunks.

A chunk is a row, one launch by one model, over some configurations in a row. It is computed whole
by one worker, kept whole in one transaction, and is the same for everyone who sweeps the same.

A model may answer for many configurations at once: it has `swept`, the paths of machine numbers
that it takes as arrays, and `predict_many(case, numbers)`, which gives seconds for each element of
them. Configurations that differ in other numbers are handed over separately. Other models are asked
one configuration after another, by `predict_time(case)` where they have it: seconds and bottleneck,
without the bounds and terms that nobody looks at here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from kernelcast.errors import InputError, MissingNumberError
from kernelcast.exploration.design_space import DesignSpace, Indices
from kernelcast.hierarchy.caches.memory_system import CAPACITIES
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Bottleneck, Case, Model
from kernelcast.models.terms.parameters import model_label
from kernelcast.profiling.profile import Floats

_CHUNK = 256
_CHUNK_OF_ARRAYS = 16_384
"""Configurations of a chunk, where a model is asked one by one and where it takes arrays."""

_MOST_SIMULATED_CAPACITIES = 4
"""Of more, one is simulated, and the others follow from its stack distances."""


@runtime_checkable
class _ArrayModel(Protocol):
    """A model that answers for arrays of machine numbers."""

    swept: ClassVar[frozenset[str]]

    def predict_many(self, case: Case, numbers: Mapping[str, Floats]) -> Floats:
        """Seconds for every element of `numbers`, arrays of one length by paths of `swept`."""
        ...


@runtime_checkable
class TimeModel(Protocol):
    """A model that gives a time faster than all that it can say of it."""

    def predict_time(self, case: Case) -> tuple[float, Bottleneck]:
        """Seconds and bottleneck, as `predict` gives them."""
        ...


@dataclass(frozen=True)
class Program:
    """Launches that run one after another, each as often as it repeats; a file, mostly."""

    name: str
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class SweepRow:
    """One launch of a program, by one model."""

    program: str
    case: Case
    model: Model

    @property
    def kernel(self) -> str:
        """The kernel's name in its source."""
        return self.case.kernel.shown

    @property
    def model_label(self) -> str:
        """The model with those of its parameters that are set."""
        return model_label(self.model)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Configurations `start` to `stop`, exclusive, of one row."""

    row: int
    start: int
    stop: int


@dataclass(frozen=True)
class ChunkTimes:
    """What a chunk came to, by configuration.

    `times_s` is NaN where the launch cannot run, and `refusals` then says why. `bottlenecks` are
    empty where a model does not tell them.
    """

    chunk: Chunk
    times_s: Floats
    bottlenecks: tuple[str, ...]
    refusals: tuple[str, ...]


@dataclass(frozen=True)
class DesignSweep:
    """A design space and the rows that are predicted all over it.

    Every process has its own copy, whose cases keep what their configurations share.
    """

    space: DesignSpace
    rows: tuple[SweepRow, ...]

    @property
    def size(self) -> int:
        """Predictions in all."""
        return len(self.rows) * len(self.space)

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks, those of a row one after another."""
        return tuple(
            Chunk(row, start, min(start + size, len(self.space)))
            for row, size in enumerate(map(self._chunk_size, self.rows))
            for start in range(0, len(self.space), size)
        )

    def _chunk_size(self, row: SweepRow) -> int:
        return _CHUNK_OF_ARRAYS if self._paths_at_once(row) else _CHUNK

    def _paths_at_once(self, row: SweepRow) -> frozenset[str]:
        """The swept numbers that the row's model takes as arrays."""
        if not isinstance(row.model, _ArrayModel):
            return frozenset()
        return row.model.swept & {axis.path for axis in self.space.axes}

    def compute(self, chunk: Chunk) -> ChunkTimes:
        """The times of a chunk; MissingNumberError where the model needs one that is not there."""
        row = self.rows[chunk.row]
        if at_once := self._paths_at_once(row):
            return self._by_arrays(row, chunk, at_once)
        found = [self._one(row, n) for n in range(chunk.start, chunk.stop)]
        times, bottlenecks, refusals = zip(*found, strict=True)
        return ChunkTimes(chunk, np.array(times, np.float64), bottlenecks, refusals)

    def _one(self, row: SweepRow, configuration: int) -> tuple[float, str, str]:
        case = self._case_at(row, configuration)
        try:
            if isinstance(row.model, TimeModel):
                time_s, bottleneck = row.model.predict_time(case)
            else:
                found = row.model.predict(case)
                time_s, bottleneck = found.time_s, found.bottleneck
        except InputError as error:
            return math.nan, "", str(error)
        return time_s, str(bottleneck), ""

    def _case_at(self, row: SweepRow, configuration: int) -> Case:
        return row.case.on(self.space.machine_at(configuration))

    def _by_arrays(self, row: SweepRow, chunk: Chunk, at_once: frozenset[str]) -> ChunkTimes:
        numbers = self.space.numbers(np.arange(chunk.start, chunk.stop))
        times = np.full(chunk.stop - chunk.start, math.nan)
        refusals = np.full(len(times), "", object)
        bottlenecks = np.full(len(times), "", object)
        others = [column for path, column in numbers.items() if path not in at_once]
        for group in _equal(others, len(times)):
            case = self._case_at(row, chunk.start + int(group[0]))
            given = {path: numbers[path][group] for path in at_once}
            assert isinstance(row.model, _ArrayModel)
            try:
                times[group] = row.model.predict_many(case, given)
            except InputError as error:
                refusals[group] = str(error)
        return ChunkTimes(chunk, times, tuple(bottlenecks), tuple(refusals))

    def check(self) -> None:
        """Ask every row once, at the first configuration.

        MissingNumberError where its model needs a number that the machine has not.
        """
        for row in self.rows:
            self._one(row, 0)

    def bottleneck(self, row: int, configuration: int) -> str:
        """What binds one row in one configuration; empty where the launch cannot run."""
        return self._one(self.rows[row], configuration)[1]

    def nominal_s(self) -> Floats:
        """By row, the time on the machine as it is; NaN where that cannot be said."""
        return np.array([_nominal_s(row) for row in self.rows], np.float64)


def _nominal_s(row: SweepRow) -> float:
    try:
        return row.model.predict(row.case).time_s
    except (InputError, MissingNumberError):
        return math.nan


def _equal(columns: Sequence[Floats], length: int) -> list[Indices]:
    """Places at which all columns hold the same values, group by group."""
    if not columns:
        return [np.arange(length)]
    _, group = np.unique(np.stack(columns), axis=1, return_inverse=True)
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def sweep_of(
    space: DesignSpace, programs: Sequence[Program], models: Sequence[Model]
) -> DesignSweep:
    """The sweep of every program by every model, in that order.

    Caches of more than a few capacities are not all simulated: stack distances tell the others.
    """
    sized_from = space.machine if _capacities(space) > _MOST_SIMULATED_CAPACITIES else None
    launches = [
        (program.name, [_sized(case.on(space.machine), sized_from) for case in program.cases])
        for program in programs
    ]
    return DesignSweep(
        space,
        tuple(
            SweepRow(program, case, model)
            for program, cases in launches
            for model in models
            for case in cases
        ),
    )


def _capacities(space: DesignSpace) -> int:
    """How many capacities the caches of a space have, by those of its numbers that set them."""
    return math.prod(len(axis.values) for axis in space.axes if axis.path in CAPACITIES)


def _sized(case: Case, sized_from: Machine | None) -> Case:
    return case if sized_from is None else replace(case, sized_from=sized_from)
