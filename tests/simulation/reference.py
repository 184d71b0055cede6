"""The loop over the cycles of one SM once more, in plain Python and cycle by cycle.

It knows schedulers, pipes, counters, registers, barriers and the replacement of blocks, and no
memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil, inf

import numpy as np

from kernelcast.ir import Kernel
from kernelcast.simulation import layout
from kernelcast.simulation.code import IssueTables

_IN_LINE = 3

Issue = tuple[int, int, int, int, int]
"""Cycle, scheduler, block, warp and instruction."""


@dataclass
class _Warp:
    block: int
    number: int
    age: int
    todo: list[int]
    ready: float = inf
    releases: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    registers: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    why: dict[int, int] = field(default_factory=dict)  # the reason of a wait for a register
    waits_at: int | None = None  # a barrier
    gave_way: bool = False


class ReferenceSm:
    """One SM that executes blocks in order; `hardware` is its record of `layout.HARDWARE`."""

    def __init__(self, code: IssueTables, hardware: np.void) -> None:
        self.code, self.hardware = code, hardware
        self.schedulers = int(hardware["schedulers"])
        self.places: list[dict[int, _Warp]] = [{} for _ in range(self.schedulers)]
        self.busy_until = [0] * self.schedulers
        self.last = [-1] * self.schedulers
        self.turn = 0
        self.pipes: defaultdict[tuple[int, int], float] = defaultdict(lambda: -float("inf"))
        self.slots: dict[int, int] = {}  # the block in every slot
        self.taken: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # places, by slot
        self.arrived: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.ages = 0
        self.issues: list[Issue] = []

    def play(self, blocks: Sequence[Sequence[Sequence[int]]]) -> list[Issue]:
        """Execute blocks, given by the instructions of every warp."""
        self.waiting = list(enumerate(blocks))
        for slot in range(int(self.hardware["resident"])):
            self._begin(slot, int(slot * self.hardware["block_interval"]))
        self.handed_out = self.hardware["resident"] * self.hardware["block_interval"]
        now = 0
        while any(w.ready < inf for held in self.places for w in held.values()):
            while sum(self._issue(scheduler, now) for scheduler in self._in_turn()):
                pass
            now += 1
        return self.issues

    def _in_turn(self) -> list[int]:
        """The schedulers, beginning with the one whose turn it is at a pipe that they share."""
        return [(self.turn + k) % self.schedulers for k in range(self.schedulers)]

    def _begin(self, slot: int, cycle: int) -> None:
        if not self.waiting:
            return
        number, warps = self.waiting.pop(0)
        self.slots[slot] = number
        self.taken[slot] = []
        for w, todo in enumerate(warps):
            scheduler, place = self._free_place(number)
            self.taken[slot].append((scheduler, place))
            self.ages += 1
            age = -self.ages if self.hardware["policy"] == _IN_LINE else self.ages
            warp = _Warp(number, w, age, list(todo))
            self.places[scheduler][place] = warp
            self._make_ready(warp, cycle)

    def _free_place(self, block: int) -> tuple[int, int]:
        """The first free place of the scheduler with the fewest warps, in turn by block."""
        held = [place for places in self.taken.values() for place in places]
        counts = [sum(s == scheduler for s, _ in held) for scheduler in range(self.schedulers)]
        in_turn = [(block + k) % self.schedulers for k in range(self.schedulers)]
        scheduler = min(in_turn, key=counts.__getitem__)
        return scheduler, next(p for p in count() if (scheduler, p) not in held)

    def _make_ready(self, warp: _Warp, cycle: float) -> None:
        row = self.code.table[warp.todo[0]]
        waits = [(cycle, layout.WAIT)]
        if self.hardware["registers"]:
            for at in range(row["first_read"], row["end_written"]):
                register = int(self.code.operands[at])
                # What it writes comes behind the result of an earlier instruction.
                before = row["latency"] if at >= row["end_read"] else 0.0
                why = warp.why.get(register, layout.WAIT)
                waits.append((warp.registers[register] - before, why))
        else:
            held = [c for c in range(layout.COUNTERS) if row["waits"] >> c & 1]
            waits += [(max(warp.releases[c], default=0.0), layout.SHORT_SCOREBOARD) for c in held]
        latest, why = max(waits, key=lambda wait: wait[0])
        warp.ready = ceil(latest)
        if self.hardware["policy"] == _IN_LINE and why != layout.WAIT:
            warp.gave_way, warp.age = True, int(warp.ready)

    def _issue(self, scheduler: int, now: int) -> bool:
        """Issue what a scheduler can; returns whether it could."""
        if self.busy_until[scheduler] > now:
            return False
        chosen = self._choose(scheduler, now)
        if chosen is None:
            return False
        self.last[scheduler] = chosen
        warp = self.places[scheduler][chosen]
        at = warp.todo.pop(0)
        row = self.code.table[at]
        self.issues.append((now, scheduler, warp.block, warp.number, at))
        self.busy_until[scheduler] = now + int(self.hardware["issue_interval"])
        self._write(warp, row, now + row["latency"] + self._occupy(scheduler, row, now))
        warp.gave_way = bool(row["yields"])
        if warp.gave_way and self.hardware["policy"] == _IN_LINE:
            warp.age = now
        if not warp.todo:
            warp.ready = inf
            self._end(warp, now)
        elif row["kind"] == layout.SYNCHRONISE:
            warp.ready, warp.waits_at = inf, int(row["barrier"])
            self.arrived[warp.block, warp.waits_at] += 1
            self._try_release(warp.block, now)
        else:
            self._make_ready(warp, now + row["stall"])
        return True

    def _choose(self, scheduler: int, now: int) -> int | None:
        held = self.places[scheduler]
        able = [
            place
            for place, warp in held.items()
            if warp.ready <= now and self._pipe(scheduler, warp) < now + 1
        ]
        last, policy = self.last[scheduler], self.hardware["policy"]
        if not able:
            return None
        if policy == 0:
            return min(able, key=lambda place: (place <= last, place))
        if last in able and not held[last].gave_way:
            return last
        if policy == _IN_LINE:
            return min(able, key=lambda place: held[place].age)
        others = [place for place in able if place != last] or able
        return (max if policy == 2 else min)(others, key=lambda place: held[place].age)

    def _pipe(self, scheduler: int, warp: _Warp) -> float:
        return self.pipes[scheduler, int(self.code.table[warp.todo[0]]["door"])]

    def _occupy(self, scheduler: int, row: np.void, now: int) -> float:
        pipe = int(row["pipe"])
        if pipe >= layout.NO_PIPE:
            return 0.0
        if self.hardware["fp32_halves"] and pipe in (layout.FP32_PIPE, layout.MULTIPLIERS):
            return self._occupy_half(scheduler, row, now)
        queued = float(self.hardware["queued"][pipe])
        free = max(self.pipes[scheduler, pipe] + queued, float(now))
        is_shared = self.hardware["of_sm"][pipe]
        if is_shared and row["door"] == pipe:
            self.turn = (scheduler + 1) % self.schedulers
        for other in range(self.schedulers) if is_shared else [scheduler]:
            self.pipes[other, pipe] = free + row["interval"] - queued
        if row["door"] == layout.MEMORY_QUEUE:
            self.pipes[scheduler, layout.MEMORY_QUEUE] = free
        return free - now

    def _occupy_half(self, scheduler: int, row: np.void, now: int) -> float:
        halves = [(scheduler, layout.FLOAT_HALF), (scheduler, layout.MULTIPLIERS)]
        able = halves if row["pipe"] == layout.FP32_PIPE else halves[1:]
        half = min(able, key=lambda each: self.pipes[each])
        free = max(self.pipes[half], float(now))
        self.pipes[half] = free + row["interval"]
        self.pipes[scheduler, layout.FP32_PIPE] = min(self.pipes[each] for each in halves)
        return free - now

    def _write(self, warp: _Warp, row: np.void, done: float) -> None:
        for register in self.code.operands[row["end_read"] : row["end_written"]]:
            warp.registers[int(register)] = done
            warp.why[int(register)] = int(row["reason"])
        if row["result_counter"] >= 0:
            warp.releases[int(row["result_counter"])].append(done)

    def _left(self, block: int) -> list[_Warp]:
        return [w for held in self.places for w in held.values() if w.block == block and w.todo]

    def _try_release(self, block: int, now: int) -> None:
        """Let those go of a block that wait at a barrier at which all that are left are."""
        left = self._left(block)
        for barrier in range(layout.BARRIERS):
            if 0 < len(left) <= self.arrived[block, barrier]:
                self.arrived[block, barrier] = 0
                for warp in left:
                    if warp.waits_at == barrier:
                        warp.waits_at = None
                        self._make_ready(warp, now + ceil(self.hardware["sync_cycles"]))

    def _end(self, warp: _Warp, now: int) -> None:
        if self._left(warp.block):
            self._try_release(warp.block, now)
            return
        (slot,) = (slot for slot, block in self.slots.items() if block == warp.block)
        handed_out = max(now, self.handed_out)
        self.handed_out = handed_out + self.hardware["block_interval"]
        self._begin(slot, ceil(handed_out + self.hardware["replacement"] - self.hardware["drain"]))


def path(kernel: Kernel, blocks: Sequence[int]) -> list[int]:
    """The instructions of a warp that goes through basic blocks."""
    return [at for b in blocks for at in range(kernel.blocks[b].start, kernel.blocks[b].end)]
