"""How far the instructions of other warps fill the stalls of one (GPUMech, equations 9 to 16).

J.-C. Huang, J. H. Lee, H. Kim, H.-H. S. Lee: GPUMech: GPU performance modeling technique based on
interval analysis. MICRO 2014, as corrected by V. Volkov: Understanding latency hiding on GPUs. PhD
thesis, UC Berkeley, 2016, sections 7.5 and 7.6.

    p = #insts / total_cycles                                                            (9)
    round robin:          NO_i = p (n - 1) (interval_insts_i - 1)                        (10), (11)
    greedy then oldest:   NO_i = max(0, avg_interval_insts min(p stall_cycles_i, 1) (n - 1)
                                        - stall_cycles_i)                                (12)-(16)
    wait for miss registers: mean over j = 1..r of ceil(j / #MSHRs) - 1 latencies        (20)

(15) and (16) swap max and min in the paper.
"""

from __future__ import annotations

import numpy as np

from kernelcast.errors import InputError
from kernelcast.models.terms.work import Numbers
from kernelcast.profiling.profile import Floats

GREEDY_THEN_OLDEST = "greedy-then-oldest"
_POLICIES = ("round-robin", GREEDY_THEN_OLDEST)


def check_policy(policy: str) -> None:
    """Raise InputError where `policy` is none of the two."""
    if policy not in _POLICIES:
        raise InputError(f"policy is {policy!r}", hint=f"give {' or '.join(_POLICIES)}")


def non_overlapped(
    policy: str, insts: Numbers, stall: Numbers, p: Numbers, mean_insts: Numbers, n: Numbers
) -> Floats:
    """NO_i: instructions of the other n - 1 warps that an interval has to wait for.

    `insts` are those of the interval, `stall` its stall in cycles of an issue slot, `mean_insts`
    the instructions of a mean interval, and `p` the probability that a warp issues in a cycle.
    """
    others = np.maximum(0.0, np.asarray(n, np.float64) - 1)
    if policy != GREEDY_THEN_OLDEST:
        return np.asarray(p * others * (np.asarray(insts, np.float64) - 1))  # (10), (11)
    issued = mean_insts * np.minimum(p * np.asarray(stall, np.float64), 1.0) * others  # (12)-(15)
    return np.maximum(0.0, issued - stall)  # (16)


def mean_turns(requests: Numbers, registers: Numbers) -> Floats:
    """How many latencies a mean one of r requests waits for a miss register, r being rounded up.

    Requests take turns at the registers, and the k-th turn waits k - 1 latencies: equation 20 in
    closed form.
    """
    r = np.maximum(1.0, np.ceil(np.asarray(requests, np.float64)))
    whole = np.floor(r / registers)
    rest = r - whole * registers
    return np.asarray((registers * whole * (whole - 1) / 2 + rest * whole) / r, np.float64)
