"""Whether loops of a C program are worth a GPU: their time there beside that on the CPU.

    speed-up with copies = t_CPU / (t_to_device + t_kernels + t_to_host)

Arrays go to the device once that the first kernel to use them reads, and those that kernels write
come back once, as far as loops reach into them; arrays of the function's own stay there. The
break-even size is the one from which on the GPU wins, copies included: all sizes that bound loops
of kernels are halved together, or doubled, until the winner changes, and between the last two

    log(t_GPU / t_CPU) is taken to be linear in log(size).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from kernelcast.errors import KernelcastError
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.c.launching import ArrayRegion, FunctionLaunches
from kernelcast.frontends.c.nodes import names_in
from kernelcast.frontends.c.plan import FunctionPlan, LoopKernel
from kernelcast.frontends.c.program import CProgram, LoopChoice
from kernelcast.frontends.expressions import Number
from kernelcast.frontends.workloads import Workload
from kernelcast.ir import ELEMENT_BYTES, HostMemory, Space
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Case, Model, Prediction
from kernelcast.models.terms.transfers import Direction, EndToEnd, Transfer, end_to_end
from kernelcast.profiling.run import ENOUGH, Sampling

_MOST_STEPS = 12
_MOST_BYTES = 2 << 30
"""Arrays of a size that is only tried, all together."""
_NOTHING_VARIES = (
    "from which size on a GPU is worth it is not known: no parameter bounds the loops; -D varies "
    "a macro"
)
_LONGEST_CPU_S = 2.0
"""Of a call at a size that is doubled once more."""


@dataclass(frozen=True)
class CpuTime:
    """Seconds of a call on the CPU, and how they were found."""

    seconds: float
    source: str


CpuClock = Callable[[FunctionPlan, FunctionLaunches, float], CpuTime]
"""The time of a function on the CPU, whose loops access memory so often."""


@dataclass(frozen=True)
class Offloading:
    """What is compared: loops of a file, on machines, by a model."""

    file: Path
    program: CProgram
    choice: LoopChoice
    machines: tuple[Machine, ...]
    model: Model
    memory: HostMemory = HostMemory.PINNED
    build: Build = field(default_factory=Build)
    sampling: Sampling = ENOUGH
    finds_break_even: bool = True


@dataclass(frozen=True)
class TriedSize:
    """One size of the search for the break-even: the sizes, and seconds on both sides."""

    sizes: Mapping[str, Number]
    cpu_s: float
    gpu_s: float


@dataclass(frozen=True)
class BreakEven:
    """The sizes from which on the GPU is faster, copies included.

    `sizes` is None where the winner is the same at all sizes that were `tried`, smallest first.
    """

    sizes: Mapping[str, int] | None
    tried: tuple[TriedSize, ...]


@dataclass(frozen=True)
class GpuTime:
    """All launches of a function on one GPU, and the copies around them."""

    machine: Machine
    predictions: tuple[Prediction, ...]
    whole: EndToEnd
    cpu_s: float
    break_even: BreakEven | None = None

    @property
    def speedup(self) -> float:
        """Of the kernels alone, what they need being on the device already."""
        return self.cpu_s / self.whole.kernel_s

    @property
    def speedup_with_copies(self) -> float:
        """Of the kernels and the copies around them."""
        return self.cpu_s / self.whole.seconds

    @property
    def first_limit(self) -> str:
        """What has the largest part of the time: copies, or what binds the longest launch."""
        copies = {
            "copies to the device": self.whole.to_device_s,
            "copies to the host": self.whole.to_host_s,
        }
        longest = max(copies, key=lambda name: copies[name])
        if copies[longest] > self.whole.kernel_s:
            return longest
        return str(max(self.predictions, key=_seconds).bottleneck)


@dataclass(frozen=True)
class Offload:
    """A function's loops on the CPU and on GPUs; `remarks` say what is not part of it."""

    plan: FunctionPlan
    launches: FunctionLaunches
    cpu: CpuTime
    gpus: tuple[GpuTime, ...]
    memory: HostMemory
    varied: tuple[str, ...]
    remarks: tuple[str, ...]


def offload(
    what: Offloading, cpu: CpuClock, progress: Progress | None = None
) -> tuple[Offload, ...]:
    """Every function that is chosen, at the sizes given and around its break-even.

    Raises as `CProgram.launches`, as `cases_of_workload`, as the model, and as the clock does.
    """
    functions, remarks = what.program.launches(what.choice)
    return tuple(_function(what, found, remarks, cpu, progress) for found in functions)


def transfers_of(found: FunctionLaunches, memory: HostMemory) -> tuple[Transfer, ...]:
    """The copies around the launches of a function: what is read, then what is written, and what
    its reductions give the host."""
    results = (
        Transfer(size_bytes, Direction.TO_HOST, memory, name)
        for name, size_bytes in found.results.items()
    )
    return (*_transfers(found.regions, memory), *results)


def _transfers(regions: Sequence[ArrayRegion], memory: HostMemory) -> Iterator[Transfer]:
    for direction in Direction:
        for region in regions:
            is_towards = direction is Direction.TO_DEVICE
            used = region.read if is_towards else region.written
            if used and not region.is_local and (region.is_input or not is_towards):
                size_bytes = len(used) * ELEMENT_BYTES[region.type.element]
                yield Transfer(size_bytes, direction, memory, region.name)


@dataclass(frozen=True)
class _FunctionTimes:
    """A function at one choice of sizes."""

    launches: FunctionLaunches
    cpu: CpuTime
    gpus: tuple[GpuTime, ...]


