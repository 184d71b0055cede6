"""What every model sees and says: Case, Prediction, and the Model interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, wraps
from typing import ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.run import Replay
from kernelcast.hierarchy.caches.counts import CacheCounts, asked_by, held_at_best
from kernelcast.hierarchy.caches.launch import (
    NotedLaunch,
    StreamedLaunch,
    count_launch,
    count_resized,
    note_launch,
    streamed,
    system_of,
)
from kernelcast.hierarchy.caches.memory_system import missing_numbers, with_capacities
from kernelcast.hierarchy.rules import caches_memory
from kernelcast.hierarchy.traffic import (
    Traffic,
    bound_traffic,
    simulated_traffic,
    simulation_limits,
)
from kernelcast.ir import CacheState, Dim3, Kernel, Launch
from kernelcast.machines.kept import KeptResult, KeptResults
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import Occupancy, occupancy_of_launch
from kernelcast.models.terms.parameters import model_label
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.streams import AccessStreams
from kernelcast.simulation.simulated import Simulated
from kernelcast.toolchain.recall import Recall

_Further = ParamSpec("_Further")
_OfCase = TypeVar("_OfCase")


class Bottleneck(StrEnum):
    """What binds; one vocabulary for all models, each uses those it can tell apart."""

    DRAM_BANDWIDTH = "dram bandwidth"
    PCIE_BANDWIDTH = "pcie bandwidth"
    L2_BANDWIDTH = "l2 bandwidth"
    L1_BANDWIDTH = "l1 bandwidth"
    SHARED_BANDWIDTH = "shared-memory bandwidth"
    FP32 = "fp32 pipe"
    FP64 = "fp64 pipe"
    INT = "int pipe"
    SFU = "sfu pipe"
    ADU = "adu pipe"
    TENSOR = "tensor pipe"
    LSU = "lsu pipe"
    ISSUE = "issue slots"
    MEMORY_LATENCY = "memory latency"
    ARITHMETIC_LATENCY = "arithmetic latency"
    MISS_REGISTERS = "miss registers"
    NOC_BANDWIDTH = "noc bandwidth"
    ATOMICS = "atomics"
    BARRIERS = "barriers"
    SLOWER_WARPS = "slower warps"
    UNEQUAL_WORK = "unequal work"
    INSTRUCTION_FETCH = "instruction fetch"
    CONSTANTS = "constants"
    BLOCK_LAUNCHES = "block launches"
    LAUNCH_OVERHEAD = "launch overhead"
    TAIL = "tail"


@dataclass(frozen=True)
class Case:
    """One kernel, one launch, one machine: everything a model may see.

    What is costly is computed on first use and shared by all models, and `kept` for machines on
    which nothing that it depends on differs; `of_warps` keeps what as many of the same warps in
    other blocks have in common.

    `find_streams` gives the accesses that its caches are simulated with, None where there are none,
    which `why_no_streams` explains. `caches` says what the L2 cache holds at the start, and
    `earlier` are the launches before it in its workload, in order. Where `sized_from` is there, and
    caches start empty, only those of its capacities are simulated; others follow from stack
    distances. `run` makes the launch ready to be followed once more, for models that do so
    themselves; None where it was executed elsewhere, and not all of it is known. Where `like` is
    there, no caches were simulated: it is a launch of the same threads in other blocks, whose
    traffic stands for this one's; with `at_best`, as if the caches held all that is wanted more
    than once. `recall` is where other processes find what is learnt of it; a case that is made of
    it, by `replace` too, is another.
    """

    kernel: Kernel
    launch: Launch
    machine: Machine
    profile: Profile
    find_streams: Callable[[], AccessStreams] | None = field(
        default=None, repr=False, compare=False
    )
    why_no_streams: str = field(default="its accesses are not known", repr=False)
    caches: CacheState = CacheState.COLD
    earlier: tuple[Case, ...] = field(default=(), repr=False)
    sized_from: Machine | None = field(default=None, repr=False)
    run: Callable[[], Replay] | None = field(default=None, repr=False, compare=False)
    like: Case | None = field(default=None, repr=False)
    at_best: bool = False
    kept: KeptResults = field(default_factory=KeptResults, init=False, repr=False, compare=False)
    of_warps: KeptResults = field(
        default_factory=KeptResults, init=False, repr=False, compare=False
    )
    recall: Recall | None = field(default=None, init=False, repr=False, compare=False)

    @cached_property
    def streams(self) -> AccessStreams | None:
        """The accesses that caches are simulated with; the launch may be executed for them."""
        return None if self.find_streams is None else self.find_streams()

    @cached_property
    def occupancy(self) -> Occupancy:
        """Blocks and warps per SM by the vendor's rules."""
        return _occupancy(self)

    @cached_property
    def traffic(self) -> Traffic:
        """Bytes per level of the memory hierarchy, bounded where no cache is simulated."""
        return _traffic(self)

    @cached_property
    def cache_counts(self) -> CacheCounts | None:
        """What the simulated caches count; None where they are not simulated."""
        return None if self._why_no_caches else _cache_counts(self)

    @property
    def moved_by_word(self) -> NDArray[np.uint8] | None:
        """Sectors that the DRAM moved for every word of `streams`; None where nobody knows."""
        if self.like is not None:
            return self.like.on(self.machine).moved_by_word
        return None if self._why_no_caches else _simulated_caches(self)[1]

    @property
    def _why_no_caches(self) -> str:
        """Why no caches can be simulated; empty where they can."""
        if not caches_memory(self.machine):
            return f"{self.machine.name} does not cache memory"
        if missing := missing_numbers(self.machine):
            return f"{self.machine.name} has no {', '.join(missing)}"
        return self.why_no_streams if self.find_streams is None else ""

    def recalling(self, recall: Recall, caches: KeptResult | None) -> Case:
        """The case with what other processes find of it, and what one has found of its caches."""
        same = replace(self)
        object.__setattr__(same, "recall", recall)
        if caches is not None:
            same.of_warps.learn(_count_caches, _NOTHING_MORE, same.machine, caches)
        return same

    @property
    def known_caches(self) -> KeptResult | None:
        """What its caches count, where somebody has asked."""
        return self.of_warps.known(_count_caches, _NOTHING_MORE, self.machine)

    def on(self, machine: Machine) -> Case:
        """The same code on the same chip with other numbers; both share what they keep."""
        moved = replace(self, machine=machine)
        object.__setattr__(moved, "kept", self.kept)
        object.__setattr__(moved, "of_warps", self.of_warps)
        return moved

    def in_blocks(
        self, grid: Dim3, block: Dim3, profile: Profile | None = None, *, at_best: bool = False
    ) -> Case:
        """The same threads in other blocks, whose caches nothing simulates: see `like`.

        Their warps are the same, too, where no other `profile` tells what those of the blocks do.
        """
        own = profile or self.profile
        launch = replace(self.launch, grid=grid, block=block)
        found = replace(
            self,
            launch=launch,
            profile=replace(own, kernel=self.kernel, launch=launch),
            run=None,
            like=self.like or self,
            at_best=at_best,
        )
        if self.like and own is self.profile and found.profile.warps == own.warps:
            object.__setattr__(found, "of_warps", self.of_warps)
        return found


