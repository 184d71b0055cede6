"""A design space: one chip with some of its numbers swept, every value with every other.

Configurations are numbered; the last axis varies fastest, as in an array of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import InputError, NotFoundError
from kernelcast.hierarchy.rules import access_rules
from kernelcast.machines.cache_shapes import SHAPES, check_shape
from kernelcast.machines.machine import Machine, Provenance, Quantity
from kernelcast.machines.schema import ENTRIES, QuantityRule
from kernelcast.profiling.profile import Floats

Indices = NDArray[np.int64]

_MOST_VALUES = 1_000_000
"""Of one axis: more are a mistyped step."""
_MOST_CONFIGURATIONS = 100_000_000
"""Whose times a computer holds."""
_ROUNDING = 1e-9
_CHOOSE_COUNTS = ("coalescing.lanes", "shared.lanes_per_request", "l1.tags")
"""Numbers that `access_rules` reads: by them an execution chooses what it counts."""


@dataclass(frozen=True)
class Axis:
    """One number of the machine, by its path, and its values in the schema's unit."""

    path: str
    values: tuple[float, ...]

    @property
    def unit(self) -> str:
        """The unit of the values."""
        return ENTRIES[self.path].unit


def read_axis(text: str) -> Axis:
    """The axis of `PATH=START:STOP:STEP`, both ends included, or of `PATH=VALUE,VALUE...`.

    Raises as `axis_of` does, and InputError where there are no values.
    """
    path, equals, given = (part.strip() for part in text.partition("="))
    where = f"--sweep {text}"
    if not equals or not given:
        raise InputError(
            "no values", where=where, hint="write PATH=START:STOP:STEP or PATH=VALUE,VALUE"
        )
    return axis_of(path, given, where)


def axis_of(path: str, given: str, where: str) -> Axis:
    """The axis of a number that takes the values of `START:STOP:STEP` or `VALUE,VALUE...`.

    Raises
    ------
    NotFoundError
        If a path is not in the schema; carries the nearest ones.
    InputError
        If a text or value cannot be read, or a value is out of range.
    """
    entry = ENTRIES.get(path)
    if entry is None:
        raise NotFoundError("machine number", path, ENTRIES, where=where)
    if entry.is_list:
        raise InputError(f"{path} is a list of numbers", where=where, hint="set it with --set")
    values = _range(given, where) if ":" in given else _list(given, where)
    return Axis(path, tuple(_checked(entry, value, where) for value in dict.fromkeys(values)))


def _checked(entry: QuantityRule, value: float, where: str) -> float:
    checked = entry.check(value, where)
    assert not isinstance(checked, tuple)
    return checked


def _list(text: str, where: str) -> list[float]:
    return [_number(part, where) for part in text.split(",")]


def _range(text: str, where: str) -> list[float]:
    parts = [_number(part, where) for part in text.split(":")]
    if len(parts) != 3 or parts[2] <= 0 or parts[1] < parts[0]:
        raise InputError(
            f"{text!r} is no range", where=where, hint="write START:STOP:STEP, upwards"
        )
    start, stop, step = parts
    steps = (stop - start) / step + _ROUNDING
    if steps >= _MOST_VALUES:
        raise InputError(
            f"{steps:.0f} values", where=where, hint=f"take steps that give {_MOST_VALUES} at most"
        )
    return [start + step * at for at in range(int(steps) + 1)]


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{text!r} is not a number", where=where, hint="write it as 132 or 2.0e12")
    return value


@dataclass(frozen=True)
class DesignSpace:
    """A machine and the axes along which its numbers are replaced."""

    machine: Machine
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values every axis has."""
        return tuple(len(axis.values) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def _quantities(self) -> tuple[tuple[Quantity, ...], ...]:
        return tuple(
            tuple(Quantity(v, axis.unit, Provenance.ASSUMED, "swept") for v in axis.values)
            for axis in self.axes
        )

    def machine_at(self, configuration: int) -> Machine:
        """The machine of one configuration."""
        places = np.unravel_index(configuration, self.shape)
        return self.machine.with_quantities(
            {
                axis.path: quantities[int(place)]
                for axis, quantities, place in zip(self.axes, self._quantities, places, strict=True)
            }
        )

    def numbers(self, configurations: Indices) -> dict[str, Floats]:
        """By path, the value that the number has in each of the configurations."""
        places = np.unravel_index(configurations, self.shape)
        return {
            axis.path: np.array(axis.values, np.float64)[place]
            for axis, place in zip(self.axes, places, strict=True)
        }


def design_space(machine: Machine, axes: Sequence[Axis]) -> DesignSpace:
    """The space of all combinations.

    Raises
    ------
    InputError
        If there is no axis, or two are of one number, or there are too many configurations, or
        launches are counted otherwise in some, or ways do not divide the capacity of their cache.
    """
    if not axes:
        raise InputError("nothing is swept", hint="give --sweep PATH=START:STOP:STEP")
    paths = [axis.path for axis in axes]
    if twice := sorted({path for path in paths if paths.count(path) > 1}):
        raise InputError(f"{twice[0]} is swept twice", hint="give all of its values at once")
    count = math.prod(len(axis.values) for axis in axes)
    if count > _MOST_CONFIGURATIONS:
        raise InputError(
            f"{count:.3g} configurations, more than {_MOST_CONFIGURATIONS:.0e}",
            where="--sweep",
            hint="take wider steps",
        )
    for axis in axes:
        _check_counts(machine, axis)
    _check_caches(machine, axes)
    return DesignSpace(machine, tuple(axes))


def _check_counts(machine: Machine, axis: Axis) -> None:
    """Refuse a number at some value of which another execution would be needed."""
    if axis.path not in _CHOOSE_COUNTS:
        return
    for value in axis.values:
        quantity = Quantity(value, axis.unit, Provenance.ASSUMED, "swept")
        if access_rules(machine.with_quantities({axis.path: quantity})) != access_rules(machine):
            raise InputError(
                f"at {axis.path} {value:g} other things are counted of a launch than on "
                f"{machine.name}",
                where=f"--sweep {axis.path}",
                hint="set it with --set, for one value at a time",
            )


def _check_caches(machine: Machine, axes: Iterable[Axis]) -> None:
    """Refuse swept caches that cannot be cut into sets of whole lines."""
    swept = {axis.path: axis for axis in axes}
    for paths in SHAPES:
        named = [path for path in paths if path in swept]
        known = [swept[p].values if p in swept else machine.numbers(p) for p in paths]
        for numbers in product(*known) if named else ():
            check_shape(dict(zip(paths, numbers, strict=True)), f"--sweep {named[0]}")
