"""Latency bound against throughput bound: Volkov's model of latency hiding.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, chapters 3 and 6.

    warp throughput x = min(n / latency bound, throughput bound)                  section 3.5
    throughput bound = 1 / max over resources of cycles per warp                  section 3.6
    latency bound = issue times of one warp alone + replacing its block           section 3.7
    n needed = latency bound * throughput bound                                   section 3.10
    mem_lat = a + sum of b T / (c - T), T the throughput of memory                section 6.4
    x = min(n / latency bound(mem_lat(x)), throughput bound), by bisection        section 6.5
    busiest of S schedulers: ceil(n / S) warps                                    section 5.8
    from barrier to barrier a warp takes as long as the slowest of its block      section 3.7

x is in warps per cycle and SM, n in resident warps per SM. A launch runs in waves: whole ones of
n warps, each taking n / x cycles, and a last one of the remaining blocks, which lasts as long as
its busiest SM or as one warp.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.models.terms.base import (
    Bottleneck,
    Case,
    Part,
    Prediction,
    in_seconds,
    launch_overhead,
)
from kernelcast.models.terms.dram import written_share
from kernelcast.models.terms.latency import (
    contention_law,
    load_latency,
    shares_of_waits,
    slowest_loads,
)
from kernelcast.models.terms.latency_hiding import MemoryContention, throughput_under_load
from kernelcast.models.terms.saturation import softened
from kernelcast.models.terms.single_warp import single_warp
from kernelcast.models.terms.slowest_warp import WarpSpread, warp_spread
from kernelcast.models.terms.throughput import Worksheet, worksheet
from kernelcast.profiling.critical_path import WarpTime

SLOWER_WARPS = (
    "at barriers and at the end of its block a warp waits for the slowest of the block, which "
    "takes every path that some warp of the block takes"
)
_NOTED = 0.01
"""Share of the latency bound from which on waiting for slower warps is worth a note."""


@dataclass(frozen=True)
class Waves:
    """A launch as the model sees it: pure numbers, no kernel and no machine.

    `latency` gives the latency bound of a warp in cycles from the warp throughput, per SM;
    `sm_cycles` and `chip_cycles` the cycles per warp on the busiest resource within an SM, and on
    the busiest one that all SMs share, at an SM's equal share of it. `scheduler_cycles` are those
    on the busiest resource of which each of `schedulers` has its own part. Bounds near each other
    add up by `norm` (`terms.saturation`).
    """

    blocks: int
    warps_per_block: int
    sms: int
    blocks_per_sm: int
    latency: MemoryContention
    sm_cycles: float
    chip_cycles: float
    schedulers: int = 1
    scheduler_cycles: float = 0.0
    norm: float = 0.0

    @property
    def warps_per_sm(self) -> float:
        """Warps of the whole launch, spread evenly over the SMs."""
        return self.blocks * self.warps_per_block / self.sms

    @property
    def resident_warps(self) -> float:
        """n: warps that are on an SM at the same time, on average in the fullest wave."""
        return min(float(self.blocks_per_sm * self.warps_per_block), self.warps_per_sm)

    @property
    def cycles_per_warp(self) -> float:
        """The reciprocal of the throughput bound."""
        return softened((self.sm_cycles, self.chip_cycles), self.norm)

    @property
    def needed_warps(self) -> float:
        """The n from which on the throughput bound binds, without load on memory."""
        return self.latency.a / self.cycles_per_warp

    def throughput(self, warps: float) -> float:
        """x at n = `warps`."""
        cycles = softened((self.latency.a / warps, self.cycles_per_warp), self.norm)
        if not self.latency.terms:
            return 1 / cycles
        bound = 1 / self.cycles_per_warp
        return min(1 / cycles, throughput_under_load(warps, self.latency, bound))

    @property
    def throughput_cycles(self) -> float:
        """The launch at the throughput bound, its warps spread evenly."""
        return self.warps_per_sm * self.cycles_per_warp

    @property
    def steady_cycles(self) -> float:
        """The launch at the throughput of its fullest wave, its warps spread evenly."""
        steady = self.warps_per_sm / self.throughput(self.resident_warps)
        return max(steady, self.throughput_cycles)

    @cached_property
    def cycles(self) -> float:
        """The launch in whole waves and a last one."""
        return self._cycles(has_even_schedulers=False)

    @property
    def tail_cycles(self) -> float:
        """What whole waves and a last one take longer than warps that are spread evenly."""
        return self._cycles(has_even_schedulers=True) - self.steady_cycles

    @property
    def uneven_cycles(self) -> float:
        """What schedulers with more warps than others add to that."""
        return self.cycles - self._cycles(has_even_schedulers=True)

    def _cycles(self, *, has_even_schedulers: bool) -> float:
        whole, rest = divmod(self.blocks, self.sms * self.blocks_per_sm)
        warps = float(self.blocks_per_sm * self.warps_per_block)
        # A block alone on its SM leaves as it came; several even out while they are replaced.
        alone = warps if self.blocks_per_sm == 1 and not has_even_schedulers else 0.0
        total = whole * max(self._wave_cycles(warps, warps), self._uneven(alone)) if whole else 0.0
        if rest:
            most = -(-rest // self.sms) * self.warps_per_block
            last = self._wave_cycles(rest * self.warps_per_block / self.sms, most)
            total += max(last, 0.0 if has_even_schedulers else self._uneven(most))
        return max(total, self.steady_cycles)

    def _uneven(self, warps: float) -> float:
        """`warps` warps of an SM on the scheduler that got the most of them."""
        most = math.ceil(warps / self.schedulers)
        return most * self.schedulers * self.scheduler_cycles

    def _wave_cycles(self, warps: float, most: float) -> float:
        """One wave with `warps` warps per SM on average and `most` on the busiest."""
        return max(warps / self.throughput(warps), most * self.sm_cycles)


@dataclass(frozen=True)
class Volkov:
    """The smaller of what latency and what throughput allow, over the waves of a launch.

    Parameters
    ----------
    contention:
        Let the latency of memory grow with its throughput (section 6.5) on machines that have the
        constants `volkov.latency_*`.
    norm:
        How softly bounds that come near each other add up; 0 takes the largest alone.
    """

    name: ClassVar[str] = "volkov"
    title: ClassVar[str] = "Latency bound and throughput bound"
    source: ClassVar[str] = (
        "V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, "
        "chapters 3 and 6"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "warps that hinder each other near saturation, but for memory contention on chips whose "
        "constants are known",
        "what caches replace but the least recently used line",
        "a limit on outstanding loads, instruction fetch and TLB misses",
        "how unlike the warps of a block are, beyond what the counts of all warps show",
        "blocks of unequal work",
    )

    contention: bool = True
    norm: float = 0.0

    def predict(self, case: Case) -> Prediction:
        """The time of a case.

        Raises
        ------
        MissingNumberError
            If the machine lacks `sm.count`, `sm.issue_per_cycle`, `clock.sm`, `throughput.fp32`,
            `dram.bandwidth`, `latency.fp32`, or `latency.dram` or `latency.shared` where the
            kernel loads from there.
        """
        view = self.view(case)
        waves, sheet = view.waves, view.sheet
        start, warning = launch_overhead(case)
        parts = (
            *(
                Part(f"exposed {at}" if is_exposed else str(at), cycles)
                for at, is_exposed, cycles in view.time_spent()
            ),
            start,
        )
        cycles = sum(part.cycles for part in parts)
        # The same with the least and the most traffic.
        others = [
            self.view(case, estimate).waves.cycles + start.cycles
            for estimate in (Estimate.LOW, Estimate.HIGH)
        ]
        return Prediction(
            model=self,
            case=case,
            cycles=cycles,
            time_s=in_seconds(case, cycles),
            bottleneck=view.bottleneck(start.cycles),
            breakdown=parts,
            bounds=view.bounds(),
            low_s=in_seconds(case, min(cycles, *others)),
            high_s=in_seconds(case, max(cycles, *others)),
            terms=view.terms(),
            assumptions=(
                *case.occupancy.assumptions,
                *case.traffic.assumptions,
                *sheet.assumptions,
                *view.path.notes,
            ),
            warnings=(*sheet.left_out, *view.path.warnings, *warning),
            needed_warps=waves.needed_warps,
        )

    def predict_time(self, case: Case) -> tuple[float, Bottleneck]:
        """Seconds and bottleneck alone, as `predict` gives them, in a third of the time."""
        view = self.view(case)
        start, _ = launch_overhead(case)
        cycles = view.waves.cycles + start.cycles
        return in_seconds(case, cycles), view.bottleneck(start.cycles)

    def view(self, case: Case, estimate: Estimate = Estimate.CENTRAL) -> CaseEstimate:
        """The bounds of a case, before they become a time; raises as `predict` does."""
        by = f"model {self.name}"
        sheet = worksheet(case, estimate, by)
        law = contention_law(case.machine, written_share(case)) if self.contention else None
        path = _path(case, estimate, law, by)
        waves = Waves(
            blocks=case.launch.blocks,
            warps_per_block=case.launch.warps_per_block,
            sms=sheet.sms,
            blocks_per_sm=case.occupancy.blocks_per_sm,
            latency=path.latency,
            sm_cycles=softened(
                (u.cycles_per_warp for u in sheet.uses if not u.is_shared_by_sms), self.norm
            ),
            chip_cycles=softened(
                (u.cycles_per_warp for u in sheet.uses if u.is_shared_by_sms), self.norm
            ),
            schedulers=int(case.machine.get("sm.schedulers") or 1),
            scheduler_cycles=max(
                (u.cycles_per_warp for u in sheet.uses if u.is_of_scheduler(case.machine)),
                default=0.0,
            ),
            norm=self.norm,
        )
        return CaseEstimate(sheet, waves, path)


@dataclass(frozen=True)
class Path:
    """The latency bound, what it is spent on in shares of it, and the loads waited for.

    `wait_cycles` are those that a mean warp waits for slower ones of its block.
    """

    latency: MemoryContention
    shares: Mapping[Bottleneck, float]
    wait_cycles: float
    loads: float
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CaseEstimate:
    """One estimate of a case, ready to be told."""

    sheet: Worksheet
    waves: Waves
    path: Path

    @property
    def waits_for(self) -> Bottleneck:
        """The latency that a single warp mostly waits for."""
        return max(self.path.shares, key=lambda waits: self.path.shares[waits])

    def time_spent(self) -> list[tuple[Bottleneck, bool, float]]:
        """What the time after the start is spent on, whether as exposed latency, and its cycles."""
        waves = self.waves
        exposed = waves.steady_cycles - waves.throughput_cycles
        return [
            (self.sheet.busiest.resource, False, waves.throughput_cycles),
            *((waits, True, exposed * share) for waits, share in self.path.shares.items()),
            (Bottleneck.TAIL, False, waves.tail_cycles),
            (Bottleneck.UNEQUAL_WORK, False, waves.uneven_cycles),
        ]

    def bottleneck(self, start_cycles: float) -> Bottleneck:
        """What takes the largest share of the time."""
        spent = [(cycles, at) for at, _, cycles in self.time_spent()]
        cycles, bottleneck = max(spent, key=lambda each: each[0])
        return Bottleneck.LAUNCH_OVERHEAD if start_cycles > cycles else bottleneck

    def bounds(self) -> tuple[Part, ...]:
        """Every resource alone, its work spread evenly, and latency alone."""
        waves = self.waves
        rows = [Part(str(u.resource), self.sheet.even_cycles(u)) for u in self.sheet.uses]
        latency = waves.warps_per_sm / waves.resident_warps * waves.latency.a
        rows.append(Part("latency", latency))
        return tuple(sorted(rows, key=lambda row: -row.cycles))

    def terms(self) -> dict[str, float | str]:
        """The quantities of chapter 3, per SM."""
        waves = self.waves
        x = waves.throughput(waves.resident_warps)
        return {
            "latency bound, cycles": waves.latency.a,
            "waiting for slower warps of the block, cycles": self.path.wait_cycles,
            "latency under load, cycles": float(waves.latency.latency(x)),
            "loads waited for in a row": self.path.loads,
            "resident warps per SM": waves.resident_warps,
            "throughput bound, warps/cycle/SM": 1 / waves.cycles_per_warp,
            "warp throughput, warps/cycle/SM": x,
            "waves": waves.blocks / (waves.sms * waves.blocks_per_sm),
            **{f"cycles per warp, {u.resource}": u.cycles_per_warp for u in self.sheet.uses},
        }


def _path(case: Case, estimate: Estimate, law: MemoryContention | None, by: str) -> Path:
    """The latency bound of the mean warp: the representative one, scaled to the mean work.

    At barriers and at the end of its block it waits for slower ones. How many loads are waited for
    together is what the walk shows when each takes its own mean latency.
    """
    unloaded, notes = _unloaded_latency(case, estimate, law, by)
    # Loads that are waited for together share one wait: walk again with their latency.
    together = _loads_per_wait(case, single_warp(case, unloaded, by).walked)
    if together > 1:
        unloaded, notes = _unloaded_latency(case, estimate, law, by, together)
    alone = single_warp(case, unloaded, by)
    timed, walked = alone.timed, alone.walked
    # From the representative warp to the mean one, and what that waits for slower ones.
    spread = warp_spread(case, unloaded, by)
    replacement = case.machine.get("latency.block_replacement")
    missing = () if replacement else ("replacing a block: no latency.block_replacement",)
    scale = spread.mean_cycles / walked.cycles if walked.cycles else 1.0
    cycles = spread.mean_cycles + spread.wait_cycles + (replacement or 0.0)
    in_memory = scale * sum(
        float(wait)
        for wait, loads, stores in zip(
            walked.waits, timed.waits_for_memory, timed.store_next, strict=True
        )
        if loads or stores
    )
    loads = scale * _waits(walked)
    waiting = (SLOWER_WARPS,) if spread.wait_cycles > _NOTED * cycles else ()
    return Path(
        latency=_under_load(case, estimate, cycles, loads, law, together),
        shares=_shares(cycles, in_memory, spread),
        wait_cycles=spread.wait_cycles,
        loads=loads,
        notes=(*notes, *timed.notes, *waiting),
        warnings=missing,
    )


def _waits(walked: WarpTime) -> float:
    """Loads from global memory on the critical path."""
    return float(
        sum(
            times
            for (op_class, space), times in walked.critical.items()
            if op_class is OpClass.LOAD and space in (Space.GLOBAL, Space.GENERIC)
        )
    )


def _loads_per_wait(case: Case, walked: WarpTime) -> float:
    """Loads from global memory of a mean warp for every one that is waited for, at least 1."""
    loads = sum(a.requests for a in case.profile.accesses if a.space is Space.GLOBAL and a.is_load)
    waits = _waits(walked) * case.profile.warps
    return max(1.0, loads / waits) if waits else 1.0


def _shares(cycles: float, in_memory: float, spread: WarpSpread) -> dict[Bottleneck, float]:
    """What the latency bound is spent on; replacing a block counts as arithmetic."""
    slower = Bottleneck.BARRIERS if spread.has_barriers else Bottleneck.SLOWER_WARPS
    waits = {Bottleneck.MEMORY_LATENCY: in_memory, slower: spread.wait_cycles}
    shares = {name: wait / cycles if cycles else 0.0 for name, wait in waits.items()}
    return {**shares, Bottleneck.ARITHMETIC_LATENCY: max(0.0, 1 - sum(shares.values()))}


def _unloaded_latency(
    case: Case, estimate: Estimate, law: MemoryContention | None, by: str, together: float = 1.0
) -> tuple[float, tuple[str, ...]]:
    """Latency of loads from global memory, `together` at a time; 0 where the kernel has none."""
    outside = (Space.GLOBAL, Space.LOCAL)
    reads = (OpClass.LOAD, OpClass.ATOMIC)
    if not any(a.space in outside and a.op_class in reads for a in case.profile.accesses):
        return 0.0, ()
    dram = law.a if law else case.machine.number("latency.dram", by)
    return load_latency(case, estimate, dram, together)


def _under_load(
    case: Case,
    estimate: Estimate,
    cycles: float,
    loads: float,
    law: MemoryContention | None,
    together: float,
) -> MemoryContention:
    """The latency bound against warps per cycle and SM.

    Every load waited for takes longer by the law of section 6.4, and all SMs together make the
    throughput that it asks for.
    """
    moved_per_warp = case.traffic.dram.at(estimate) / case.profile.warps
    if law is None or not loads or not moved_per_warp:
        return MemoryContention(cycles, ())
    _, _, from_dram = shares_of_waits(case, estimate, together)
    slowest = slowest_loads(case, estimate, "dram", together)
    per_warp_rate = moved_per_warp * case.machine.number("sm.count")
    return (
        replace(law, s=slowest.s, m=slowest.m)
        .times(loads * from_dram, cycles)
        .in_units_of(per_warp_rate * case.machine.number("clock.sm"))
    )
