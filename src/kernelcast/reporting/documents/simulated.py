"""What a simulation of warps tells beyond the time: what they did, metrics, one loop in cycles."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.ir import Kernel
from kernelcast.models.terms.base import Case
from kernelcast.reporting.documents.base import Natural, NotNegative, Positive, Share
from kernelcast.simulation.metrics import profiler_metrics
from kernelcast.simulation.results import STALLS, stall_cycles
from kernelcast.simulation.simulated import Simulated
from kernelcast.simulation.timeline import WarpTimeline, loop_iteration


class WarpStatePart(Struct, frozen=True):
    """What warps did or waited for, in the profiler's words: the share of all their cycles, and
    cycles per instruction that was issued."""

    name: str
    share: Share
    cycles_per_issue: NotNegative


class IssuePart(Struct, frozen=True):
    """An instruction that the warp issued, `cycle` from the start of the iteration.

    Since the one before, it had waited `waited` cycles for `reason`, then `throttled` for its pipe,
    which the profiler calls `throttle`, `held` for a scheduler that reads registers, `not_selected`
    for its turn, and `missed` for a constant that it names.
    """

    index: Natural
    text: str
    line: Positive | None
    cycle: Natural
    reason: str
    waited: Natural
    throttle: str
    throttled: Natural
    held: Natural
    not_selected: Natural
    missed: Natural = 0


class LoopTimelinePart(Struct, frozen=True):
    """One iteration of the innermost loop in which warps spend most cycles, by one warp of a block,
    all counted from 0 among those that were simulated; the whole warp in a kernel without loops."""

    sm: Natural
    block: Natural
    warp: Natural
    cycles: Positive
    issues: list[IssuePart]


class SimulatedPart(Struct, frozen=True):
    """What warps of the simulated SMs did.

    `metrics` are under the names of Nsight Compute, those in `pct` in percent; `loop` is null where
    no warp got through one.
    """

    states: list[WarpStatePart]
    metrics: dict[str, NotNegative]
    loop: LoopTimelinePart | None


def simulated_part(case: Case, found: Simulated) -> SimulatedPart:
    """What warps did, in the published form."""
    most = case.machine.number("occupancy.warps_per_sm", "metrics of occupancy")
    loop = loop_iteration(case.kernel, found)
    return SimulatedPart(
        states=_states(found),
        metrics=profiler_metrics(found, most),
        loop=_loop(case.kernel, loop) if loop else None,
    )


def stalls_of(found: Simulated | None, instructions: Sequence[int]) -> dict[str, float] | None:
    """What warps did that were about to issue some instructions, as shares of all their cycles."""
    if found is None:
        return None
    total = max(1, int(found.stalls.sum()))
    spent = found.stalls[list(instructions)].sum(axis=0)
    return {name: float(spent[at]) / total for at, name in STALLS.items() if spent[at]}


def _states(found: Simulated) -> list[WarpStatePart]:
    spent = stall_cycles(found)
    total, issued = sum(spent.values()) or 1.0, max(1, int(found.issued.sum()))
    ranked = sorted(spent.items(), key=lambda pair: -pair[1])
    return [WarpStatePart(name, c / total, c / issued) for name, c in ranked if c]


def _loop(kernel: Kernel, one: WarpTimeline) -> LoopTimelinePart:
    first = one.issues[0]
    starts = first.cycle + 1 - first.cycles
    return LoopTimelinePart(
        sm=one.sm,
        block=one.block,
        warp=one.warp,
        cycles=one.issues[-1].cycle - starts + 1,
        issues=[
            IssuePart(
                index=issue.instruction,
                text=str(kernel.instructions[issue.instruction]),
                line=getattr(kernel.instructions[issue.instruction].location, "line", None),
                cycle=issue.cycle - starts,
                reason=STALLS[issue.reason],
                waited=issue.waited,
                throttle=STALLS[issue.throttle],
                throttled=issue.throttled,
                held=issue.held,
                not_selected=issue.not_selected,
                missed=issue.missed,
            )
            for issue in one.issues
        ],
    )
