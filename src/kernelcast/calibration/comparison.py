"""What was measured on a GPU beside what a machine file says of it."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.calibration.calibrate import Calibration
from kernelcast.machines.machine import Machine, Quantity

DIFFERS = 0.10
"""Relative difference from which a number is said to differ."""


@dataclass(frozen=True, slots=True)
class LiteratureComparison:
    """A number twice; `ratio` is that of `measured` to `stated`."""

    path: str
    measured: Quantity
    stated: Quantity
    ratio: float

    @property
    def differs(self) -> bool:
        """Whether they differ by more than a tenth, of the smaller one."""
        return max(self.ratio, 1 / self.ratio) > 1 + DIFFERS


def compare_with(calibration: Calibration, machine: Machine) -> dict[str, LiteratureComparison]:
    """Every finding that the machine has a number for, by path, in the order of the findings."""
    compared = {}
    for finding in calibration.findings:
        stated = machine.quantities.get(finding.path)
        if stated is None or isinstance(stated.value, tuple) or not stated.value:
            continue
        measured = finding.quantity.value
        if not isinstance(measured, tuple) and measured > 0:
            ratio = measured / stated.value
            compared[finding.path] = LiteratureComparison(
                finding.path, finding.quantity, stated, ratio
            )
    return compared
