"""Caches that blocks run through: their state, and what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelcast.hierarchy.caches.layout import (
    ALL_SECTORS,
    CHUNKS,
    COUNTS,
    DIRTY_SHIFT,
    ENDS,
    ENTRY,
    FIRST_LEAVING,
    LATER,
    LOCAL_BIT,
    NEVER_LEAVES,
    NEWEST,
    NO_LINE,
    OLDEST,
    PAGE_SHIFT,
    PAGES,
    REQUEST,
    RESIDENT,
    ROUNDS,
    SYSTEM,
    TOGETHER,
    TURN,
    WAITING,
)
from kernelcast.hierarchy.caches.loop import run_blocks, survey
from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.profiling.streams import AccessStreams

_L1Arrays = tuple[NDArray[np.void], NDArray[np.int16], NDArray[np.int16]]
_L2Arrays = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint16], NDArray[np.int32]]

_CPU_LINE = 64
"""Bytes of a line of a CPU's caches."""


@dataclass(frozen=True)
class AskedWords:
    """What the L1 caches and the L2 cache were asked for, in order, as words of `layout`."""

    l1: NDArray[np.int64]
    l2: NDArray[np.int64]


@dataclass(frozen=True)
class CacheRun:
    """What blocks did in the caches that they ran through.

    `counts` are those of `layout.COUNTS` by part and row, `moved` the sectors that the DRAM moves
    for every word of the stream, 0 where it did not run.
    """

    counts: NDArray[np.void]
    moved: NDArray[np.uint8]


class Caches:
    """The L1 caches and the L2 cache of a machine as a launch finds them.

    L1 caches are empty, and so is the L2 cache, unless it is `after` other launches on the machine,
    or on a part of it that is alike.
    """

    def __init__(self, system: MemorySystem, after: Caches | None = None) -> None:
        self._system = system
        self._l1 = _empty_l1(system)
        is_alike = after is not None and after._system.l2 == system.l2
        self._l2: _L2Arrays = after._l2 if after and is_alike else _empty_l2(system)
        self._clock: int = after._clock if after and is_alike else 0

    def run(
        self, streams: AccessStreams, rules: NDArray[np.int64], parts: Sequence[range]
    ) -> CacheRun:
        """Let the blocks of some parts of a stream run, one part after the other in one go.

        Parameters
        ----------
        rules:
            What the accesses of every row do, as bits of `layout`.
        parts:
            Places of blocks in `streams.blocks`, the parts side by side: at the end of one, the
            next goes on.
        """
        run, _ = self._run(streams, rules, parts, notes_asked=False)
        return run

    def run_noted(
        self, streams: AccessStreams, rules: NDArray[np.int64], parts: Sequence[range]
    ) -> tuple[CacheRun, AskedWords]:
        """As `run`, with what the caches were asked for; what counts is of the last part."""
        return self._run(streams, rules, parts, notes_asked=True)

    def _run(
        self,
        streams: AccessStreams,
        rules: NDArray[np.int64],
        parts: Sequence[range],
        *,
        notes_asked: bool,
    ) -> tuple[CacheRun, AskedWords]:
        blocks = range(parts[0].start, parts[-1].stop)
        words = streams.words.view(np.int64)
        counts = np.zeros((len(parts), len(rules)), COUNTS)
        bases = np.zeros(len(streams.blocks), np.int64)
        for number, part in enumerate(parts):
            bases[part.start : part.stop] = number * len(rules)
        notes_first = len(streams.blocks) < streams.of
        self._make_room(len(words))
        systems = self._systems(streams.warps, notes_first=notes_first)
        pages = np.full(PAGES, -1, np.int32)
        start, end = (
            streams.starts[block * streams.warps] for block in (blocks[0], blocks[-1] + 1)
        )
        touched = survey(words, rules, pages, start, end, systems)
        systems["notes_asked"] = notes_asked
        systems["counted_from"] = (len(parts) - 1) * len(rules)
        room = int(end - start) if notes_asked else 0
        moved = np.zeros(len(words), np.uint8)
        asked = AskedWords(np.empty(room, np.int64), np.empty(2 * room, np.int64))
        sms, resident = self._system.sms, self._system.blocks_per_sm
        warps = resident * streams.warps
        run_blocks(
            words,
            streams.starts,
            bases,
            rules,
            blocks.start,
            blocks.stop,
            *self._l1,
            *self._l2,
            counts.reshape(-1),
            np.zeros(touched << PAGE_SHIFT if notes_first else 0, np.uint8),
            pages,
            np.full(CHUNKS, -1, np.int64),
            np.zeros(sms * warps, RESIDENT),
            np.zeros((sms, 2 + warps), np.int64),
            np.zeros((sms * resident, 2), np.int64),
            np.empty(ROUNDS * sms, TURN),
            np.empty(WAITING, REQUEST),
            np.empty(len(words), np.uint32),
            asked.l1,
            asked.l2,
            moved,
            systems,
        )
        self._clock = int(systems["clock"][0])
        of_l1, of_l2 = (int(systems[name][0]) for name in ("asked_of_l1", "asked_of_l2"))
        return CacheRun(counts, moved), AskedWords(asked.l1[:of_l1], asked.l2[:of_l2])

    def dirty_sectors(self) -> int:
        """Sectors of global memory in the L2 cache that the DRAM lacks."""
        lines, _, states, _ = self._l2
        is_global = lines < 1 << LOCAL_BIT
        dirty = states[is_global] >> DIRTY_SHIFT & ALL_SECTORS
        return int(np.bitwise_count(dirty).sum())

    def filled_share(self) -> float:
        """How much of the L2 cache holds a line."""
        held = int(np.count_nonzero(self._l2[0] != NO_LINE))
        return held / (self._system.partitions * self._system.l2.lines)

    def _make_room(self, words: int) -> None:
        """Number uses of lines anew where the clock could pass those that leave first."""
        most = 2 * words + len(self._l2[1])
        if self._clock + most >= LATER:
            stamps = self._l2[1]
            _, ranks = np.unique(stamps, return_inverse=True)
            later = np.where(stamps >= LATER, LATER, 0)
            stamps[:] = np.where(stamps == NEVER_LEAVES, NEVER_LEAVES, ranks + later)
            self._clock = int(ranks.max(initial=0)) + 1

    def _systems(self, warps: int, *, notes_first: bool) -> NDArray[np.void]:
        systems = np.zeros(1, SYSTEM)
        system, l2 = self._system, self._system.l2
        one = systems[0]
        one["sms"], one["resident"], one["warps"] = system.sms, system.blocks_per_sm, warps
        _set_l1(one, system)
        one["l2_sets"], one["l2_ways"], one["l2_hashes"] = l2.sets, _places(l2), l2.hashes_sets
        one["partitions"], one["fetched"] = system.partitions, system.fetched_sectors
        one["chunk_shift"] = system.chunk_lines.bit_length() - 1
        one["waiting"] = system.waiting_sectors
        one["notes_first"] = notes_first
        one["clock"] = self._clock
        return systems


