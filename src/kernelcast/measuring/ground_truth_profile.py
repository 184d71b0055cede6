"""What a profiler counted of the kernels with known results, as typed records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from kernelcast.ir import Launch
from kernelcast.measuring.ground_truth_samples import (
    KernelEntry,
    Launched,
    launch_of,
    read_samples,
)
from kernelcast.measuring.harness.profile import SCHEMA


@dataclass(frozen=True)
class Profiled:
    """One configuration of a kernel: its launch, and the counters by the profiler's names."""

    kernel: str
    configuration: int
    launch: Launch
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class GroundTruthProfile:
    """What was counted on a GPU, and why the rest was not: one line each."""

    device: Mapping[str, Any]
    date: str
    profiled: tuple[Profiled, ...]
    missing: tuple[str, ...]


class _ProfiledSample(Launched, frozen=True, kw_only=True):
    """A sample: the launch, and the numbers by the profiler's names."""

    metrics: Annotated[dict[str, float], msgspec.Meta(min_length=1)]


def read_profile(path: str) -> GroundTruthProfile:
    """Read what the profiling command wrote; InputError or ParseError where it is none of that.

    A configuration counts as missing where the suite of this version launches it differently.
    """
    found = read_samples(path, SCHEMA, KernelEntry[_ProfiledSample], _profiled)
    return GroundTruthProfile(found.device, found.date, found.records, found.missing)


def _profiled(name: str, _: KernelEntry[_ProfiledSample], sample: _ProfiledSample) -> Profiled:
    return Profiled(name, sample.configuration, launch_of(name, sample), sample.metrics)
