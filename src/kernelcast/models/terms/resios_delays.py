"""Delays of instructions by parallelism: equations 4.5 to 4.9 of Resios 2011.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 4.3. With the parallelism P = ILP TLP, in cycles for each warp:

    compute    delay = latency / P                              where P <= max_i
                       latency / (P max_i) + 32 / throughput    elsewhere               (4.5)
    memory     delay = latency / P                              where P <= max_p
                       latency / P + penalty                    elsewhere               (4.6)
    global     penalty = size c / BW                                                    (4.8)
    shared     penalty = 32 size / (n_banks BW) + c size / BW                           (4.9)

(4.5) divides the latency by max_i where (4.6) does not, and both jump at their thresholds, by up to
the penalty: the delay of a multiply-add is 2 cycles at 11 warps, 2.17 at 12, and 2 again at
infinitely many. What both tend to, and Figure 4.3 draws, has no threshold:

    delay = max(latency / P, penalty)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelcast.ir.sizes import WARP_LANES


@dataclass(frozen=True, slots=True)
class Delay:
    """What decides how long an instruction of a warp takes.

    `peak` is the parallelism up to which only the latency counts (max_i, max_p), `penalty` the
    cycles in which the unit serves one warp, and `beyond` what the latency is multiplied by where
    the parallelism exceeds the peak.
    """

    latency: float
    peak: float
    penalty: float
    beyond: float = 1.0

    def printed(self, parallelism: float) -> float:
        """Equation 4.5 or 4.6."""
        cycles = self.latency / parallelism
        return cycles if parallelism <= self.peak else cycles * self.beyond + self.penalty

    def limit(self, parallelism: float) -> float:
        """The law without its thresholds."""
        return max(self.latency / parallelism, self.penalty)


def compute_delay(latency: float, throughput: float, warps: float) -> Delay:
    """Of a compute instruction (4.5): results per cycle and SM, and max_i."""
    return Delay(latency, warps, WARP_LANES / throughput, 1 / warps)


def memory_delay(latency: float, penalty: float, warps: float) -> Delay:
    """Of an access to memory (4.6), with max_p."""
    return Delay(latency, warps, penalty)


def global_penalty(size_bytes: float, requests: float, bytes_per_cycle: float) -> float:
    """Cycles of `requests` lines of one warp (4.8)."""
    return size_bytes * requests / bytes_per_cycle


def shared_penalty(
    size_bytes: float, conflicts: float, banks: float, bank_bytes_per_cycle: float
) -> float:
    """Cycles of a request to shared memory (4.9); without conflicts c is 0."""
    parallel = WARP_LANES * size_bytes / (banks * bank_bytes_per_cycle)
    return parallel + conflicts * size_bytes / bank_bytes_per_cycle


def warps_for_peak(latency: float, penalty: float) -> int:
    """Warps that reach the peak by Little's law: for chips of which nobody has measured it.

    Table 3.1 has what was measured: it is what this says of add, fadd, fmul, and, madd alone.
    """
    return max(1, math.ceil(latency / penalty)) if penalty else 1