def l1_caches(
    system: MemorySystem, sms: int, local_lines: int
) -> tuple[NDArray[np.void], NDArray[np.int16], NDArray[np.int16], NDArray[np.void]]:
    """L1 caches of some SMs that start empty: their arrays (see `l1.L1`), and their shape.

    `local_lines` are those of a warp's local memory.
    """
    systems = np.zeros(1, SYSTEM)
    one = systems[0]
    _set_l1(one, system)
    one["sms"], one["local_lines"] = sms, local_lines
    return (*_empty_l1(replace(system, sms=sms)), systems)


def _set_l1(one: np.void, system: MemorySystem) -> None:
    """What a record of `layout.SYSTEM` says of the L1 caches."""
    if (l1 := system.l1) is not None:
        one["l1_sets"], one["l1_hashes"] = l1.sets, l1.hashes_sets
        one["l1_buckets"], one["l1_entries"] = _buckets(l1), l1.lines
    one["writes_through"] = system.writes_through


def _buckets(shape: CacheShape) -> int:
    """A power of two, at least four times the entries: chains are short, and a CPU guesses them."""
    return 4 << (shape.lines - 1).bit_length()


def _places(shape: CacheShape) -> int:
    """The ways of a set, and as many that stay unused as make it one that is searched at once."""
    return -(-shape.ways // TOGETHER) * TOGETHER


def _empty_l1(
    system: MemorySystem,
) -> tuple[NDArray[np.void], NDArray[np.int16], NDArray[np.int16]]:
    """Entries, buckets and ends of lists, as `l1` has them."""
    if system.l1 is None:
        return np.zeros(1, ENTRY), np.zeros(1, np.int16), np.zeros((1, ENDS), np.int16)
    ways = system.l1.ways
    numbers = np.arange(system.l1.lines, dtype=np.int16)
    entries = np.zeros(system.l1.lines, ENTRY)
    entries["line"], entries["chained"], entries["list"] = NO_LINE, -1, FIRST_LEAVING
    entries["older"], entries["newer"] = numbers - 1, numbers + 1
    entries["older"][::ways] = entries["newer"][ways - 1 :: ways] = -1
    ends = np.full((system.l1.sets, ENDS), -1, np.int16)
    ends[:, FIRST_LEAVING + NEWEST] = numbers[ways - 1 :: ways]
    ends[:, FIRST_LEAVING + OLDEST] = numbers[::ways]
    buckets = np.full(system.sms * _buckets(system.l1), -1, np.int16)
    return np.tile(entries, system.sms), buckets, np.tile(ends, (system.sms, 1))


def _empty_l2(system: MemorySystem) -> _L2Arrays:
    """Lines, stamps, states and rows, as `l2` has them."""
    shape = (system.partitions * system.l2.sets, _places(system.l2))
    size = shape[0] * shape[1]
    stamps = _aligned(size, np.uint32)
    stamps.reshape(shape)[:, system.l2.ways :] = NEVER_LEAVES
    lines = _aligned(size, np.uint32)
    lines[:] = NO_LINE
    return lines, stamps, _aligned(size, np.uint16), np.zeros(size, np.int32)


def _aligned(size: int, of: DTypeLike) -> NDArray[Any]:
    """Zeros from where a line of a CPU's caches begins."""
    taken = size * np.dtype(of).itemsize
    room = np.zeros(taken + _CPU_LINE, np.uint8)
    start = -room.ctypes.data % _CPU_LINE
    return room[start : start + taken].view(of)
