"""Caches in plain Python, as their rules are written: what the compiled ones are held to."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import count as counting

from kernelcast.hierarchy.caches import layout
from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.profiling.streams import FIRST_BIT, LINE_SHIFT, PARTIAL_SHIFT, ROW_MASK, ROW_SHIFT

ALL = range(layout.SECTORS)
GOLDEN = 0x9E3779B1


def sectors_of(bits):
    return {s for s in ALL if bits >> s & 1}


@dataclass
class Entry:
    held: set = field(default_factory=set)
    dirty: set = field(default_factory=set)
    partial: set = field(default_factory=set)
    row: Counter | None = None
    last_use: tuple = ()


class Cache:
    """Sets of entries, by line."""

    def __init__(self, shape: CacheShape) -> None:
        self.shape = shape
        self.sets: list[dict] = [{} for _ in range(shape.sets)]
        self.clock = counting()

    def set_of(self, number):
        turn, at = divmod(number, self.shape.sets)
        if self.shape.hashes_sets:
            at += ((turn * GOLDEN % 2**32) >> 8) * self.shape.sets >> 24
        return self.sets[at % self.shape.sets]

    def find(self, number, line):
        return self.set_of(number).get(line)

    def take(self, number, line):
        """The entry of a line, made where there is none; and what had to leave."""
        among, left = self.set_of(number), None
        if line not in among:
            if len(among) == self.shape.ways:
                oldest = min(among, key=lambda other: among[other].last_use)
                left = oldest, among.pop(oldest)
            among[line] = Entry()
        return among[line], left

    def use(self, entry, rule):
        entry.last_use = rule & layout.LEAVES_FIRST == 0, next(self.clock)


class BruteForce:
    def __init__(self, system: MemorySystem) -> None:
        self.system = system
        self.l1 = [Cache(system.l1) if system.l1 else None for _ in range(system.sms)]
        self.l2 = [Cache(system.l2) for _ in range(system.partitions)]
        self.moved = 0
        self.visited: dict = {}

    # --- the order of accesses --------------------------------------------------------------------
    def run(self, streams, rules, parts):
        system = self.system
        self.rules, self.touched, self.soiled = rules, set(), set()
        self.asked_of_l1: list = []  # an SM, a line and sectors
        self.asked_of_l2: list = []  # what to do, a line and sectors
        self.counts: list = [[Counter() for _ in rules] for _ in parts]
        part_of = {block: n for n, part in enumerate(parts) for block in part}
        waiting = deque(range(parts[0].start, parts[-1].stop))
        self.local_lines = self.lines_of_local(streams, waiting)
        warps: list[list] = [[] for _ in range(system.sms)]  # (slot, block, requests to come)
        turns = [0] * system.sms

        def start(sm, slot):
            while waiting:
                block = waiting.popleft()
                busy = [
                    (slot * streams.warps + w, block, requests)
                    for w in range(streams.warps)
                    if (requests := self.requests(streams, block, w))
                ]
                warps[sm] += busy
                if busy:
                    return

        for slot in range(system.blocks_per_sm):
            for sm in range(system.sms):
                start(sm, slot)
        while any(warps):
            for sm, live in enumerate(warps):
                if not live:
                    continue
                turn = turns[sm] if turns[sm] < len(live) else 0
                slot, block, requests = live[turn]
                self.turn(requests, sm, slot, streams.warps, part_of[block])
                turns[sm] = turn + 1
                if not requests:
                    del live[turn]
                    turns[sm] = turn
                    if all(other != block for _, other, _ in live):
                        start(sm, slot // streams.warps)
        return self.counts

    def turn(self, requests, sm, slot, warps, part):
        """The requests of a warp up to the next before which it waits."""
        while True:
            for word in requests.popleft():
                self.access(word, sm, slot, warps, part)
            if not requests:
                return
            if self.rules[requests[0][0] >> ROW_SHIFT & ROW_MASK] & layout.FOLLOWS_WAIT:
                return

    def requests(self, streams, block, warp):
        at = block * streams.warps + warp
        requests: deque = deque()
        for word in map(int, streams.words[streams.starts[at] : streams.starts[at + 1]]):
            if word >> FIRST_BIT & 1 or not requests:
                requests.append([])
            requests[-1].append(word)
        return requests

    def lines_of_local(self, streams, blocks):
        words = streams.words[
            streams.starts[blocks[0] * streams.warps] : streams.starts[
                (blocks[-1] + 1) * streams.warps
            ]
        ]
        lines = [
            int(w) >> LINE_SHIFT
            for w in words
            if self.rules[int(w) >> ROW_SHIFT & ROW_MASK] & layout.IS_LOCAL
        ]
        return max(lines, default=-1) + 1

    # --- one access -------------------------------------------------------------------------------
    def access(self, word, sm, slot, warps, part):
        row = word >> ROW_SHIFT & ROW_MASK
        rule = int(self.rules[row])
        sectors, line = sectors_of(word), word >> LINE_SHIFT
        if rule & layout.IS_LOCAL:
            place = sm * self.system.blocks_per_sm * warps + slot
            line = 1 << layout.LOCAL_BIT | line + place * self.local_lines
        count = self.counts[part][row]
        count["lines"] += 1
        count["requests"] += word >> FIRST_BIT & 1
        if rule & layout.IS_ATOMIC:
            self.change(line, sectors, rule, count)
        elif rule & layout.IS_STORE:
            self.store(line, sectors, sectors_of(word >> PARTIAL_SHIFT) & sectors, sm, rule, count)
        else:
            self.load(line, sectors, sm, rule, count)

    def load(self, line, sectors, sm, rule, count):
        missing = sectors
        l1 = self.l1[sm]
        if rule & layout.ASKS_L1 and l1:
            self.asked_of_l1.append((sm, line, sectors))
            entry = l1.find(line, line)
            if entry is None and rule & layout.ALLOCATES_L1:
                entry = self.allocate(l1, line, count)
            if entry is not None:
                missing = sectors - entry.held
                if rule & layout.ALLOCATES_L1:
                    entry.held |= sectors
                l1.use(entry, rule)
            count["l1_sectors"] += len(sectors)
            count["l1_hits"] += len(sectors - missing)
        if missing:
            count["missed_lines"] += 1
            self.read(line, missing, sm % 2, rule, count)

    def allocate(self, l1, line, count):
        entry, left = l1.take(line, line)
        if left and left[1].dirty:
            self.write(left[0], left[1].dirty, set(), None, layout.IS_LOCAL, count)
        return entry

    def store(self, line, sectors, partial, sm, rule, count):
        l1, kept = self.l1[sm], False
        if l1:
            if rule & layout.ALLOCATES_L1:
                self.asked_of_l1.append((sm, line, sectors))
            entry = l1.find(line, line)
            if entry is None and rule & layout.ALLOCATES_L1:
                entry = self.allocate(l1, line, count)
            if entry is not None:
                if rule & layout.ALLOCATES_L1:
                    entry.held |= sectors
                    kept = not self.system.writes_through
                    entry.dirty |= sectors if kept else set()
                l1.use(entry, rule)
        if not kept:
            self.write(line, sectors, partial, sm % 2, rule, count)

    # --- L2 ---------------------------------------------------------------------------------------
    def side(self, line):
        if self.system.partitions == 1:
            return 0, line
        pair = line >> 6
        return (line >> 5 ^ bin(pair).count("1")) & 1, pair << 5 | line & 31

    def take(self, side, number, line, rule, count):
        entry, left = self.l2[side].take(number, line)
        if left and left[0] >> layout.LOCAL_BIT:
            count["spilled"] += len(left[1].dirty)
        self.l2[side].use(entry, rule)
        return entry

    def visit(self, line, sectors, count, *, is_write, in_parts=False):
        chunk = line // self.system.chunk_lines * 2 + is_write
        slot = (chunk * GOLDEN % 2**32) * layout.CHUNKS >> 32
        last, moved = self.visited.get(slot, (-1, 0))
        since = self.moved - moved
        is_waited_for = last == chunk and since <= self.system.waiting_sectors
        count["visits"] += not is_waited_for
        count["apart"] += is_waited_for and in_parts
        self.moved += len(sectors)
        self.visited[slot] = chunk, self.moved

    def fetch(self, entry, line, missing, count):
        if self.system.fetched_sectors == 2:
            missing = {t for s in missing for t in (s, s ^ 1)} - entry.held
        self.visit(line, missing, count, is_write=False)
        self.complete(entry, missing)
        entry.held |= missing
        new = {s for s in missing if line >> layout.LOCAL_BIT == 0} - {
            s for s in missing if (line, s) in self.touched
        }
        self.touched |= {(line, s) for s in missing}
        count["first_reads"] += len(new)
        count["again_reads"] += len(missing - new)

    def complete(self, entry, sectors):
        whole = entry.partial & sectors
        if whole:
            entry.partial -= whole
            entry.row["fills"] -= len(whole)

    def read(self, line, sectors, near, rule, count):
        self.asked_of_l2.append((layout.LOADS, line, sectors))
        side, number = self.side(line)
        lacking = set(sectors)
        if self.system.partitions == 2 and near != side:
            copy = self.take(near, number, line, rule, count)
            lacking -= copy.held
            copy.held |= sectors
        if lacking:
            entry = self.take(side, number, line, rule, count)
            lacking -= entry.held
            if lacking:
                self.fetch(entry, line, lacking, count)
        count["l2_sectors"] += len(sectors)
        count["l2_hits"] += len(sectors) - len(lacking)

    def own(self, line, sectors, rule, count):
        side, number = self.side(line)
        if self.system.partitions == 2:
            copy = self.l2[1 - side].find(number, line)
            if copy:
                copy.held -= sectors
        return self.take(side, number, line, rule, count)

    def soil(self, entry, line, sectors, rule, count, *, in_parts=False):
        new = sectors - entry.dirty
        if new and rule & layout.IS_LOCAL == 0:
            count["dirtied"] += len(new)
            count["dirtied_again"] += sum((line, s) in self.soiled for s in new)
            self.soiled |= {(line, s) for s in new}
            self.visit(line, new, count, is_write=True, in_parts=in_parts)
        entry.dirty |= sectors

    def write(self, line, sectors, partial, near, rule, count):
        self.asked_of_l2.append((layout.STORES, line, sectors))
        entry = self.own(line, sectors, rule, count)
        begun = partial - entry.held - entry.dirty
        self.complete(entry, sectors)
        if begun:
            entry.partial |= begun
            entry.row = count
            count["fills"] += len(begun)
            count["begun"] += len(begun)
        entry.held |= sectors - begun
        self.soil(entry, line, sectors, rule, count, in_parts=bool(begun))
        side, number = self.side(line)
        if self.system.partitions == 2 and near not in (None, side):
            self.take(near, number, line, rule, count).held |= sectors - begun
        self.touched |= {(line, s) for s in sectors}
        count["l2_sectors"] += len(sectors)
        count["l2_hits"] += len(sectors)

    def change(self, line, sectors, rule, count):
        self.asked_of_l2.append((layout.CHANGES, line, sectors))
        entry = self.own(line, sectors, rule, count)
        lacking = sectors - entry.held
        if lacking:
            self.fetch(entry, line, lacking, count)
        self.soil(entry, line, sectors, rule, count)
        count["l2_sectors"] += len(sectors)
        count["l2_hits"] += len(sectors) - len(lacking)