def kept(
    compute: Callable[Concatenate[Case, _Further], _OfCase],
) -> Callable[Concatenate[Case, _Further], _OfCase]:
    """A function of a case and hashable arguments that is computed once for equal numbers.

    Its answers must not hold the case or its machine.
    """

    @wraps(compute)
    def answer(case: Case, /, *args: _Further.args, **kwargs: _Further.kwargs) -> _OfCase:
        return _answer(case.kept, compute, case, *args, **kwargs)

    return answer


def kept_of_warps(
    compute: Callable[Concatenate[Case, _Further], _OfCase],
) -> Callable[Concatenate[Case, _Further], _OfCase]:
    """As `kept`, of what does not depend on how many of the warps are in a block."""

    @wraps(compute)
    def answer(case: Case, /, *args: _Further.args, **kwargs: _Further.kwargs) -> _OfCase:
        return _answer(case.of_warps, compute, case, *args, **kwargs)

    return answer


def _answer(
    results: KeptResults,
    compute: Callable[Concatenate[Case, _Further], _OfCase],
    case: Case,
    *args: _Further.args,
    **kwargs: _Further.kwargs,
) -> _OfCase:
    asked = (args, *kwargs.items())
    return results.get(
        compute, asked, case.machine, lambda machine: compute(case.on(machine), *args, **kwargs)
    )


_NOTHING_MORE = ((),)
"""What `kept` takes for the arguments of a function of a case alone."""


@kept
def _occupancy(case: Case) -> Occupancy:
    return occupancy_of_launch(case.machine, case.kernel.resources, case.launch)


_LIKE = "what caches hold is that of the same warps in other blocks"
_AT_BEST = "caches hold all that the same warps in other blocks want more than once"


