"""What a profiler counted of the kernels with known results, as typed records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelcast.ir import Launch
from kernelcast.measuring.ground_truth_samples import launch_of, read_samples
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


def read_profile(path: str) -> GroundTruthProfile:
    """Read what the profiling program wrote; InputError or ParseError where it is none of that.

    A configuration counts as missing where the suite of this version launches it differently.
    """
    found = read_samples(path, SCHEMA, lambda name, _, sample: _profiled(name, sample))
    return GroundTruthProfile(found.device, found.date, found.records, found.missing)


def _profiled(name: str, sample: Mapping[str, Any]) -> Profiled:
    number = int(sample["configuration"])
    launch = launch_of(name, number, sample)
    metrics = {str(metric): float(value) for metric, value in sample["metrics"].items()}
    if not metrics or not all(map(math.isfinite, metrics.values())):
        raise ValueError("no metrics")
    return Profiled(name, number, launch, metrics)
