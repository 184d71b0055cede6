"""What a simulation says of a launch: stalls, pipes, and cycles of the whole grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.simulation import layout
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.simulated import Simulated

STALLS: Mapping[int, str] = {
    layout.SELECTED: "selected",
    layout.NOT_SELECTED: "not selected",
    layout.WAIT: "wait",
    layout.LONG_SCOREBOARD: "long scoreboard",
    layout.SHORT_SCOREBOARD: "short scoreboard",
    layout.BARRIER: "barrier",
    layout.MATH_PIPE: "math pipe throttle",
    layout.LG_THROTTLE: "lg throttle",
    layout.MIO_THROTTLE: "mio throttle",
    layout.DISPATCH: "dispatch stall",
    layout.NO_INSTRUCTION: "no instruction",
    layout.DRAIN: "drain",
    layout.IMC_MISS: "imc miss",
}
"""Why warps do not issue, in the words of NVIDIA's profiler."""


@dataclass(frozen=True)
class LaunchTime:
    """Cycles of a launch: those that were simulated, and those of the blocks left out.

    `block_cycles` is the time from one block of an SM to the next, once it is full. `error` is the
    standard error of the cycles, None where nothing tells it.
    """

    simulated: float
    left_out: float
    block_cycles: float
    error: float | None = None

    @property
    def cycles(self) -> float:
        """Of the whole launch."""
        return self.simulated + self.left_out

    @property
    def interval(self) -> tuple[float, float] | None:
        """Cycles that hold those of the launch with a confidence of about 95 %, if known.

        They are two standard errors to either side, but never less than half of the cycles.
        """
        if self.error is None:
            return None
        return max(self.cycles - 2 * self.error, self.cycles / 2), self.cycles + 2 * self.error


_BINDING = 0.6
"""Of the time: a DRAM that is busy for longer is what a launch waits for."""


def launch_time(
    found: Simulated,
    plan: DetailedSms,
    resident: int,
    instructions: float,
    dram_cycles: float = 0.0,
    *,
    ends_in_order: bool = True,
) -> LaunchTime:
    """The time of a launch of which a plan was simulated.

    Blocks that were left out begin as often as those did that replaced others; where blocks do not
    end in the order in which they began, they execute their instructions as fast as all SMs did as
    long as these were full. Of a simulation that was cut, `instructions` of the SMs in detail say
    how much is missing; or, where the DRAM binds it, the `dram_cycles` of the launch: what warps do
    later may ask for less, or more.
    """
    if found.is_cut:
        scale = instructions / found.executed
        if dram_cycles and found.dram_busy > _BINDING * found.cycles:
            scale = dram_cycles / found.dram_busy
        return LaunchTime(found.cycles, max(0.0, scale - 1) * found.cycles, 0.0)
    passed = _replacements(found, plan, resident)
    each = found.cycles / max(1, plan.simulated)
    if passed and ends_in_order:
        each = float(np.mean([np.mean(own) for own in passed])) / resident
    elif passed and found.issued_full:
        each = _cycles_of_block_while_full(found, plan)
    missing = plan.busiest - plan.simulated
    error = _standard_error(found, plan, _waves(passed, resident), missing)
    return LaunchTime(found.cycles, missing * each, each, error)


def _cycles_of_block_while_full(found: Simulated, plan: DetailedSms) -> float:
    """Cycles from one block of an SM to the next, by what was executed while all had their blocks.

    Blocks that wait for others that come first are then in the middle of what they do, and none of
    them tells how long it takes: n SMs that have issued I instructions in t cycles take

        t n i / I

    for a block of i instructions.
    """
    of_block = float(found.issued.sum()) / sum(map(len, plan.blocks))
    return found.full_until * found.sms * of_block / found.issued_full


def are_in_step(found: Simulated, dram_cycles: float) -> bool:
    """Whether a simulation was cut before any block had ended, and does not wait for the DRAM.

    Blocks that are alike then all end at about the same time, and a last wave of few has the SM to
    itself.
    """
    waits_for_dram = dram_cycles > 0 and found.dram_busy > _BINDING * found.cycles
    return found.is_cut and not waits_for_dram and bool((found.times[:, 1] < 0).all())


