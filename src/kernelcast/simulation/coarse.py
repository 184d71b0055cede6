"""A coarse simulation of one SM: warps with one flat trace, compute and memory units as queues.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 5.2.1 and Algorithm 5.1. Branches are serialised and loops flattened: an operation
stands for all executions of an instruction by a mean warp. How long it takes depends on how many
warps are ready when it becomes ready itself (TLP), and on nothing that happens later:

    delay = latency / TLP                       where TLP <= peak
            beyond latency / TLP + penalty      elsewhere, and never less than the floor

The algorithm ends, as printed, when no warp is queued, though some may still be executed; here it
ends with the last warp. What TLP is for an access to memory, the text and its results say
differently: `memory_tlp` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import InputError
from kernelcast.simulation.coarse_loop import run_warps


class Strategy(StrEnum):
    """Which warp of a queue is taken next."""

    FIRST = "first"
    LAST = "last"
    SHORTEST = "shortest"


class MemoryTlp(StrEnum):
    """The warps that share the latency of an access to memory."""

    RESIDENT = "resident"
    """All that are ready or in memory: those whose requests may be in flight together."""
    READY = "ready"
    """Those that are ready, as printed: a warp that comes back alone waits alone the next time."""


@dataclass(frozen=True)
class CoarseTrace:
    """The operations of a warp in order, an array each.

    `kind` is that of `coarse_loop`. `latency` and `penalty` are cycles of all executions together,
    ILP already divided out of the former and `peak`; `beyond` scales the latency where TLP exceeds
    `peak`, and `floor` is the least that a delay may be.
    """

    kind: NDArray[np.int8]
    latency: NDArray[np.float64]
    peak: NDArray[np.float64]
    beyond: NDArray[np.float64]
    penalty: NDArray[np.float64]
    floor: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True)
class CoarseSm:
    """What of an SM the simulation knows; all of it may be varied.

    `most_warps` and `most_blocks` are resident at once. A `queue` is served by a strategy of its
    own for compute and for memory units.
    """

    most_warps: int
    most_blocks: int
    compute_units: int = 1
    memory_units: int = 1
    compute_queue: Strategy = Strategy.FIRST
    memory_queue: Strategy = Strategy.FIRST
    memory_tlp: MemoryTlp = MemoryTlp.RESIDENT


@dataclass(frozen=True)
class CoarseRun:
    """What happened.

    `idle` holds, by operation, the cycles in which it was executed while no compute unit was busy
    (hot spots), and `charged` what it has of all `cycles`, which it sums to: of cycles in which
    something is computed the operations in compute units, else those in memory units. `tlp` is the
    mean of the ready warps over time.
    """

    cycles: float
    computing_cycles: float
    tlp: float
    operations: int
    idle: NDArray[np.float64] = field(repr=False)
    charged: NDArray[np.float64] = field(repr=False)


def simulate_coarsely(
    trace: CoarseTrace, sm: CoarseSm, blocks: int, warps_per_block: int
) -> CoarseRun:
    """Execute blocks on one SM (Algorithm 5.1).

    InputError where no block fits, or there is no unit.
    """
    if sm.most_blocks < 1 or sm.most_warps < warps_per_block:
        raise InputError(f"a block of {warps_per_block} warps does not fit the SM")
    if min(sm.compute_units, sm.memory_units) < 1:
        raise InputError("an SM without units", hint="give at least one of each kind")
    warps = blocks * warps_per_block
    units = max(sm.compute_units, sm.memory_units)
    # A queue holds every warp; where it begins and how long it is stands behind the others.
    queues = np.zeros((8, 2 * max(warps, units) + 2), np.int64)
    idle, charged = np.zeros((2, len(trace)))
    result = np.zeros(4)
    order = tuple(Strategy)
    run_warps(
        trace.kind,
        trace.latency,
        trace.peak,
        trace.beyond,
        trace.penalty,
        trace.floor,
        blocks,
        warps_per_block,
        sm.most_warps,
        sm.most_blocks,
        sm.compute_units,
        sm.memory_units,
        order.index(sm.compute_queue),
        order.index(sm.memory_queue),
        sm.memory_tlp is MemoryTlp.RESIDENT,
        np.zeros((2, max(warps, 1)), np.int64),
        queues,
        np.zeros(max(warps, 1)),
        np.zeros((2, max(blocks, 1)), np.int64),
        idle,
        charged,
        result,
    )
    cycles, computing, tlp_cycles, _ = result
    return CoarseRun(
        cycles=float(cycles),
        computing_cycles=float(computing),
        tlp=float(tlp_cycles / cycles) if cycles else 0.0,
        operations=len(trace) * warps,
        idle=idle,
        charged=charged,
    )
