"""What `run` answers: the profile of a program, in forecast time, on one GPU or several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct

from kernelcast.devices.record import LaunchRecord, TransferRecord
from kernelcast.devices.run import ProgramRun
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.parameters import model_label
from kernelcast.reporting.documents.accesses import WastefulAccess, wasteful_accesses
from kernelcast.reporting.documents.base import (
    Extents,
    Natural,
    NotNegative,
    Positive,
    Share,
    json_schema,
)
from kernelcast.reporting.documents.next_steps import next_steps
from kernelcast.version import VERSION

_SCHEMA: Literal["kernelcast/run/1"] = "kernelcast/run/1"


class KernelTimes(Struct, frozen=True):
    """Launches of a kernel on one GPU: all together, the mean, the shortest and the longest, the
    share of the time of all kernels, and what binds most of it. Null where there is no forecast."""

    gpu: str
    total_s: NotNegative
    mean_s: NotNegative
    least_s: NotNegative
    most_s: NotNegative
    share: Share
    bottleneck: Bottleneck | None


class ProfiledKernel(Struct, frozen=True):
    """The launches of a kernel with blocks of one size.

    `least_grid` and `most_grid` are the grids with fewest and most blocks. Of the launches,
    `sampled` were forecast anew, `known` had been before, and `estimated` follow from others;
    those without a forecast are `unknown`, for the reason that `why_unknown` gives. `executed_s` is
    what this machine took to execute them all, but for `repeats`, which would have changed nothing.
    `what_to_do` follows from what binds its longest launch, and from its wasteful accesses.
    """

    kernel: str
    launches: Positive
    least_grid: Extents
    most_grid: Extents
    block: Extents
    smem: Natural
    registers: Natural | None
    times: list[KernelTimes]
    sampled: Natural
    known: Natural
    estimated: Natural
    unknown: Natural
    why_unknown: str
    thread_instructions: NotNegative
    executed_s: NotNegative
    repeats: Natural
    wasteful_accesses: list[WastefulAccess]
    what_to_do: list[str]


class TransferPart(Struct, frozen=True):
    """Copies in one direction, or fills: how many, how much, and how long at the rate of the bus
    or the memory."""

    kind: str
    count: Positive
    bytes: NotNegative
    time_s: NotNegative


class HostPart(Struct, frozen=True):
    """Calls of the host of one kind: how many, and how long it waited in them for the device. Its
    own work takes no time."""

    call: str
    count: Positive
    waited_s: NotNegative


class GpuTotal(Struct, frozen=True):
    """The time of all kernels on one GPU, and how many times as long as on the fastest."""

    gpu: str
    title: str
    kernels_s: NotNegative
    of_fastest: NotNegative | None


class RunDocument(Struct, frozen=True):
    """All that `run --json` prints.

    Kernels are by falling time on the first GPU, on which the program ran. `end_s` is when the last
    work was done, streams beside each other, and no time of the host's own. `memory_bytes` is the
    most that was allocated at once.
    """

    schema: Literal["kernelcast/run/1"]
    kernelcast: str
    program: list[str]
    exit_status: Natural
    model: str
    model_label: str
    gpus: list[GpuTotal]
    launches: Natural
    end_s: NotNegative
    memory_bytes: NotNegative
    kernels: list[ProfiledKernel]
    transfers: list[TransferPart]
    host: list[HostPart]
    failures: list[str]


def run_document(run: ProgramRun) -> RunDocument:
    """The document of a program that ran."""
    record = run.record
    totals = [
        sum(one.forecast.times_s[at] for one in record.launches) for at in range(len(run.machines))
    ]
    fastest = min(totals)
    kernels = [_kernel(run, list(group), totals) for group in _grouped(record.launches)]
    return RunDocument(
        schema=_SCHEMA,
        kernelcast=VERSION,
        program=list(run.command),
        exit_status=run.status,
        model=run.model.name,
        model_label=model_label(run.model),
        gpus=[
            GpuTotal(machine.name, machine.title, total, total / fastest if fastest else None)
            for machine, total in zip(run.machines, totals, strict=True)
        ],
        launches=len(record.launches),
        end_s=record.end_s,
        memory_bytes=record.most_bytes,
        kernels=sorted(kernels, key=lambda kernel: -kernel.times[0].total_s),
        transfers=list(_transfers(record.transfers)),
        host=[
            HostPart(str(call), calls.count, calls.waited_s)
            for call, calls in record.host.items()
            if calls.count
        ],
        failures=list(record.failures),
    )


def run_schema() -> dict[str, Any]:
    """The JSON Schema of `run --json`."""
    return json_schema(RunDocument, _SCHEMA, "kernelcast run --json")


def _kind(one: LaunchRecord) -> tuple[object, ...]:
    return one.kernel, one.launch.block, one.launch.smem_bytes


def _grouped(launches: Sequence[LaunchRecord]) -> Iterable[Iterable[LaunchRecord]]:
    """Launches of one kernel with blocks of one size."""
    for _, group in groupby(sorted(launches, key=_kind), key=_kind):
        yield group


def _kernel(run: ProgramRun, launches: list[LaunchRecord], totals: list[float]) -> ProfiledKernel:
    forecasts = [one.forecast for one in launches]
    grids = sorted({one.launch.grid for one in launches}, key=lambda g: g[0] * g[1] * g[2])
    distinct = {id(f): f for f in forecasts if f.predictions and not f.is_estimated}
    unknown = [f for f in forecasts if not f.predictions]
    estimated = sum(f.is_estimated for f in forecasts)
    longest = max(distinct.values(), key=lambda f: f.times_s[0], default=None)
    wasteful = wasteful_accesses(longest.predictions[0].case.profile) if longest else []
    first = launches[0].launch
    return ProfiledKernel(
        kernel=launches[0].kernel,
        launches=len(launches),
        least_grid=list(grids[0]),
        most_grid=list(grids[-1]),
        block=list(first.block),
        smem=first.smem_bytes,
        registers=longest.predictions[0].case.kernel.resources.registers if longest else None,
        times=[_times(run, launches, at, totals[at]) for at in range(len(run.machines))],
        sampled=len(distinct),
        known=len(forecasts) - len(distinct) - estimated - len(unknown),
        estimated=estimated,
        unknown=len(unknown),
        why_unknown=unknown[0].why_none if unknown else "",
        thread_instructions=sum(one.thread_instructions for one in launches),
        executed_s=sum(one.executed_s for one in launches),
        repeats=sum(one.is_repeat for one in launches),
        wasteful_accesses=wasteful,
        what_to_do=next_steps(longest.predictions[0].bottleneck, wasteful) if longest else [],
    )


def _times(run: ProgramRun, launches: list[LaunchRecord], at: int, whole: float) -> KernelTimes:
    known = [one.forecast for one in launches if one.forecast.predictions]
    times = [forecast.times_s[at] for forecast in known]
    bound: dict[Bottleneck, float] = {}
    for forecast in known:
        name = forecast.predictions[at].bottleneck
        bound[name] = bound.get(name, 0.0) + forecast.times_s[at]
    total = sum(times)
    return KernelTimes(
        gpu=run.machines[at].name,
        total_s=total,
        mean_s=total / len(times) if times else 0.0,
        least_s=min(times, default=0.0),
        most_s=max(times, default=0.0),
        share=min(total / whole, 1.0) if whole else 0.0,
        bottleneck=max(bound, key=bound.__getitem__) if bound else None,
    )


def _transfers(transfers: Sequence[TransferRecord]) -> Iterable[TransferPart]:
    for kind in dict.fromkeys(one.kind for one in transfers):
        those = [one for one in transfers if one.kind is kind]
        yield TransferPart(
            str(kind),
            len(those),
            sum(one.size_bytes for one in those),
            sum(one.seconds for one in those),
        )
