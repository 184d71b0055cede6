"""Hierarchical roofline: every resource alone, the slowest decides.

    cycles = max over resources r of  work(r) / rate(r)

The rows are those of the worksheet (`models.terms.throughput`): the DRAM, the L2 and L1 caches,
shared memory, every arithmetic pipe, the load/store units and the issue slots. Work inside an SM is
charged to the SM that gets the most blocks. A lower bound: nothing waits for anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.models.terms.base import (
    Bottleneck,
    Case,
    Part,
    Prediction,
    in_seconds,
    launch_overhead,
)
from kernelcast.models.terms.throughput import ResourceUse, Worksheet, worksheet


@dataclass(frozen=True)
class Roofline:
    """The least time that the rates of the chip allow."""

    name: ClassVar[str] = "roofline"
    title: ClassVar[str] = "Hierarchical roofline, per pipe"
    source: ClassVar[str] = (
        "S. Williams, A. Waterman, D. Patterson: Roofline. Communications of the ACM 52(4), 2009; "
        "with one roof per cache level and pipe"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "latency: too few warps to keep a resource busy",
        "what caches replace but the least recently used line",
        "waiting at barriers, and atomics on one address",
        "warps that hinder each other, and blocks of unequal work",
    )

    def predict(self, case: Case) -> Prediction:
        """The time of a case.

        Raises
        ------
        MissingNumberError
            If the machine lacks `sm.count`, `sm.issue_per_cycle`, `clock.sm`, `throughput.fp32`
            or `dram.bandwidth`.
        """
        sheet = worksheet(case, Estimate.CENTRAL, f"model {self.name}")
        start, warning = launch_overhead(case)
        binding = _binding(sheet)
        even = sheet.even_cycles(binding)
        tail = Part(str(Bottleneck.TAIL), sheet.cycles(binding) - even)
        parts = (Part(str(binding.resource), even), tail, start)
        cycles = sum(part.cycles for part in parts)
        # The same with the least and the most traffic.
        low, high = (
            self._cycles(case, estimate) + start.cycles
            for estimate in (Estimate.LOW, Estimate.HIGH)
        )
        return Prediction(
            model=self,
            case=case,
            cycles=cycles,
            time_s=in_seconds(case, cycles),
            bottleneck=Bottleneck(max(parts, key=lambda part: part.cycles).name),
            breakdown=parts,
            bounds=tuple(Part(str(u.resource), sheet.cycles(u)) for u in _by_cycles(sheet)),
            low_s=in_seconds(case, low),
            high_s=in_seconds(case, high),
            terms={f"cycles per warp, {u.resource}": u.cycles_per_warp for u in sheet.uses},
            assumptions=(
                *case.occupancy.assumptions,
                *case.traffic.assumptions,
                *sheet.assumptions,
            ),
            warnings=(*sheet.left_out, *warning),
        )

    def _cycles(self, case: Case, estimate: Estimate) -> float:
        sheet = worksheet(case, estimate, f"model {self.name}")
        return sheet.cycles(_binding(sheet))


def _by_cycles(sheet: Worksheet) -> list[ResourceUse]:
    return sorted(sheet.uses, key=lambda use: -sheet.cycles(use))


def _binding(sheet: Worksheet) -> ResourceUse:
    return _by_cycles(sheet)[0]
