"""When the instructions of one warp issue, alone on its scheduler: stall counts and counters.

An instruction i issues at

    t_i = max(t_(i-1) + s_(i-1), max over waits (c, n) of the cycle from which at most n releases
              of counter c are outstanding)

where s is the issue distance the code asks for. An instruction may raise counters, each released
some cycles after it issued: scoreboards, dependence counters and wait counts are all of this form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_MAX_ROUNDS = 64
"""Rounds of a loop after which its period is taken as the mean of the last half."""


@dataclass(frozen=True, slots=True)
class TimedInstruction:
    """One instruction.

    `issue_cycles` passes before the next one may issue. `raises` pairs a counter with the cycles
    until its release; `waits` pairs a counter with how many releases may still be outstanding.
    """

    issue_cycles: float
    raises: tuple[tuple[int, float], ...] = ()
    waits: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Issue:
    """When a step issues and what it waited for last: an earlier step's release, or nothing."""

    cycle: float
    held_by: int | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps in a row. `cycles` is when an instruction after the last one may issue."""

    issues: tuple[Issue, ...]
    cycles: float

    @property
    def critical_path(self) -> tuple[int, ...]:
        """Steps that set the cycle of the last one, first to last.

        A step held by a release is preceded by the step that was released, any other by its
        neighbour.
        """
        path: list[int] = []
        at: int | None = len(self.issues) - 1 if self.issues else None
        while at is not None:
            path.append(at)
            held_by = self.issues[at].held_by
            at = held_by if held_by is not None else at - 1 if at else None
        return tuple(reversed(path))


def schedule(steps: Sequence[TimedInstruction]) -> Schedule:
    """Issue the steps one after the other, beginning at cycle 0 with all counters free."""
    clock = _IssueClock()
    return Schedule(
        tuple(clock.issue(number, step) for number, step in enumerate(steps)), clock.now
    )


def loop_cycles(steps: Sequence[TimedInstruction]) -> float:
    """Cycles per round of a loop over the steps, once it runs steadily."""
    if not steps:
        return 0.0
    clock = _IssueClock()
    starts: list[float] = []
    for _ in range(_MAX_ROUNDS):
        first = clock.issue(0, steps[0])
        starts.append(first.cycle)
        for number, step in enumerate(steps[1:], 1):
            clock.issue(number, step)
    half = _MAX_ROUNDS // 2
    return (starts[-1] - starts[half - 1]) / half


class _IssueClock:
    def __init__(self) -> None:
        self.now = 0.0
        self._outstanding: dict[int, list[tuple[float, int]]] = {}

    def issue(self, number: int, step: TimedInstruction) -> Issue:
        cycle, held_by = self.now, None
        for counter, most in step.waits:
            pending = sorted(self._outstanding.get(counter, ()), reverse=True)
            if len(pending) > most and pending[most][0] > cycle:
                cycle, held_by = pending[most]
        for counter, cycles in step.raises:
            # Those already released by now hold nobody.
            pending = [p for p in self._outstanding.get(counter, ()) if p[0] > cycle]
            self._outstanding[counter] = [*pending, (cycle + cycles, number)]
        self.now = cycle + step.issue_cycles
        return Issue(cycle, held_by)
