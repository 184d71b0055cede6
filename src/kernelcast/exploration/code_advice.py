"""What changes of the code would gain: padding, layout, and tiles in shared memory.

The changes are those that code alone shows to work (`analysis/remedies.py`). What each gains is the
difference between two runs of the timing simulation: in the second, the accesses that it cures take
the fewest passes or sectors. Of layout and tiles that is the most there is, and the least is told
beside it: fields apart may want as many sectors from beyond the L1 cache as before, and a tile is
written and read once more in shared memory, behind a barrier at which nothing else goes on.

Shared memory holds what it holds. Which tiles to stage is a knapsack problem: Algorithm 6.2 of

    A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht
    University, 2011

takes those first that are worth most for each byte; the best choice is found where they are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import combinations

import numpy as np

from kernelcast.analysis.remedies import Remedy, RemedyKind, remedies
from kernelcast.errors import MissingNumberError
from kernelcast.ir import Location
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.models.teg import Played, Preparer, Recorder, Teg, recorded
from kernelcast.models.terms.base import Case, Prediction
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.rewriting import (
    coalesced,
    in_fewest_passes,
    without_bank_conflicts,
)
from kernelcast.simulation.streams import WarpStreams

_MOST_EXACT = 10
"""Tiles up to which every choice of them is looked at."""


@dataclass(frozen=True)
class CodeChange:
    """A change and the times, by the timing simulation, without and with it.

    `shared_bytes` is what a block holds more. `is_chosen` is false for a tile that does not fit
    beside those that gain more. `most_s` is the longest that it may take with the change, None
    where `time_s` is all there is to say.
    """

    remedy: Remedy
    lines: tuple[Location, ...]
    before_s: float
    time_s: float
    shared_bytes: int
    is_chosen: bool = True
    most_s: float | None = None

    @property
    def gain(self) -> float:
        """Share of the time that it saves, at most."""
        return 1 - self.time_s / self.before_s

    @property
    def least_gain(self) -> float:
        """Share of the time that it saves in any case; negative where it may take longer."""
        return 1 - (self.most_s or self.time_s) / self.before_s


def code_changes(case: Case, model: Teg | None = None) -> tuple[CodeChange, ...]:
    """The changes of a launch's code that the simulation was asked about, the most telling first.

    None where the machine lacks what the simulation needs.
    """
    executed = case.profile.instruction_warps
    found = []
    for remedy in remedies(case.kernel, case.launch):
        at = tuple(i for i in remedy.instructions if executed[i] > 0)
        if at:
            found.append(replace(remedy, instructions=at))
    if not found:
        return ()
    try:
        changes = _simulated(case, found, model or Teg())
    except MissingNumberError:
        return ()
    ranked = sorted(changes, key=lambda change: -change.gain)
    staged = [change for change in ranked if change.remedy.kind is RemedyKind.STAGING]
    kept = {id(change) for change in fitting(staged, _free_bytes(case))}
    return tuple(
        replace(c, is_chosen=c.remedy.kind is not RemedyKind.STAGING or id(c) in kept)
        for c in ranked
    )


def time_together(
    case: Case, changes: Sequence[CodeChange], model: Teg | None = None
) -> float | None:
    """The time with all of these changes at once, None where they do not fit shared memory."""
    shared_bytes = sum(change.shared_bytes for change in changes)
    if shared_bytes > _free_bytes(case):
        return None
    changed = _RewrittenCase(case, model or Teg())
    return changed.prediction([change.remedy for change in changes], shared_bytes).time_s


def _simulated(case: Case, found: Sequence[Remedy], model: Teg) -> list[CodeChange]:
    changed = _RewrittenCase(case, model)
    before_s = model.prediction(changed.played).time_s
    return [_change(changed, remedy, before_s) for remedy in found]


def _change(changed: _RewrittenCase, remedy: Remedy, before_s: float) -> CodeChange:
    case, shared_bytes = changed.case, _shared_bytes(changed.case, remedy)
    time_s, most_s = changed.prediction([remedy], shared_bytes).time_s, None
    if remedy.kind is RemedyKind.LAYOUT:
        most_s = changed.prediction([remedy], shared_bytes, rearranged=in_fewest_passes).time_s
    elif remedy.kind is RemedyKind.STAGING:
        most_s = time_s + _staging_s(case, remedy)
    if most_s is not None:
        most_s = max(time_s, most_s)
    return CodeChange(remedy, _lines(case, remedy), before_s, time_s, shared_bytes, most_s=most_s)


def _staging_s(case: Case, remedy: Remedy) -> float:
    """The most that a tile may cost: shared memory is written and read once for every request that
    is staged, and as often as a warp comes to it the warps of an SM, which wait for each other at a
    barrier, wait for memory and for shared memory with nothing else to do."""
    number = partial(case.machine.number, needed_by="advice")
    accesses = [a for a in case.profile.accesses if a.instruction in remedy.instructions]
    requests = sum(a.requests for a in accesses)
    sms = min(number("sm.count"), case.launch.blocks)
    moved = 2 * requests * WARP_LANES * remedy.access_bytes
    turns = max(a.requests for a in accesses) / case.profile.warps
    waves = math.ceil(case.launch.blocks / (sms * case.occupancy.blocks_per_sm))
    exposed = waves * max(1.0, turns) * (number("latency.dram") + number("latency.shared"))
    return (moved / number("shared.bandwidth") / sms + exposed) / number("clock.sm")


@dataclass(frozen=True)
class _RewrittenCase:
    """A launch and the simulation that is asked about changes of its code."""

    case: Case
    model: Teg

    @cached_property
    def record(self) -> Callable[[DetailedSms], WarpStreams]:
        """What its warps do, recorded once."""
        return lru_cache(4)(partial(recorded, self.case))

    @cached_property
    def played(self) -> Played:
        """The launch as it is."""
        return self.model.play(self.case, prepare=self._preparer(self.case, self.record))

    def prediction(
        self,
        remedies: Sequence[Remedy],
        shared_bytes: int,
        rearranged: Callable[..., WarpStreams] = coalesced,
    ) -> Prediction:
        """The launch with these remedies, for which a block holds more shared memory."""
        table = self.played.given.code.table

        def rewritten(plan: DetailedSms) -> WarpStreams:
            streams = self.record(plan)
            for remedy in remedies:
                only = np.zeros(len(table), np.bool_)
                only[list(remedy.instructions)] = True
                is_padding = remedy.kind is RemedyKind.PADDING
                rewrite = without_bank_conflicts if is_padding else rearranged
                streams = rewrite(streams, table, only)
            return streams

        held = _held(self.case, shared_bytes)
        return self.model.predict(held, prepare=self._preparer(held, rewritten))

    def _preparer(self, case: Case, record: Recorder) -> Preparer:
        return partial(self.model.prepared, case, record=record)


def _lines(case: Case, remedy: Remedy) -> tuple[Location, ...]:
    places = (case.kernel.instructions[at].location for at in remedy.instructions)
    return tuple(dict.fromkeys(place for place in places if place is not None))


def _shared_bytes(case: Case, remedy: Remedy) -> int:
    """What a block holds more of shared memory."""
    if remedy.kind is RemedyKind.PADDING:
        held = case.kernel.resources.static_shared_bytes + case.launch.smem_bytes
        return held // remedy.stride_bytes * remedy.pad_bytes
    if remedy.kind is RemedyKind.STAGING:
        threads = -(-case.launch.threads_per_block // WARP_LANES) * WARP_LANES
        return threads * remedy.access_bytes
    return 0


def _held(case: Case, more: int) -> Case:
    """The case with more shared memory in each block, where that changes what an SM holds."""
    resources = case.kernel.resources
    larger = replace(resources, static_shared_bytes=resources.static_shared_bytes + more)
    changed = replace(case, kernel=replace(case.kernel, resources=larger))
    return case if changed.occupancy == case.occupancy else changed


def _free_bytes(case: Case) -> int:
    """Shared memory that a block may have besides what it has."""
    most = int(case.machine.number("occupancy.shared_per_block", "advice"))
    held = case.kernel.resources.static_shared_bytes + case.launch.smem_bytes
    return max(0, most - held)


def fitting(tiles: Sequence[CodeChange], room: int) -> tuple[CodeChange, ...]:
    """The tiles that save most time together in `room` bytes of shared memory.

    All choices are compared where they are few, else Algorithm 6.2 takes tiles by gain per byte.
    """
    if len(tiles) <= _MOST_EXACT:
        choices = (c for n in range(len(tiles) + 1) for c in combinations(tiles, n))
        fit = [c for c in choices if sum(t.shared_bytes for t in c) <= room]
        return max(fit, key=lambda choice: sum(t.gain for t in choice))
    taken: list[CodeChange] = []
    for tile in sorted(tiles, key=lambda t: -t.gain / t.shared_bytes):
        if sum(t.shared_bytes for t in taken) + tile.shared_bytes <= room:
            taken.append(tile)
    return tuple(taken)
