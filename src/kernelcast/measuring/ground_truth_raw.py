"""The raw file of the kernels with known results, as typed records."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelcast.ir import Launch
from kernelcast.measuring.ground_truth_samples import MissingError, launch_of, read_samples
from kernelcast.measuring.harness.ground_truth import RIGHT, SCHEMA


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of the same launch, repeated."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        """The shortest."""
        return min(self.seconds)

    @property
    def most(self) -> float:
        """The longest."""
        return max(self.seconds)


@dataclass(frozen=True)
class Measured:
    """One configuration of a kernel on a GPU: its launch, and its times.

    `cold` was timed after the L2 cache had been displaced, `warm` after a launch of the same.
    `empty_s` is the median time of a launch that does nothing.
    """

    kernel: str
    configuration: int
    launch: Launch
    cold: Times
    warm: Times
    empty_s: float
    clock_hz: float
    registers: int
    blocks_per_sm: int


@dataclass(frozen=True)
class GroundTruth:
    """What was measured on a GPU, and why the rest was not: one line each."""

    device: Mapping[str, Any]
    date: str
    measured: tuple[Measured, ...]
    missing: tuple[str, ...]


def read_ground_truth(path: str) -> GroundTruth:
    """Read a raw file; InputError or ParseError where it is none.

    A configuration counts as missing where its result was wrong, or where the suite of this
    version launches it differently.
    """
    found = read_samples(path, SCHEMA, _measured)
    return GroundTruth(found.device, found.date, found.records, found.missing)


def _measured(name: str, entry: Mapping[str, Any], sample: Mapping[str, Any]) -> Measured:
    number = int(sample["configuration"])
    if sample["result"] != RIGHT:
        raise MissingError(f"{sample['result']}: {sample['error']}")
    return Measured(
        kernel=name,
        configuration=number,
        launch=launch_of(name, number, sample),
        cold=_times(sample["cold_s"]),
        warm=_times(sample["warm_s"]),
        empty_s=_times(entry["empty_s"]).median,
        clock_hz=float(sample["clock_hz"]),
        registers=int(sample["registers"]),
        blocks_per_sm=int(sample["blocks_per_sm"]),
    )


def _times(seconds: Sequence[Any]) -> Times:
    numbers = tuple(float(s) for s in seconds)
    if not numbers or not all(0 < s < float("inf") for s in numbers):
        raise ValueError(f"{seconds} are no times")
    return Times(numbers)
