"""What launches of a program would take: sampled where they are new, else known from before.

A forecast holds for every launch of the same kernel, grid, block, shared memory and arguments, a
pointer being equal to another that points as far into as large an allocation. Where the trace of
a kernel depends on what arrays hold (`analysis.slicing`), it holds for that launch alone. Of the
launches of a kernel that are still new, the first `_ALL_OF_FIRST` are sampled, and later
`_PER_DOUBLING` of them for every doubling of their number; the others are taken to last as long
per block, beyond the overhead of a launch, as the sampled one with the nearest number of blocks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.errors import KernelcastError
from kernelcast.execution.memory import Memory, Region
from kernelcast.forecasting.cases import cases_of_memory
from kernelcast.ir import CacheState, Kernel, Launch
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Model, Prediction, start_of_launch
from kernelcast.profiling.run import Sampling
from kernelcast.toolchain.cache import Cache

_ALL_OF_FIRST = 16
_PER_DOUBLING = 8

Prepared = Callable[[Machine], tuple[Kernel, Memory]]
"""The kernel's code for a GPU, and its memory, in which a sample may write."""


@dataclass(frozen=True)
class LaunchForecast:
    """What a launch would take on every GPU, in seconds, and the forecasts behind it.

    `predictions` are of the launch itself, or, where `is_estimated`, of the one that it was
    estimated from. Empty, with the reason in `why_none`, where there is no forecast.
    """

    times_s: tuple[float, ...]
    predictions: tuple[Prediction, ...]
    is_estimated: bool = False
    why_none: str = ""


@dataclass
class _KnownKernel:
    """What is known of one kernel."""

    depends_on_data: bool | None = None
    new_launches: int = 0
    known: dict[object, LaunchForecast] = field(default_factory=dict)
    sampled: dict[int, LaunchForecast] = field(default_factory=dict)  # by number of blocks


@dataclass
class Forecasts:
    """The forecasts of a program's launches, on `machines`, by `model`."""

    machines: Sequence[Machine]
    model: Model
    sampling: Sampling = field(default_factory=Sampling)
    caches: CacheState = CacheState.COLD
    cache: Cache | None = None
    _kernels: dict[object, _KnownKernel] = field(default_factory=dict)

    def of(
        self,
        kernel: object,
        launch: Launch,
        arguments: object,
        prepared: Prepared,
        *,
        in_turn: bool = False,
    ) -> LaunchForecast:
        """The forecast of a launch of a kernel that the key `kernel` stands for.

        `arguments` are as `argument_values` gives them; `prepared` is called where the launch is
        sampled, its blocks one after the other where they have to run `in_turn`. Nothing is raised:
        where a launch cannot be forecast, the answer says why.
        """
        known = self._kernels.setdefault(kernel, _KnownKernel())
        shape = launch.grid, launch.block, launch.smem_bytes, launch.carveout
        key = shape, arguments
        if not known.depends_on_data and key in known.known:
            return known.known[key]
        known.new_launches += 1
        if not is_sampled(known.new_launches) and known.sampled:
            return self._estimated(known, launch)
        sampling = replace(self.sampling, threads=1) if in_turn else self.sampling
        found = self._sampled(known, launch, prepared, sampling)
        known.known[key] = found
        if found.predictions:
            known.sampled[launch.blocks] = found
        return found

    def kept(self, prediction: Prediction) -> Prediction:
        """What is kept of a forecast: without the memory, the accesses and the warps behind it.

        A program makes thousands of launches, and these take megabytes of each.
        """
        case = replace(prediction.case, run=None, find_streams=None, earlier=())
        return replace(prediction, case=case, simulated=None)

    def _sampled(
        self, known: _KnownKernel, launch: Launch, prepared: Prepared, sampling: Sampling
    ) -> LaunchForecast:
        predictions = []
        try:
            for group in self._machines_by_code():
                kernel, memory = prepared(group[0])
                if known.depends_on_data is None:
                    known.depends_on_data = reads_arrays(kernel, needed_for_trace(kernel))
                assert memory.undo is not None
                try:
                    cases = cases_of_memory(
                        kernel,
                        launch,
                        memory,
                        group,
                        sampling=sampling,
                        cache=self.cache,
                        caches=self.caches,
                    )
                    predictions += [self.kept(self.model.predict(case)) for case in cases]
                finally:
                    memory.undo()
        except KernelcastError as error:
            return self._none(error.what)
        except Exception as error:  # a mistake of ours must not end the user's program
            return self._none(f"internal error, please report it: {type(error).__name__}: {error}")
        by_name = {p.case.machine.name: p for p in predictions}
        ordered = tuple(by_name[machine.name] for machine in self.machines)
        return LaunchForecast(tuple(p.time_s for p in ordered), ordered)

    def _none(self, why: str) -> LaunchForecast:
        return LaunchForecast((0.0,) * len(self.machines), (), why_none=why)

    def _machines_by_code(self) -> list[list[Machine]]:
        """GPUs that execute the same code together."""
        groups: dict[tuple[int, int], list[Machine]] = {}
        for machine in self.machines:
            groups.setdefault(machine.compute_capability, []).append(machine)
        return list(groups.values())

    def _estimated(self, known: _KnownKernel, launch: Launch) -> LaunchForecast:
        blocks = min(known.sampled, key=lambda sampled: abs(sampled - launch.blocks))
        nearest = known.sampled[blocks]

        def scaled(time_s: float, machine: Machine) -> float:
            overhead = min(start_of_launch(machine, self.caches) or 0.0, time_s)
            return overhead + (time_s - overhead) * launch.blocks / blocks

        times = (scaled(t, m) for t, m in zip(nearest.times_s, self.machines, strict=True))
        return LaunchForecast(tuple(times), nearest.predictions, is_estimated=True)


def is_sampled(number: int) -> bool:
    """Whether the new launch of this number, counted from 1, is sampled."""
    if number <= _ALL_OF_FIRST:
        return True
    step = (1 << number.bit_length() - 1) // _PER_DOUBLING
    return number % step == 0


def argument_values(
    parameters: bytes,
    region_at: Callable[[int], Region | None],
    textures: Mapping[int, bytes] | None = None,
) -> tuple[object, ...]:
    """The parameters of a launch, so that they are equal where its work is.

    Pointers stand for the size of the allocation they point into, and how far; handles of
    `textures` for their descriptors.
    """
    textures = textures or {}
    padded = parameters.ljust(-(-len(parameters) // 8) * 8, b"\0")
    words = struct.unpack(f"<{len(padded) // 8}Q", padded)
    values: list[object] = []
    for word in words:
        region = region_at(word)
        if region is not None:
            values.append((region.size_bytes, word - region.address))
        else:
            values.append(textures.get(word, word))
    return tuple(values)