def time_in_step(
    found: Simulated, last: Simulated, busiest: int, resident: int, each: float
) -> LaunchTime:
    """The time of blocks in step, of `each` so many instructions, and `busiest` of them for an SM.

    `found` tells how fast a full wave of `resident` blocks is, and `last` the blocks left over:

        T = floor(busiest / resident) resident each / r + (busiest mod resident) each / r_last
    """
    waves, left = divmod(busiest, resident)
    of_full, of_last = (each * one.sms / one.executed * one.cycles for one in (found, last))
    cycles = waves * resident * of_full + left * of_last
    return LaunchTime(found.cycles, max(0.0, cycles - found.cycles), of_full)


def _replacements(found: Simulated, plan: DetailedSms, resident: int) -> list[NDArray[np.int64]]:
    """By full SM, of every block that took another one's place, the time since that one began.

    Blocks that began together may go on to end together, so only this tells how long they take. The
    first wave begins with nothing in the caches, and is left out where there are several.
    """
    found_by_sm = []
    for begun in _by_sm(found, plan, 0):
        passed = begun[resident:] - begun[:-resident]
        first = resident if len(passed) > 2 * resident else 0
        if len(passed):
            found_by_sm.append(passed[first:])
    return found_by_sm


def _waves(passed: Sequence[NDArray[np.int64]], resident: int) -> list[float]:
    """Cycles from block to block of every wave of every SM; a part of a wave goes to the others,
    since blocks that began together end one after the other."""
    return [
        float(np.mean(wave)) / resident
        for own in passed
        for wave in np.array_split(own, max(1, len(own) // resident))
    ]


def _by_sm(found: Simulated, plan: DetailedSms, what: int) -> list[NDArray[np.int64]]:
    """By SM, when its blocks began (0) or ended (1)."""
    every = np.sort([block for own in plan.blocks for block in own])
    return [found.times[np.searchsorted(every, own), what] for own in plan.blocks]


def _standard_error(
    found: Simulated, plan: DetailedSms, waves: Sequence[float], missing: int
) -> float | None:
    """Of the cycles of a launch: from the spread between SMs, and between waves.

        sigma^2 = s_SM^2 / n + missing^2 s_block^2 / m

    for the ends of n SMs, unless these are all, and the cycles from block to block in m waves. None
    where a spread that matters is one of a single value.
    """
    ends = [float(own.max()) for own in _by_sm(found, plan, 1)]
    variances = []
    if plan.share < 1:
        variances.append(_variance_of_mean(ends))
    if missing:
        variances.append(missing**2 * _variance_of_mean(waves))
    total = sum(variances)
    return None if np.isnan(total) else float(np.sqrt(total))


def _variance_of_mean(values: Sequence[float]) -> float:
    return float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else float("nan")


def achieved_warps(found: Simulated, plan: DetailedSms, time: LaunchTime) -> float:
    """Warps on an SM in the mean of the whole launch.

    Those of blocks left out are there for as long as those that were simulated: a sample of few
    waves is at its beginning and its end more of the time.
    """
    if found.is_cut:
        return found.warp_cycles / (found.cycles * found.sms)
    per_block = found.warp_cycles / sum(map(len, plan.blocks))
    return per_block * plan.busiest / time.cycles


def stall_cycles(found: Simulated) -> dict[str, float]:
    """Cycles of warps by what they did or waited for, from their start to their last issue."""
    totals = found.stalls.sum(axis=0)
    return {name: float(totals[number]) for number, name in STALLS.items()}


def cycle_stack(found: Simulated, cycles: float) -> dict[str, float]:
    """Cycles by why schedulers issue or do not, summing to `cycles`.

    Those in which they do not are split as the stalls of warps are; warps that are not selected are
    held by no reason of their own.
    """
    issuing = float(found.issued.sum()) / (found.sms * found.schedulers)
    share = min(1.0, issuing / found.cycles) if found.cycles else 0.0
    stack = {STALLS[layout.SELECTED]: share * cycles}
    waits = stall_cycles(found)
    for number in (layout.SELECTED, layout.NOT_SELECTED):
        del waits[STALLS[number]]
    total = sum(waits.values())
    rest = (1 - share) * cycles
    if not total:
        return stack | {STALLS[layout.DRAIN]: rest}
    return stack | {name: rest * spent / total for name, spent in waits.items()}
