"""Where a launch stands below the roofs of its chip: one point for every level of memory.

S. Williams, A. Waterman, D. Patterson: Roofline. Communications of the ACM 52(4), 2009; one roof
for every level of memory as in A. Ilic, F. Pratas, L. Sousa: Cache-aware Roofline Model. IEEE
Computer Architecture Letters 13(1), 2014. Kernels without floating-point arithmetic are measured in
warp instructions: N. Ding, S. Williams: An Instruction Roofline Model for GPUs. PMBS 2019.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from kernelcast.errors import MissingNumberError
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Case, Prediction
from kernelcast.models.terms.dram import dram_bandwidth
from kernelcast.reporting.documents.base import NotNegative

_BY = "the roofline"
_FLOPS_OF_FMA = 2


class CeilingPart(Struct, frozen=True):
    """A horizontal roof: operations per second that a pipe, or the schedulers, make at the most."""

    name: str
    per_s: NotNegative


class LevelPart(Struct, frozen=True):
    """A sloping roof, and the launch's point below it: the bytes that it moves at this level, the
    bytes per second that the level moves at the most, and operations per byte."""

    name: str
    bytes: NotNegative
    bytes_per_s: NotNegative
    intensity: NotNegative


class RooflinePart(Struct, frozen=True):
    """The launch's operations, how many it makes per second, and the roofs above it."""

    unit: Literal["flop", "warp instruction"]
    operations: NotNegative
    per_s: NotNegative
    ceilings: list[CeilingPart]
    levels: list[LevelPart]


def roofline_part(prediction: Prediction) -> RooflinePart | None:
    """The launch below its roofs; None where nothing is executed or no roof is known."""
    case = prediction.case
    work: Mapping[str, float] = {name: n for name, n in case.profile.flops.items() if n}
    operations = sum(work.values()) or case.profile.total.warp
    levels = [
        LevelPart(name, moved, rate, operations / moved)
        for name, moved, rate in _levels(case)
        if moved and rate
    ]
    ceilings = list(_ceilings(case.machine, work))
    if not (operations and prediction.time_s and levels and ceilings):
        return None
    return RooflinePart(
        unit="flop" if work else "warp instruction",
        operations=operations,
        per_s=operations / prediction.time_s,
        ceilings=ceilings,
        levels=levels,
    )


def _ceilings(machine: Machine, flops: Mapping[str, float]) -> Iterator[CeilingPart]:
    sms, clock = machine.get("sm.count"), machine.get("clock.sm")
    if sms is None or clock is None:
        return
    if not flops and (issued := machine.get("sm.issue_per_cycle")):
        yield CeilingPart("issue slots", issued * sms * clock)
    for precision in sorted(flops):
        if rate := machine.get(f"throughput.{precision}"):
            yield CeilingPart(f"{precision} pipe", _FLOPS_OF_FMA * rate * sms * clock)


def _levels(case: Case) -> Iterator[tuple[str, float, float | None]]:
    """Levels of memory with the bytes that move there and the most in a second."""
    machine, traffic = case.machine, case.traffic
    sms, clock = machine.get("sm.count"), machine.get("clock.sm")
    of_sm = machine.get("l1.bandwidth")
    l1 = of_sm * sms * clock if of_sm and sms and clock else None
    yield "L1", traffic.l1.central, l1
    yield "L2", traffic.l2.central, machine.get("l2.bandwidth")
    try:
        dram, _ = dram_bandwidth(machine, _BY)
    except MissingNumberError:
        return
    yield "DRAM", traffic.dram.central, dram