@kept_of_warps
def _traffic(case: Case) -> Traffic:
    if case.like is not None and case.at_best and (counts := case.cache_counts) is not None:
        found = simulated_traffic(case.profile, counts)
        return replace(found, assumptions=(*found.assumptions, _AT_BEST))
    if case.like is not None:
        found = case.like.on(case.machine).traffic
        return replace(found, assumptions=(*found.assumptions, _LIKE))
    counts = case.cache_counts
    if counts is not None:
        return simulated_traffic(case.profile, counts)
    bounds = bound_traffic(case.profile, case.machine)
    if not caches_memory(case.machine):
        if case.caches is CacheState.COLD:
            return bounds
        note = f"{case.machine.name} has no caches that could be {case.caches}"
        return replace(bounds, assumptions=(note, *bounds.assumptions))
    note = f"caches are estimated, not simulated: {case._why_no_caches}"
    return replace(bounds, assumptions=(note, *bounds.assumptions))


def _count_caches(case: Case) -> CacheCounts:
    if case.like is None:
        return _simulated_caches(case)[0]
    found = case.like.on(case.machine).cache_counts
    assert found is not None
    if not case.at_best:
        return found
    found = asked_by(found, case.like.profile.accesses, case.profile.accesses)
    arrays = case.like.profile.footprints  # the same threads touch the same
    read = sum(array.distinct_sectors for array in arrays if array.read)
    return held_at_best(found, read, sum(array.distinct_written_sectors for array in arrays))


_cache_counts = kept_of_warps(_count_caches)


@kept
def _simulated_caches(case: Case) -> tuple[CacheCounts, NDArray[np.uint8] | None]:
    """What the caches count, and by word of the streams what the DRAM moved."""
    limits = simulation_limits(case.profile, case.machine)
    if case.sized_from is not None and case.caches is CacheState.COLD:
        noted = _noted(case.on(with_capacities(case.machine, case.sized_from)))
        system = system_of(case.machine, case.kernel, case.launch)
        return count_resized(noted, system, case.profile, limits), None

    def streamed_of(one: Case) -> StreamedLaunch | None:
        if one.streams is None:
            return None
        return streamed(one.streams, case.machine, one.kernel, one.launch)

    own = streamed_of(case)
    assert own is not None
    return count_launch(
        own,
        case.profile,
        limits,
        case.caches,
        tuple(filter(None, map(streamed_of, case.earlier))),
    )


@kept
def _noted(case: Case) -> NotedLaunch:
    assert case.streams is not None
    return note_launch(streamed(case.streams, case.machine, case.kernel, case.launch))


@dataclass(frozen=True, slots=True)
class Part:
    """One term of a breakdown, in SM cycles."""

    name: str
    cycles: float


@dataclass(frozen=True)
class Prediction:
    """What a model, with its parameters, says about a case.

    `cycles` are SM cycles of the whole launch and `time_s` seconds, launch overhead included;
    `breakdown` sums to `cycles`. `low_s` and `high_s` bound the time where the model can say.
    `terms` are the named terms of the model's equations, for those who want to follow them;
    `bounds` the time in cycles that each resource alone would take. `simulated` is what happened on
    some SMs, where the model simulates them.
    """

    model: Model
    case: Case = field(repr=False)
    cycles: float
    time_s: float
    bottleneck: Bottleneck
    breakdown: tuple[Part, ...]
    bounds: tuple[Part, ...] = ()
    low_s: float | None = None
    high_s: float | None = None
    terms: Mapping[str, float | str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    needed_warps: float | None = None
    simulated: Simulated | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return (
            f"{self.case.kernel.shown} on {self.case.machine.name}: "
            f"{self.time_s:.4g} s by {model_label(self.model)}, bound by {self.bottleneck}"
        )


def start_of_launch(machine: Machine, caches: CacheState) -> float | None:
    """Seconds that starting a kernel takes, None where nobody knows.

    What the L2 cache does not hold of a launch itself comes from the DRAM.
    """
    known = machine.get("launch.overhead")
    if known is None or caches is CacheState.WARM:
        return known
    return machine.get("launch.cold_overhead") or known


def launch_overhead(case: Case) -> tuple[Part, tuple[str, ...]]:
    """The part of the time that starting a kernel takes, and a warning where it is unknown."""
    seconds = start_of_launch(case.machine, case.caches)
    name = str(Bottleneck.LAUNCH_OVERHEAD)
    if seconds is None:
        return Part(name, 0.0), (f"{name}: left out, {case.machine.name} has no launch.overhead",)
    return Part(name, seconds * case.machine.number("clock.sm", name)), ()


def in_seconds(case: Case, cycles: float) -> float:
    """SM cycles as seconds."""
    return cycles / case.machine.number("clock.sm", "the time in seconds")


class Model(Protocol):
    """A performance model: a frozen dataclass whose fields are its parameters.

    A module of this package holds one model; the module's stem, with hyphens, is its name.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    not_modelled: ClassVar[tuple[str, ...]]

    def predict(self, case: Case) -> Prediction:
        """The time of a case; MissingNumberError where the machine lacks a number it needs."""
        ...
