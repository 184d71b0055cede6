"""How long the L2 cache takes for what the SMs ask of it.

Every slice takes one request after the other. One that reads it looks up in a clock, one that
writes it keeps for longer; what is read goes to the SMs by a way of its own. So, of the requests
n_i for s_i sectors that loads (R), stores (W) and atomics (A) make of an L2 cache in P partitions,

    t = max(sum over R of max(32 s_i / B_read, n_i / r),
            sum over R of n_i / r
                + sum over W of n_i / w + (s_i - n_i) (128 / B_write - 1 / w) / 3
                + sum over A of max(32 s_i / B_write,
                                    ((1 + (P - 1) / P) n_i + 2 o_i + (P - 1) / P b_i) / r))

- B_read is the bandwidth of streams that read (`l2.bandwidth`), and r the requests that all slices
  take in a second (`l2.request_rate`): where lanes lie apart, each with a line to itself, that
  bounds the time and not the bytes. On an H100 lanes reading anywhere in 13 MB make 137 G of them,
  as many as its slices have clocks, by the profiler's count of these.
- B_write is the bandwidth of streams that only write (`l2.write_bandwidth`), and w the stores to a
  sector of a line each (`l2.write_rate`); every further sector of the line takes the same, so that
  a whole line takes what it does in a stream: 4.2 to 5.5 clocks of a slice on an A40, an A100, an
  H100 and an H200. On both Hoppers what is written among as many reads takes 1.16 and 1.23 of
  that, and with 1 / r for each read 1.18 and 1.23.
- What changes a line passes its own partition, too, where the SM is nearer to another one: on an
  H100 91 G reductions a second to a word anywhere, two for three reads.
- So does what an atomic gives back: b_i is n_i where somebody reads it, else 0. 67 G of them a
  second in place of 91.
- Where k lanes of an atomic want one word its line is asked for in k rounds, of which o_i are
  further ones, and s_i counts the sectors of them all. A round takes a turn for the line and one to
  change it: 66 G lanes a second whose warps all want one word, each another.

Where nobody has measured r, bytes are all that counts; without B_write, what is written takes its
turn among what is read, a line as long as one that is read, its first sector 1 / w; without w, a
sector of a stream takes what one by itself does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelcast.hierarchy.atomics import with_results
from kernelcast.hierarchy.l2_cache import l2_times
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.models.terms.base import Case
from kernelcast.models.terms.beyond_l1 import requests_beyond_l1
from kernelcast.profiling.layout import LINE_SECTORS
from kernelcast.profiling.profile import Floats


def l2_seconds(case: Case, estimate: Estimate) -> float | None:
    """Seconds in which the L2 cache serves a launch, None where its bandwidth is not known."""
    times, moved = l2_times(case.machine), case.traffic.l2
    if times is None:
        return None
    if not moved.central:
        return moved.at(estimate) * times.read / SECTOR_BYTES
    asked, executed = requests_beyond_l1(case), case.profile.instruction_warps
    reads = np.maximum(asked.sectors_read * times.read, asked.reads * times.reading)
    is_atomic = np.array([i.op_class is OpClass.ATOMIC for i in case.kernel.instructions])
    further = np.maximum(asked.sectors_written - asked.writes, 0.0)
    stores = asked.writes * times.first_written + further * times.written
    more = _further_rounds(case)
    atomics = (asked.sectors_written + more.sectors) * times.of_line / LINE_SECTORS
    changes = 2 * more.lines * times.reading + asked.writes * times.writing
    changes += asked.writes * with_results(case.kernel) * times.returning
    writes = np.where(is_atomic, np.maximum(atomics, changes), stores)
    parts = (reads, writes, asked.reads * times.reading)
    of_reads, of_writes, of_lookups = (float(each @ executed) for each in parts)
    together = of_writes + (of_reads if times.is_shared else of_lookups)
    return max(of_reads, together) * moved.at(estimate) / moved.central


class _FurtherRounds(NamedTuple):
    """By instruction and execution by a warp, what further rounds of atomics ask for."""

    lines: Floats
    sectors: Floats


def _further_rounds(case: Case) -> _FurtherRounds:
    found = np.zeros((2, len(case.kernel.instructions)))
    for access in case.profile.accesses:
        if access.rounds:
            further = access.rounds - access.lines, access.turns - access.sectors
            found[:, access.instruction] += further
    lines, sectors = found / np.maximum(case.profile.instruction_warps, 1.0)
    return _FurtherRounds(lines, sectors)
