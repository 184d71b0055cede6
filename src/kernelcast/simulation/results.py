"""What a simulation says of a launch: stalls, pipes, and cycles of the whole grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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
}
"""Why warps do not issue, in the words of NVIDIA's profiler."""


@dataclass(frozen=True)
class LaunchTime:
    """Cycles of a launch: those that were simulated, and those of the blocks left out.

    `block_cycles` is the time from one block of an SM to the next, once it is full.
    """

    simulated: float
    left_out: float
    block_cycles: float

    @property
    def cycles(self) -> float:
        """Of the whole launch."""
        return self.simulated + self.left_out


def launch_time(
    found: Simulated, plan: DetailedSms, resident: int, instructions: float
) -> LaunchTime:
    """The time of a launch of which a plan was simulated.

    Blocks that were left out begin as often as those did that replaced others. Of a simulation that
    was cut, `instructions` of the SMs in detail say how much is missing.
    """
    if found.is_cut:
        scale = instructions / max(1, int(found.issued.sum()))
        return LaunchTime(found.cycles, max(0.0, scale - 1) * found.cycles, 0.0)
    each = _block_cycles(found, plan, resident)
    return LaunchTime(found.cycles, (plan.busiest - plan.simulated) * each, each)


def _block_cycles(found: Simulated, plan: DetailedSms, resident: int) -> float:
    """From one block of a full SM to the next: a wave's time over its blocks.

    Of every block that took another one's place, the time from the beginning of that one, since
    blocks that began together may go on to end together. The first wave begins with nothing in the
    caches, and is left out where there are several.
    """
    every = np.sort([block for own in plan.blocks for block in own])
    waves = []
    for own in plan.blocks:
        begun = found.times[np.searchsorted(every, own), 0]
        if len(begun) > resident:
            passed = begun[resident:] - begun[:-resident]
            first = resident if len(passed) > 2 * resident else 0
            waves.append(np.mean(passed[first:]))
    if not waves:
        return found.cycles / max(1, plan.simulated)
    return float(np.mean(waves)) / resident


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
