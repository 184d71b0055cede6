"""What `dvfs` answers: the time of launches against the clocks of SMs and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from kernelcast.exploration.dvfs import (
    MEMORY_CLOCK,
    SM_CLOCK,
    ClockCurve,
    ClockPoint,
    StallScaling,
)
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.parameters import model_label
from kernelcast.reporting.documents.base import NotNegative, Share, json_schema
from kernelcast.reporting.documents.result import launch_title

_SCHEMA: Literal["kernelcast/dvfs/1"] = "kernelcast/dvfs/1"


class ClockPointPart(Struct, frozen=True):
    """One pair of clocks. `memory_hz` is null where the GPU does not say its own.

    `of_nominal` is the time over that at the GPU's own clocks, `of_slowest` over the longest of the
    curve. `stall_scaled_s`, null at other clocks of the memory, is what scaling the stalls of the
    nominal run says, and `stall_scaled_of_time` that over the time.
    """

    sm_hz: NotNegative
    memory_hz: NotNegative | None
    time_s: NotNegative
    of_nominal: NotNegative
    of_slowest: Share
    bottleneck: Bottleneck
    is_nominal: bool
    stall_scaled_s: NotNegative | None
    stall_scaled_of_time: NotNegative | None


class StallPart(Struct, frozen=True):
    """The nominal run as stalls and computation, whose scaling is T = fixed + max(r under_loads,
    load_path) + max(r computation, store_path), r being the nominal clock over the clock."""

    fixed_s: NotNegative
    load_path_s: NotNegative
    under_loads_s: NotNegative
    store_path_s: NotNegative
    computation_s: NotNegative


class ClockResult(Struct, frozen=True):
    """One launch on one GPU, by one model.

    `sm_share` is how much of the time follows the clock of the SMs between the fastest and the
    slowest, at the fastest of the memory: 1 where half the clock is twice the time, 0 where it is
    the same; null where there is one clock. `memory_share` is the same of the memory's, at the
    fastest of the SMs.
    """

    kernel: str
    title: str
    gpu: str
    model: str
    model_label: str
    nominal_sm_hz: NotNegative
    nominal_memory_hz: NotNegative | None
    nominal_time_s: NotNegative
    bottleneck: Bottleneck
    sm_share: float | None
    memory_share: float | None
    points: list[ClockPointPart]
    stalls: StallPart


class ClockDocument(Struct, frozen=True):
    """All that `dvfs --json` prints."""

    schema: Literal["kernelcast/dvfs/1"]
    results: list[ClockResult]


def dvfs_document(curves: Sequence[ClockCurve]) -> ClockDocument:
    """The document of any number of launches, GPUs and models."""
    return ClockDocument(_SCHEMA, [clock_result(c) for c in curves])


def dvfs_schema() -> dict[str, Any]:
    """The JSON Schema of `dvfs --json`."""
    return json_schema(ClockDocument, _SCHEMA, "kernelcast dvfs --json")


def clock_result(c: ClockCurve) -> ClockResult:
    """One curve in the published form."""
    nominal = c.nominal
    machine = nominal.case.machine
    slowest = max(p.time_s for p in c.points)
    fastest_sm = max(p.sm_hz for p in c.points)
    fastest_memory = max(p.memory_hz or 0.0 for p in c.points)
    return ClockResult(
        kernel=nominal.case.kernel.shown,
        title=launch_title(nominal.case),
        gpu=machine.name,
        model=nominal.model.name,
        model_label=model_label(nominal.model),
        nominal_sm_hz=machine.number(SM_CLOCK),
        nominal_memory_hz=machine.get(MEMORY_CLOCK),
        nominal_time_s=nominal.time_s,
        bottleneck=nominal.bottleneck,
        sm_share=_share(
            [(p.sm_hz, p.time_s) for p in c.points if (p.memory_hz or 0.0) == fastest_memory]
        ),
        memory_share=_share(
            [(p.memory_hz or 0.0, p.time_s) for p in c.points if p.sm_hz == fastest_sm]
        ),
        points=[_point(c, p, slowest) for p in c.points],
        stalls=_stalls(c.scaling),
    )


def _share(times: Sequence[tuple[float, float]]) -> float | None:
    """Of `(clock, time)`: growth of the time over growth of a cycle, slowest against fastest."""
    (slow, longer), (fast, shorter) = min(times), max(times)
    return (longer / shorter - 1) / (fast / slow - 1) if fast > slow else None


def _point(c: ClockCurve, p: ClockPoint, slowest: float) -> ClockPointPart:
    machine = c.nominal.case.machine
    own = (machine.number(SM_CLOCK), machine.get(MEMORY_CLOCK))
    return ClockPointPart(
        sm_hz=p.sm_hz,
        memory_hz=p.memory_hz,
        time_s=p.time_s,
        of_nominal=p.time_s / c.nominal.time_s,
        of_slowest=p.time_s / slowest,
        bottleneck=p.bottleneck,
        is_nominal=(p.sm_hz, p.memory_hz) == own,
        stall_scaled_s=p.scaled_s,
        stall_scaled_of_time=None if p.scaled_s is None else p.scaled_s / p.time_s,
    )


def _stalls(s: StallScaling) -> StallPart:
    return StallPart(s.fixed_s, s.load_path_s, s.under_loads_s, s.store_path_s, s.computation_s)