def _function(
    what: Offloading,
    found: FunctionLaunches,
    remarks: tuple[str, ...],
    cpu: CpuClock,
    progress: Progress | None,
) -> Offload:
    plan = next(p for p in what.program.plans if p.name == found.function)
    here = _point(what, plan, found, cpu, progress)
    varied = _varied(plan, found.values)
    gpus = here.gpus
    if what.finds_break_even and not varied:
        remarks = (*remarks, _NOTHING_VARIES)
    if what.finds_break_even and varied:
        points = _around(what, plan, here, varied, cpu)
        gpus = tuple(
            replace(gpu, break_even=_break_even(points, at, varied)) for at, gpu in enumerate(gpus)
        )
    return Offload(plan, found, here.cpu, gpus, what.memory, varied, remarks)


def _point(
    what: Offloading,
    plan: FunctionPlan,
    found: FunctionLaunches,
    cpu: CpuClock,
    progress: Progress | None = None,
) -> _FunctionTimes:
    work = Workload(what.file, {}, found.together(), what.file.parent)
    cases = cases_of_workload(
        work, what.machines, build=what.build, sampling=what.sampling, progress=progress
    )
    count = len(what.machines)
    time = cpu(plan, found, sum(map(_accesses, cases[::count])))
    copies = transfers_of(found, what.memory)
    gpus = []
    for at, machine in enumerate(what.machines):
        predictions = tuple(what.model.predict(case) for case in cases[at::count])
        whole = end_to_end(machine, sum(map(_seconds, predictions)), copies)
        gpus.append(GpuTime(machine, predictions, whole, time.seconds))
    return _FunctionTimes(found, time, tuple(gpus))


def _accesses(case: Case) -> float:
    """How often lanes access global memory in a launch and its repeats; idle ones do not."""
    accesses = case.profile.accesses
    return case.launch.repeat * sum(a.lanes for a in accesses if a.space is Space.GLOBAL)


def _seconds(prediction: Prediction) -> float:
    """The seconds of a launch, as often as it is repeated."""
    return prediction.time_s * prediction.case.launch.repeat


# Break-even.


def _varied(plan: FunctionPlan, values: Mapping[str, Number]) -> tuple[str, ...]:
    """The sizes that bound loops of kernels, or lengths of their arrays."""
    used = {name for kernel in plan.kernels for node in _bounds(plan, kernel) for name in node}
    return tuple(n for n, v in values.items() if n in used and isinstance(v, int) and v > 1)


def _bounds(plan: FunctionPlan, kernel: LoopKernel) -> Iterator[set[str]]:
    for loop in kernel.loops:
        yield names_in(loop.start) | names_in(loop.stop)
    for access in kernel.accesses.accesses:
        for constraint in access.domain:
            yield set(constraint.value.names)
    for array in kernel.arrays:
        for dim in plan.types[array].dims:
            yield names_in(dim) if dim is not None else set()


def _around(
    what: Offloading, plan: FunctionPlan, here: _FunctionTimes, varied: Sequence[str], cpu: CpuClock
) -> list[_FunctionTimes]:
    """Points from small to large, in which every GPU has lost and won, where that is to be had."""
    below, above = [here], [here]
    sampled = replace(what, sampling=replace(what.sampling, exact=False))
    for step in range(1, _MOST_STEPS):
        sizes = _scaled(here, varied, 0.5**step)
        if not any(_wins(gpu) for gpu in below[-1].gpus) or max(sizes[n] for n in varied) <= 1:
            break
        if (point := _tried(sampled, plan, sizes, cpu)) is not None:
            below.append(point)
    for step in range(1, _MOST_STEPS):
        largest = above[-1]
        if all(_wins(gpu) for gpu in largest.gpus) or largest.cpu.seconds > _LONGEST_CPU_S:
            break
        if (point := _tried(sampled, plan, _scaled(here, varied, 2.0**step), cpu)) is None:
            break
        above.append(point)
    return [*reversed(below), *above[1:]]


def _wins(gpu: GpuTime) -> bool:
    return gpu.whole.seconds < gpu.cpu_s


def _scaled(here: _FunctionTimes, varied: Sequence[str], factor: float) -> dict[str, Number]:
    """All sizes, those that vary times a factor."""
    old = here.launches.values
    return {**old, **{name: max(1, round(old[name] * factor)) for name in varied}}


def _tried(
    what: Offloading, plan: FunctionPlan, sizes: Mapping[str, Number], cpu: CpuClock
) -> _FunctionTimes | None:
    """The function at other sizes; None where that cannot be had."""
    choice = replace(what.choice, functions=(plan.name,), sizes=sizes, arrays=None)
    try:
        (found,), _ = what.program.launches(choice)
        if sum(array.size_bytes for array in found.arrays.values()) > _MOST_BYTES:
            return None
        return _point(what, plan, found, cpu)
    except KernelcastError:
        return None  # what is only tried need not be possible


def _break_even(points: Sequence[_FunctionTimes], at: int, varied: Sequence[str]) -> BreakEven:
    tried = tuple(
        TriedSize(
            {name: p.launches.values[name] for name in varied},
            p.cpu.seconds,
            p.gpus[at].whole.seconds,
        )
        for p in points
    )
    found = None
    for smaller, larger in pairwise(tried):
        if smaller.gpu_s >= smaller.cpu_s and larger.gpu_s < larger.cpu_s:
            found = _between(smaller, larger)
    return BreakEven(found, tried)


def _between(smaller: TriedSize, larger: TriedSize) -> dict[str, int]:
    """Where log(t_GPU / t_CPU) crosses 0 on the line between two sizes."""
    a, b = (math.log(t.gpu_s / t.cpu_s) for t in (smaller, larger))
    share = a / (a - b)
    return {
        name: round(smaller.sizes[name] * (larger.sizes[name] / smaller.sizes[name]) ** share)
        for name in smaller.sizes
    }
