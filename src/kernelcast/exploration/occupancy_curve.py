"""Throughput of a launch against occupancy, and the occupancy that hides its latency.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016.

    x(n) = min(n / latency bound, throughput bound)              section 3.5
    n needed = latency bound * throughput bound                  section 3.10

Where the latency of memory grows with its throughput (section 6.5), x comes near its bound only
slowly; latency then counts as hidden at 90 % of the bound (section 4.5):

    n needed = latency bound(0.9 throughput bound) * 0.9 throughput bound
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernelcast.machines.occupancy import most_for_blocks
from kernelcast.models.terms.base import Bottleneck, Case
from kernelcast.models.volkov import Volkov

_LOADED_SHARE = 0.9
"""Of the throughput bound, where memory latency grows with load."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One occupancy; throughputs in warps per cycle and SM.

    `latency_bound` is what latency without load would allow.
    """

    blocks: int
    warps: int
    throughput: float
    latency_bound: float


@dataclass(frozen=True)
class OccupancyCurve:
    """A launch on a machine at every number of blocks that an SM can hold.

    Parameters
    ----------
    points:
        From one block per SM to the most that the machine's warps and block slots allow, whatever
        registers and shared memory the kernel takes.
    latency_cycles, throughput_bound:
        The two bounds: cycles of one warp alone, without load on memory, and warps per cycle and
        SM.
    waits_for, busiest:
        What a single warp mostly waits for, and the resource behind the throughput bound.
    needed_warps:
        Where the curve reaches `needed_share` of the throughput bound; infinite where never.
    resident_warps:
        Where the launch stands: warps that an SM really holds, fewer than its occupancy where the
        grid is small.
    most_for_needed:
        What registers per thread (`registers`) and bytes of shared memory per block
        (`shared memory`) may be at most so that enough blocks fit; None beside any other limit
        that is below that.
    """

    case: Case
    points: tuple[CurvePoint, ...]
    latency_cycles: float
    throughput_bound: float
    waits_for: Bottleneck
    busiest: Bottleneck
    needed_warps: float
    needed_share: float
    resident_warps: float
    throughput: float
    most_for_needed: Mapping[str, int | None]

    @property
    def limit_warps(self) -> int:
        """The most warps that blocks of this size can put on an SM."""
        return self.points[-1].warps

    @property
    def wanted(self) -> CurvePoint:
        """The fewest blocks that hide the latency; the most that can be where none do."""
        return next((p for p in self.points if p.warps >= self.needed_warps), self.points[-1])

    @property
    def is_enough(self) -> bool:
        """Whether the launch hides its latency as it stands."""
        return self.resident_warps >= self.needed_warps

    @property
    def gain(self) -> float:
        """Throughput at `wanted` over that of the launch."""
        return self.wanted.throughput / self.throughput

    @property
    def latency_for_present_cycles(self) -> float:
        """How long one warp may take for the present warps to reach the throughput bound."""
        return self.resident_warps / self.throughput_bound


def occupancy_curve(case: Case, model: Volkov | None = None) -> OccupancyCurve:
    """The curve of a case by the volkov model.

    Raises
    ------
    MissingNumberError
        If the machine lacks a number that the model needs.
    """
    view = (model or Volkov()).view(case)
    waves = view.waves
    held = case.occupancy
    needed_by = "the curve of occupancy"
    most_warps = int(case.machine.number("occupancy.warps_per_sm", needed_by))
    slots = int(case.machine.number("occupancy.blocks_per_sm", needed_by))
    counts = range(1, min(most_warps // held.warps_per_block, slots) + 1)
    points = tuple(
        CurvePoint(
            blocks=blocks,
            warps=blocks * held.warps_per_block,
            throughput=waves.throughput(float(blocks * held.warps_per_block)),
            latency_bound=blocks * held.warps_per_block / waves.latency.a,
        )
        for blocks in counts
    )
    bound = 1 / waves.cycles_per_warp
    share = _LOADED_SHARE if waves.latency.terms else 1.0
    needed = float(waves.latency.latency(share * bound)) * share * bound
    wanted = next((p for p in points if p.warps >= needed), points[-1])
    return OccupancyCurve(
        case=case,
        points=points,
        latency_cycles=waves.latency.a,
        throughput_bound=bound,
        waits_for=view.waits_for,
        busiest=view.sheet.busiest.resource,
        needed_warps=needed if math.isfinite(needed) else math.inf,
        needed_share=share,
        resident_warps=waves.resident_warps,
        throughput=waves.throughput(waves.resident_warps),
        most_for_needed=most_for_blocks(
            case.machine, held, wanted.blocks, case.kernel.resources.named_barriers
        ),
    )
