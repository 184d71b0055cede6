"""Instructions of a data flow put on several units, each as soon as it may.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 5.1: list scheduling, in which the order of ties decides how long it takes, and the
heuristic of K. D. Cooper, P. J. Schielke, D. Subramanian: An experimental evaluation of list
scheduling. Rice University TR98-326, which takes the instruction first that finishes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kernelcast.errors import InputError


class TieBreak(StrEnum):
    """Which of the instructions that are ready goes first."""

    CODE = "code"
    """The one that comes first in the code."""
    FINISHES_FIRST = "finishes first"
    """The one of least latency."""
    LONGEST_PATH = "longest path"
    """The one that most cycles of others wait for."""


@dataclass(frozen=True, slots=True)
class ListSchedule:
    """The cycle in which each instruction begins, and that in which all have ended."""

    begins: tuple[int, ...]
    cycles: int


def list_schedule(
    latencies: Sequence[int],
    needs: Sequence[Sequence[int]],
    units: int,
    tie: TieBreak = TieBreak.FINISHES_FIRST,
) -> ListSchedule:
    """Schedule instructions of given latencies, each after those that it `needs`, by number.

    A unit executes one instruction at a time. InputError where an instruction waits for itself.
    """
    ranks = _ranks(latencies, needs, tie)
    ends: dict[int, int] = {}
    begins = [0] * len(latencies)
    clock, waiting = 0, set(range(len(latencies)))
    while waiting:
        busy = sum(end > clock for end in ends.values())
        ready = [i for i in waiting if all(ends.get(n, clock + 1) <= clock for n in needs[i])]
        for instruction in sorted(ready, key=ranks.__getitem__)[: units - busy]:
            begins[instruction], ends[instruction] = clock, clock + latencies[instruction]
            waiting.remove(instruction)
        later = [end for end in ends.values() if end > clock]
        if waiting and not later:
            raise InputError("an instruction waits for itself")
        clock = min(later, default=clock)
    return ListSchedule(tuple(begins), max(ends.values(), default=0))


def _ranks(
    latencies: Sequence[int], needs: Sequence[Sequence[int]], tie: TieBreak
) -> list[tuple[int, int]]:
    if tie is TieBreak.FINISHES_FIRST:
        return [(latency, i) for i, latency in enumerate(latencies)]
    if tie is TieBreak.CODE:
        return [(0, i) for i in range(len(latencies))]
    below = list(latencies)
    for _ in latencies:
        for i, needed in enumerate(needs):
            for n in needed:
                below[n] = max(below[n], latencies[n] + below[i])
    return [(-cycles, i) for i, cycles in enumerate(below)]
