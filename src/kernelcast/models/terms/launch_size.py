"""The block size that three rules of thumb ask for.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 5.2.1. In warps of a block, n_t threads in all, n_r registers of a thread:

    n_w^1 = n_t / (n_SM 32)                                     as much work on every SM
    n_w^2 = min(max_w, max_r / (32 n_r))                        what fits
    n_w^3 = max over instructions i of  c L_i         where i computes
                                        c L_i / ai    where i accesses memory
    n_w = min(n_w^1, n_w^2, n_w^3)
    blocks(n_w) = 32 n_w, or (n_w, 32) in two dimensions

Divisions round up: 1024 threads on 7 SMs are 4.57 warps each, and the thesis suggests 5. The result
is limited to the most threads of a block. As printed, n_w^2 also divides shared memory by 32 n_s;
but n_s belongs to a block, so that it says whether a block fits and not how many warps it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kernelcast.errors import LaunchError
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.machines.machine import Machine

_NEEDED_BY = "the rules of block sizes"


@dataclass(frozen=True, slots=True)
class LaunchSize:
    """Warps of a block by the three strategies.

    `even` spreads the work over the SMs, `utilisation` is what fits an SM, and `hiding` hides
    latency; `most` is what a block may have.
    """

    even: int
    utilisation: int
    hiding: int
    most: int

    @property
    def warps(self) -> int:
        """n_w."""
        return max(1, min(self.even, self.utilisation, self.hiding, self.most))

    def block(self, dimensions: int = 1) -> tuple[int, int]:
        """Threads of a block in x and y."""
        return (WARP_LANES * self.warps, 1) if dimensions == 1 else (self.warps, WARP_LANES)


def launch_size(
    machine: Machine,
    threads: int,
    *,
    registers: int = 0,
    shared_bytes: int = 0,
    compute_latencies: Iterable[float] = (),
    memory_latencies: Iterable[float] = (),
    intensity: float = math.inf,
) -> LaunchSize:
    """The three strategies for so many threads; registers and shared memory are 0 where unknown.

    LaunchError where a block's shared memory does not fit, MissingNumberError where the machine
    lacks a limit.
    """
    number = machine.number
    if shared_bytes > number("occupancy.shared_per_sm", _NEEDED_BY):
        raise LaunchError(f"{shared_bytes} B of shared memory do not fit an SM of {machine.name}")
    fits = number("occupancy.warps_per_sm", _NEEDED_BY)
    if registers:
        held = number("occupancy.registers_per_sm", _NEEDED_BY)
        fits = min(fits, held // (WARP_LANES * registers))
    # Latencies are hidden at c warps for each cycle; what accesses memory does so 1/ai of the time.
    c = machine.get("resios.compute_factor")
    if c is None:
        c = number("sm.issue_per_cycle", _NEEDED_BY)
    needed = [c * cycles for cycles in compute_latencies]
    needed += [c * cycles / intensity for cycles in memory_latencies]
    return LaunchSize(
        even=math.ceil(threads / (number("sm.count", _NEEDED_BY) * WARP_LANES)),
        utilisation=int(fits),
        hiding=math.ceil(max(needed, default=fits)),
        most=int(number("occupancy.threads_per_block", _NEEDED_BY)) // WARP_LANES,
    )
