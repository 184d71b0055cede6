"""Two measurements of one GPU: which numbers come back, and which do not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernelcast.calibration.calibrate import Calibration
from kernelcast.errors import InputError
from kernelcast.machines.machine import Provenance
from kernelcast.measuring.raw import Raw

TOLERANCE = 0.02
"""Relative difference up to which a number has come back."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A number of two calibrations, both in `unit`."""

    path: str
    unit: str
    first: float
    second: float

    @property
    def ratio(self) -> float:
        """The second over the first; 1 where both are zero."""
        if self.first == self.second:
            return 1.0
        return self.second / self.first if self.first else math.inf

    @property
    def distance(self) -> float:
        """How far they are apart, alike in both directions: |ln ratio|."""
        return abs(math.log(self.ratio)) if self.ratio > 0 else math.inf

    def is_within(self, tolerance: float = TOLERANCE) -> bool:
        """Whether neither is above the other by more than that share."""
        return self.distance <= math.log1p(tolerance)


@dataclass(frozen=True)
class Repeats:
    """All numbers that both calibrations have, and those that one alone has.

    What the driver states is left out: it is no measurement.
    """

    numbers: tuple[Repeat, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    def apart(self, tolerance: float = TOLERANCE) -> tuple[Repeat, ...]:
        """The numbers that have not come back, the farthest first."""
        found = [one for one in self.numbers if not one.is_within(tolerance)]
        return tuple(sorted(found, key=lambda one: -one.distance))


def compare(first: Calibration, second: Calibration) -> Repeats:
    """Every measured or fitted number of two calibrations, in the order of the machine file.

    InputError where they are not of one kind of GPU.
    """
    _check_same_gpu(first.raw, second.raw)
    one, other = _numbers(first), _numbers(second)
    return Repeats(
        tuple(
            Repeat(path, unit, value, other[path][0])
            for path, (value, unit) in one.items()
            if path in other
        ),
        tuple(path for path in one if path not in other),
        tuple(path for path in other if path not in one),
    )


def _numbers(calibration: Calibration) -> Mapping[str, tuple[float, str]]:
    return {
        finding.path: (float(finding.quantity.value), finding.quantity.unit)
        for finding in calibration.findings
        if finding.quantity.kind is not Provenance.STATED
        and not isinstance(finding.quantity.value, tuple)
    }


def _check_same_gpu(first: Raw, second: Raw) -> None:
    for key in ("name", "major", "minor", "sm_count"):
        if first.device.get(key) != second.device.get(key):
            raise InputError(
                f"two GPUs: {key} {first.device.get(key)!r} and {second.device.get(key)!r}",
                hint="give two measurements of the same GPU",
            )
