"""What `offload` answers: loops of a C program on the CPU and on GPUs, copies included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from kernelcast.exploration.offload import BreakEven, GpuTime, Offload
from kernelcast.frontends.c.plan import FunctionPlan, LoopKernel
from kernelcast.ir import HostMemory
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.parameters import model_label
from kernelcast.models.terms.transfers import Direction
from kernelcast.reporting.documents.base import Natural, NotNegative, Positive, json_schema
from kernelcast.reporting.documents.result import launch_title

_SCHEMA: Literal["kernelcast/offload/1"] = "kernelcast/offload/1"


class OffloadedLoop(Struct, frozen=True):
    """A nest of loops that became a kernel.

    `grid` are the variables of the loops that became the grid, x first, none for what one thread
    does; `reductions` those that are combined over all iterations.
    """

    kernel: str
    file: str
    line: Natural
    grid: list[str]
    reductions: list[str]


class OffloadedLaunch(Struct, frozen=True):
    """A launch on one GPU; `time_s` is that of one of its repeats."""

    kernel: str
    title: str
    repeat: Positive
    time_s: NotNegative
    bottleneck: Bottleneck


class OffloadedCopy(Struct, frozen=True):
    """A copy of an array, or of as much of it as loops use."""

    array: str
    direction: Direction
    bytes: NotNegative
    time_s: NotNegative


class TriedSizes(Struct, frozen=True):
    """One size of the search for the break-even, with the times of both sides, copies included."""

    sizes: dict[str, int]
    cpu_s: NotNegative
    gpu_s: NotNegative


class BreakEvenPart(Struct, frozen=True):
    """The sizes from which on the GPU is faster, copies included; null where one side is faster at
    all sizes that were tried, which stand from the smallest to the largest."""

    sizes: dict[str, int] | None
    tried: list[TriedSizes]


class GpuPart(Struct, frozen=True):
    """One GPU.

    `total_s` is the time of copies and kernels, one after the other; `speedup` that of the kernels
    alone. `context_s` comes on top once in a program, null where nobody has measured it.
    """

    gpu: str
    model_label: str
    kernel_s: NotNegative
    to_device_s: NotNegative
    to_host_s: NotNegative
    total_s: NotNegative
    context_s: NotNegative | None
    speedup: NotNegative
    speedup_with_copies: NotNegative
    first_limit: str
    launches: list[OffloadedLaunch]
    copies: list[OffloadedCopy]
    break_even: BreakEvenPart | None
    assumptions: list[str]


class OffloadResult(Struct, frozen=True):
    """One function."""

    function: str
    file: str
    sizes: dict[str, int | float]
    memory: HostMemory
    cpu_s: NotNegative
    cpu_source: str
    loops: list[OffloadedLoop]
    gpus: list[GpuPart]
    remarks: list[str]


class OffloadDocument(Struct, frozen=True):
    """All that `offload --json` prints."""

    schema: Literal["kernelcast/offload/1"]
    results: list[OffloadResult]


def offload_document(found: Sequence[Offload]) -> OffloadDocument:
    """The document of any number of functions."""
    return OffloadDocument(_SCHEMA, [offload_result(each) for each in found])


def offload_schema() -> dict[str, Any]:
    """The JSON Schema of `offload --json`."""
    return json_schema(OffloadDocument, _SCHEMA, "kernelcast offload --json")


def offload_result(found: Offload) -> OffloadResult:
    """One function in the published form."""
    launched = {launch.kernel for launch in found.launches.launches}
    return OffloadResult(
        function=found.plan.name,
        file=_file(found.plan),
        sizes=dict(found.launches.values),
        memory=found.memory,
        cpu_s=found.cpu.seconds,
        cpu_source=found.cpu.source,
        loops=[_loop(kernel) for kernel in found.plan.kernels if kernel.name in launched],
        gpus=[_gpu(gpu) for gpu in found.gpus],
        remarks=list(found.remarks),
    )


def _file(plan: FunctionPlan) -> str:
    return plan.kernels[0].place.file


def _loop(kernel: LoopKernel) -> OffloadedLoop:
    return OffloadedLoop(
        kernel=kernel.name,
        file=kernel.place.file,
        line=kernel.place.line,
        grid=[loop.variable for loop in reversed(kernel.grid)],
        reductions=[f"{r.operator.value} in {r.name}" for r in kernel.reductions],
    )


def _gpu(gpu: GpuTime) -> GpuPart:
    whole = gpu.whole
    notes = [note for p in gpu.predictions for note in (*p.warnings, *p.assumptions)]
    return GpuPart(
        gpu=gpu.machine.name,
        model_label=model_label(gpu.predictions[0].model),
        kernel_s=whole.kernel_s,
        to_device_s=whole.to_device_s,
        to_host_s=whole.to_host_s,
        total_s=whole.seconds,
        context_s=whole.context_s,
        speedup=gpu.speedup,
        speedup_with_copies=gpu.speedup_with_copies,
        first_limit=gpu.first_limit,
        launches=[
            OffloadedLaunch(
                p.case.kernel.shown,
                launch_title(p.case),
                p.case.launch.repeat,
                p.time_s,
                p.bottleneck,
            )
            for p in gpu.predictions
        ],
        copies=[
            OffloadedCopy(t.label, t.direction, t.size_bytes, time_s) for t, time_s in whole.copies
        ],
        break_even=None if gpu.break_even is None else _break_even(gpu.break_even),
        assumptions=[*dict.fromkeys((*whole.assumptions, *notes))],
    )


def _break_even(found: BreakEven) -> BreakEvenPart:
    return BreakEvenPart(
        sizes=None if found.sizes is None else dict(found.sizes),
        tried=[
            TriedSizes({n: int(v) for n, v in t.sizes.items()}, t.cpu_s, t.gpu_s)
            for t in found.tried
        ],
    )
