"""MDM: the memory-divergence model, and the four models that it is compared with.

L. Wang, M. Jahre, A. Adileh, L. Eeckhout: MDM: The GPU Memory Divergence Model. MICRO 2020. Its
equations 1 to 10 stand above `terms.memory_divergence`, which solves them; the intervals that they
are solved for are those of `terms.interval_profile`.

                 Table V     queue       registers
                 GPUMech     gpumech     gpumech
                 GPUMech+    gpumech+    gpumech+
                 MDM-Queue   mdm         gpumech+
                 MDM-MSHR    gpumech+    mdm
                 MDM         mdm         mdm
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from kernelcast.hierarchy.rules import caches_memory
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import Space
from kernelcast.models.terms.base import (
    Bottleneck,
    Case,
    Part,
    Prediction,
    in_seconds,
    launch_overhead,
)
from kernelcast.models.terms.beyond_l1 import BLOCK_BYTES
from kernelcast.models.terms.interval_profile import IntervalProfile, interval_profile
from kernelcast.models.terms.latency import l2_latency, load_latency
from kernelcast.models.terms.memory_divergence import (
    CpiStack,
    QueueingSystem,
    Scheme,
    contention,
    solve,
)
from kernelcast.models.terms.multithreading import GREEDY_THEN_OLDEST, check_policy
from kernelcast.models.terms.throughput import worksheet
from kernelcast.profiling.profile import Floats

_ENOUGH = float(1 << 30)
"""Registers of a chip whose memory is not cached: nothing there has to wait for one."""


@dataclass(frozen=True)
class Mdm:
    """Batches at the miss registers and queues at the NoC and the DRAM, interval by interval.

    Parameters
    ----------
    queue:
        What requests wait for at the NoC and the DRAM: gpumech, gpumech+ or mdm.
    registers:
        What requests wait for at the miss registers: gpumech, gpumech+ or mdm.
    policy:
        How the scheduler picks a warp: greedy-then-oldest or round-robin.
    """

    name: ClassVar[str] = "mdm"
    title: ClassVar[str] = "Intervals of a warp, batches at miss registers, queues at NoC and DRAM"
    source: ClassVar[str] = (
        "L. Wang, M. Jahre, A. Adileh, L. Eeckhout: MDM: The GPU Memory Divergence Model. "
        "MICRO 2020"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "limits of throughput: of pipes, of shared memory and, where latency hides it, of memory",
        "atomics that follow each other, barriers, and warps that wait for slower ones",
        "the last wave: blocks are spread evenly, in fractions if need be",
    )
    # Not sm.count: how many blocks run at once decides what they find in the L2 cache.
    swept: ClassVar[frozenset[str]] = frozenset(
        {"l1.miss_registers", "noc.bandwidth", "noc.queue", "dram.bandwidth"}
    )

    queue: str = "mdm"
    registers: str = "mdm"
    policy: str = GREEDY_THEN_OLDEST

    def __post_init__(self) -> None:
        Scheme(self.queue, self.registers)
        check_policy(self.policy)

    @property
    def scheme(self) -> Scheme:
        """The row of Table V."""
        return Scheme(self.queue, self.registers)

    def predict(self, case: Case) -> Prediction:
        """The time of a case.

        Raises
        ------
        MissingNumberError
            If the machine lacks what `latency.timing` or `throughput.worksheet` need or, where the
            launch uses global or local memory, `latency.dram`, `dram.bandwidth`,
            `l1.miss_registers` (`noc.queue` where lines are allocated on fill) or `noc.bandwidth`.
        """
        study = _CaseIntervals.of(self, case)
        chip = study.chips({})
        stack = study.stack(chip)
        start, missing = launch_overhead(case)
        rounds = float(study.rounds(chip)[0])
        parts = tuple(
            Part(name, float(getattr(stack, f)[0]) * rounds) for name, f in _PARTS.items()
        )
        parts = (*parts, start)
        cycles = sum(part.cycles for part in parts)
        sheet = worksheet(case, Estimate.CENTRAL, study.needed_by)
        bounds = tuple(Part(str(use.resource), sheet.even_cycles(use)) for use in sheet.uses)
        return Prediction(
            model=self,
            case=case,
            cycles=cycles,
            time_s=in_seconds(case, cycles),
            bottleneck=_bottleneck(study.profile, parts),
            breakdown=parts,
            bounds=bounds,
            terms=study.terms(chip, stack),
            assumptions=(
                *case.occupancy.assumptions,
                *case.traffic.assumptions,
                *study.notes,
                "blocks are spread evenly over the SMs that have work",
            ),
            warnings=(*study.warnings(chip, stack), *_exceeded(bounds, cycles), *missing),
        )

    def predict_many(self, case: Case, numbers: Mapping[str, Floats]) -> Floats:
        """Seconds for many chips that differ from the case's in some numbers of `swept`.

        Sweeps of a design space call it; `terms.memory_divergence.solve` is what they end up in.
        Arrays have one number for each chip. What the caches count is that of the case.
        """
        study = _CaseIntervals.of(self, case)
        chips = study.chips(numbers)
        start, _ = launch_overhead(case)
        cycles = study.stack(chips).cycles * study.rounds(chips) + start.cycles
        return np.asarray(cycles / case.machine.number("clock.sm", study.needed_by), np.float64)


def _exceeded(bounds: tuple[Part, ...], cycles: float) -> tuple[str, ...]:
    """A warning where a resource that the model does not know takes longer than it says."""
    longest = max(bounds, key=lambda bound: bound.cycles)
    if longest.cycles <= _NOTED * cycles:
        return ()
    return (
        f"{longest.name} alone takes {longest.cycles / cycles:.2g} times as long: this model knows "
        "no limit of throughput",
    )


_NOTED = 1.05
"""From so many times the predicted cycles on, a bound that exceeds them is worth a warning."""

_PARTS = {
    "base": "base",
    "dependence": "dependence",
    str(Bottleneck.MISS_REGISTERS): "miss_registers",
    str(Bottleneck.NOC_BANDWIDTH): "noc",
    str(Bottleneck.DRAM_BANDWIDTH): "dram",
}
"""Parts of the breakdown, and the fields of `CpiStack` that they are."""


def _bottleneck(profile: IntervalProfile, parts: tuple[Part, ...]) -> Bottleneck:
    """What the largest part of the time stands for."""
    largest = max(parts, key=lambda part: part.cycles).name
    if largest == "base":
        return Bottleneck.ISSUE
    if largest != "dependence":
        return Bottleneck(largest)
    is_memory = profile.waits_for_memory
    return Bottleneck.MEMORY_LATENCY if is_memory else Bottleneck.ARITHMETIC_LATENCY


@dataclass(frozen=True)
class _CaseIntervals:
    """A case and all of it that no number of `Mdm.swept` changes."""

    model: Mdm
    case: Case
    profile: IntervalProfile
    notes: tuple[str, ...]

    @staticmethod
    def of(model: Mdm, case: Case) -> _CaseIntervals:
        needed_by = f"model {model.name}"
        latency, notes = 0.0, tuple[str, ...]()
        if any(a.space in (Space.GLOBAL, Space.LOCAL) for a in case.profile.accesses):
            dram = case.machine.number("latency.dram", needed_by)
            latency, notes = load_latency(case, Estimate.CENTRAL, dram)
        profile = interval_profile(case, latency, needed_by)
        return _CaseIntervals(model, case, profile, (*notes, *profile.notes))

    @property
    def needed_by(self) -> str:
        return f"model {self.model.name}"

    def chips(self, numbers: Mapping[str, Floats]) -> QueueingSystem:
        """The chips, one row each; anything will do where the launch asks nothing beyond the L1."""

        def column(path: str) -> Floats:
            value = numbers.get(path)
            if value is None:
                value = np.array([self.case.machine.number(path, self.needed_by)])
            return np.asarray(value, np.float64)[:, np.newaxis]

        launch = self.case.launch
        sms = np.minimum(column("sm.count"), float(launch.blocks))
        blocks = np.minimum(float(self.case.occupancy.blocks_per_sm), np.ceil(launch.blocks / sms))
        w = blocks * launch.warps_per_block
        rate = self.case.machine.number("sm.issue_per_cycle", self.needed_by)
        slots, slot_cycles = max(1.0, rate), max(1.0, 1 / rate)
        if not self.profile.requests:
            return QueueingSystem(w, sms, _ENOUGH, 0.0, 0.0, 0.0, 0.0, slots, slot_cycles)
        line = self.case.machine.number("clock.sm", self.needed_by) * BLOCK_BYTES
        is_cached = caches_memory(self.case.machine)
        knows_noc = is_cached and self.model.scheme.knows_noc
        llc, dram = self._latencies
        return QueueingSystem(
            w=w,
            sms=sms,
            mshrs=column(self._registers) if is_cached else _ENOUGH,
            noc_service=line / column("noc.bandwidth") if knows_noc else 0.0,
            dram_service=line / column("dram.bandwidth"),
            min_llc=llc,
            min_dram=dram - llc,
            slots=slots,
            slot_cycles=slot_cycles,
        )

    @property
    def _registers(self) -> str:
        """What bounds the requests of an SM: a streaming cache has registers for more of them."""
        is_streaming = self.case.machine.get("l1.allocates_on_fill") == 1
        return "noc.queue" if is_streaming and self.model.scheme.knows_noc else "l1.miss_registers"

    @property
    def _latencies(self) -> tuple[float, float]:
        """Round trips to the LLC and to the DRAM."""
        dram = self.case.machine.number("latency.dram", self.needed_by)
        llc = l2_latency(self.case.machine)
        return (dram if llc is None else min(llc, dram)), dram

    def rounds(self, chips: QueueingSystem) -> Floats:
        """How often an SM executes W warps."""
        launch = self.case.launch
        warps = launch.blocks * launch.warps_per_block / chips.sms
        return np.ravel(np.maximum(1.0, warps / chips.w))

    def stack(self, chips: QueueingSystem) -> CpiStack:
        """Where the cycles of W warps go, for every chip."""
        profile, model = self.profile, self.model
        return solve(profile.intervals, profile.misses, chips, model.scheme, model.policy)

    def terms(self, chip: QueueingSystem, stack: CpiStack) -> dict[str, float | str]:
        """The named quantities of one chip, requests and stalls summed over the mean warp."""
        warp = self.profile
        w, asked = float(np.ravel(chip.w)[0]), warp.requests
        per_warp = max(1.0, w * warp.instructions)
        parts = {f.name: float(getattr(stack, f.name)[0]) for f in fields(stack)}
        return {
            "W": w,
            "#Instructions": warp.instructions,
            "#Intervals": float(np.sum(warp.times)),
            "representative warps": float(len(warp.warps)),
            "M_Read": float(warp.times @ warp.reads),
            "M_Write": float(warp.times @ warp.writes),
            "LLCMissRatio": float(warp.times @ warp.llc_misses) / asked if asked else 0.0,
            "#MSHRs": float(np.ravel(chip.mshrs)[0]),
            "IPC_SM": per_warp / float(stack.cycles[0]) if stack.cycles[0] else 0.0,
            **{f"CPI of {name.replace('_', ' ')}": c / per_warp for name, c in parts.items()},
        }

    def warnings(self, chip: QueueingSystem, stack: CpiStack) -> tuple[str, ...]:
        """What to beware of: the jump of equation 9 where the NoC saturates."""
        misses, model = self.profile.misses, self.model
        found = contention(misses, chip, model.scheme)
        jumps = np.ravel(found.divergent & found.saturated)
        if model.queue != "mdm" or not jumps.any():
            return ()
        without = replace(self, model=replace(model, queue="gpumech+")).stack(chip)
        share = float(np.sum(misses.times * jumps) / np.sum(misses.times))
        return (
            f"the NoC saturates in {share:.0%} of the intervals with requests (equation 10): from "
            "there on all of its queue is waited for, not half of it, and the time is "
            f"{float(stack.cycles[0] / without.cycles[0]):.2f} times that without this step; with "
            "fewer miss registers or SMs it may be shorter",
        )
