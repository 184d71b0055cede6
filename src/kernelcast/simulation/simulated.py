"""What happened on simulated SMs, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Simulated:
    """What happened on some SMs.

    Attributes
    ----------
    cycles:
        Until the last block had ended, and all it stored had arrived; where the limit of
        instructions was reached, until then.
    is_cut:
        Whether that limit was reached before the end, or streams were cut themselves.
    full_until, issued_full:
        The cycle from which on an SM had fewer blocks than it has room for, and how many
        instructions had been issued by then; both 0 where that never was.
    issued:
        How often each instruction was.
    repeated:
        How many of these warps issued once more, since others had changed the words of shared
        memory that they tried to swap.
    stalls:
        By instruction and reason (`layout`), cycles of warps that were about to issue it.
    busy:
        By pipe of `simulation.layout`, cycles of all schedulers; a pipe that those of an SM share
        is busy for all of them.
    times:
        By block of the stream, when it began and ended; -1 where it was not simulated.
    warp_cycles:
        Cycles for which warps were resident, all together.
    shared_busy, l1_busy:
        Cycles of all SMs for which their banks served shared memory, and global and local memory.
    l2_busy, dram_busy:
        Cycles for which their share of the L2 cache's bandwidth, and of the DRAM's time, was taken.
    l1_sectors, l1_hits:
        Sectors of loads that the L1 caches were asked for, and those of them that they held.
    lines, lines_from_l2:
        Lines of instructions that schedulers asked their SM for, and those of them that the SM had
        to ask the L2 cache for.
    events:
        Issued instructions, as `layout.EVENT`, where asked for.
    """

    sms: int
    schedulers: int
    cycles: int
    is_cut: bool
    full_until: int
    issued_full: int
    issued: NDArray[np.int64] = field(repr=False)
    repeated: int
    stalls: NDArray[np.int64] = field(repr=False)
    busy: NDArray[np.float64] = field(repr=False)
    times: NDArray[np.int64] = field(repr=False)
    warp_cycles: float
    shared_busy: float
    l1_busy: float
    l2_busy: float
    dram_busy: float
    l1_sectors: int
    l1_hits: int
    lines: int
    lines_from_l2: int
    events: NDArray[np.void] = field(repr=False)

    @property
    def executed(self) -> int:
        """Instructions that were issued, those that were once more not counted."""
        return max(1, int(self.issued.sum()) - self.repeated)
