"""The raw file of the kernels with known results, as typed records."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from kernelcast.ir import Launch
from kernelcast.measuring.ground_truth_samples import (
    KernelEntry,
    Launched,
    MissingError,
    launch_of,
    read_samples,
)
from kernelcast.measuring.harness.ground_truth import FAILED, RIGHT, SCHEMA, WRONG

_PositiveSeconds = Annotated[float, msgspec.Meta(gt=0)]
_Series = Annotated[tuple[_PositiveSeconds, ...], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of the same launch, repeated."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)


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


class _Right(Launched, frozen=True, kw_only=True, tag_field="result", tag=RIGHT):
    """A configuration whose result was right: seconds of every launch, and its occupancy."""

    cold_s: _Series
    warm_s: _Series
    clock_hz: float
    registers: int
    blocks_per_sm: int


class _Wrong(Launched, frozen=True, kw_only=True, tag_field="result", tag=WRONG):
    """A configuration whose result was wrong, which was not timed."""

    error: str


class _Failed(Launched, frozen=True, kw_only=True, tag_field="result", tag=FAILED):
    """A configuration that could not be launched."""

    error: str


_RawSample = _Right | _Wrong | _Failed


class _TimedKernel(KernelEntry[_RawSample], frozen=True, kw_only=True):
    """A kernel's configurations; `empty_s` are the seconds of launches that do nothing."""

    empty_s: tuple[_PositiveSeconds, ...] = ()

    def __post_init__(self) -> None:
        if not self.empty_s and any(isinstance(sample, _Right) for sample in self.samples):
            raise ValueError("Object missing required field `empty_s`")


def read_ground_truth(path: str) -> GroundTruth:
    """Read a raw file; InputError or ParseError where it is none.

    A configuration counts as missing where its result was wrong, or where the suite of this
    version launches it differently.
    """
    found = read_samples(path, SCHEMA, _TimedKernel, _measured)
    return GroundTruth(found.device, found.date, found.records, found.missing)


def _measured(name: str, entry: _TimedKernel, sample: _RawSample) -> Measured:
    if not isinstance(sample, _Right):
        raise MissingError(f"{sample.__struct_config__.tag}: {sample.error}")
    return Measured(
        kernel=name,
        configuration=sample.configuration,
        launch=launch_of(name, sample),
        cold=Times(sample.cold_s),
        warm=Times(sample.warm_s),
        empty_s=Times(entry.empty_s).median,
        clock_hz=sample.clock_hz,
        registers=sample.registers,
        blocks_per_sm=sample.blocks_per_sm,
    )
