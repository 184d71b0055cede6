"""A part of a trace's stream as nine columns, and back, bit for bit.

A loop makes a warp come back to an instruction with addresses that have moved by as much as the
time before. So of every access only the difference from the one before it is kept, of the same
instruction and warp (delta encoding); accesses are sorted by these, so that equal deltas are
adjacent. All arithmetic is modulo 2**64.

    headers     the distinct header words, ascending
    record      for every record, its place in `headers`
    grid_block  for every WARP record, the index of its block minus that of the WARP record before
    base        for every AFFINE or HALVES record, in sorted order, its first word minus that of the
                record before it of the same warp and instruction
    stride      the same for the second word
    half        for every HALVES record, in sorted order, how far its third word is from its first,
                minus the same of the HALVES record before it of the same warp and instruction
    deltas      the distinct deltas of 32 addresses: lane 0 of all, then lane 1, up to lane 31
    delta       for every ADDRESSES record, in sorted order, its place in `deltas`
    values      for every VALUES record, in sorted order, its word minus that of the record before
                it of the same warp and instruction

Chunks of files of version 2 have no `values`, and no such records.
What has no record before it in the chunk counts from 0. Sorted order is by warp, then instruction;
records that agree in both keep their order. The warp of a record is the id of the last WARP record
before it in the chunk, 0 where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.trace import (
    ID_MASK,
    ID_SHIFT,
    KIND_SHIFT,
    RECORD_WORDS,
    RecordKind,
    Words,
)
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.traces.columns import Integers, pack_column, unpack_columns

_COLUMNS, _COLUMNS_OF_VERSION_2 = 9, 8
_BAD = 1 << 62
_LENGTHS = [{int(k): n for k, n in RECORD_WORDS.items()}.get(kind, _BAD) for kind in range(256)]
"""Words of a record by its kind."""

_GOLDEN = -7046029254386353131  # 2**64 / golden ratio, as a signed number
_FACTORS = np.cumprod(np.full(WARP_LANES, _GOLDEN))


def record_starts(words: Words) -> Integers:
    """Where the records of a stream begin; ValueError where it is not a whole number of them."""
    kinds = (words >> np.uint64(KIND_SHIFT)).astype(np.uint8).tobytes()
    starts = []
    at = 0
    while at < len(kinds):
        starts.append(at)
        at += _LENGTHS[kinds[at]]
    if at != len(kinds):
        raise ValueError("the words are not a trace")
    return np.array(starts, np.int64)


def encode_chunk(words: Words) -> bytes:
    """The columns of a stream, not yet compressed; ValueError where it is none."""
    starts = record_starts(words)
    stream = np.ascontiguousarray(words).view(np.int64)
    headers, record = np.unique(words[starts], return_inverse=True)
    order = _Order(headers[record])
    affine, halves = starts[order.affine], starts[order.halves]
    scattered, values = starts[order.scattered], starts[order.values]
    rows = stream[scattered[:, None] + np.arange(1, 1 + WARP_LANES)]
    deltas, delta = _distinct(_differences(rows, order.scattered_groups))
    columns = (
        headers.view(np.int64),
        record.astype(np.int64),
        np.diff(stream[starts[order.warps] + 1], prepend=np.int64(0)),
        _differences(stream[affine + 1], order.affine_groups),
        _differences(stream[affine + 2], order.affine_groups),
        _differences(stream[halves + 3] - stream[halves + 1], order.halves_groups),
        deltas.T.reshape(-1),
        delta,
        _differences(stream[values + 1], order.values_groups),
    )
    return b"".join(map(pack_column, columns))


def decode_chunk(data: bytes) -> Words:
    """The words of which `encode_chunk` made `data`; ValueError where it is damaged."""
    columns = unpack_columns(data)
    if len(columns) == _COLUMNS_OF_VERSION_2:
        columns.append(np.empty(0, np.int64))
    if len(columns) != _COLUMNS:
        raise ValueError(f"{len(columns)} columns")
    headers, record, grid_block, base, stride, half, deltas, delta, value = columns
    heads = _taken(headers, record).view(np.uint64)
    order = _Order(heads)
    lengths = np.array(_LENGTHS)[order.kinds]
    if (lengths == _BAD).any():
        raise ValueError("an unknown kind of record")
    starts = np.cumsum(lengths) - lengths
    stream = np.empty(int(lengths.sum()), np.int64)
    stream[starts] = heads.view(np.int64)
    stream[starts[order.warps] + 1] = np.cumsum(grid_block)
    affine, halves = starts[order.affine], starts[order.halves]
    scattered, values = starts[order.scattered], starts[order.values]
    stream[affine + 1] = _sums(base, order.affine_groups)
    stream[affine + 2] = _sums(stride, order.affine_groups)
    stream[halves + 3] = stream[halves + 1] + _sums(half, order.halves_groups)
    rows = _taken(np.ascontiguousarray(deltas.reshape(WARP_LANES, -1).T), delta)
    stream[scattered[:, None] + np.arange(1, 1 + WARP_LANES)] = _sums(rows, order.scattered_groups)
    stream[values + 1] = _sums(value, order.values_groups)
    return stream.view(np.uint64)


@dataclass(frozen=True)
class _Order:
    """Records by kind, told by their headers: accesses in sorted order, and where groups begin."""

    heads: Words

    @cached_property
    def kinds(self) -> Integers:
        return (self.heads >> np.uint64(KIND_SHIFT)).astype(np.int64)

    @cached_property
    def warps(self) -> Integers:
        return np.flatnonzero(self.kinds == RecordKind.WARP)

    @cached_property
    def affine(self) -> Integers:
        return self._sorted(RecordKind.AFFINE, RecordKind.HALVES)

    @cached_property
    def halves(self) -> Integers:
        return self._sorted(RecordKind.HALVES)

    @cached_property
    def scattered(self) -> Integers:
        return self._sorted(RecordKind.ADDRESSES)

    @cached_property
    def values(self) -> Integers:
        return self._sorted(RecordKind.VALUES)

    @property
    def affine_groups(self) -> NDArray[np.bool_]:
        return self._begins(self.affine)

    @property
    def halves_groups(self) -> NDArray[np.bool_]:
        return self._begins(self.halves)

    @property
    def scattered_groups(self) -> NDArray[np.bool_]:
        return self._begins(self.scattered)

    @property
    def values_groups(self) -> NDArray[np.bool_]:
        return self._begins(self.values)

    @cached_property
    def _group(self) -> Integers:
        """Warp and instruction of every record as one number."""
        ids = (self.heads >> np.uint64(ID_SHIFT)).astype(np.int64) & ID_MASK
        last_warp = np.zeros(len(ids), np.int64)
        last_warp[self.warps] = self.warps + 1
        last_warp = np.maximum.accumulate(last_warp)
        warp = np.where(last_warp > 0, ids[last_warp - 1], 0)
        return warp << 24 | ids

    def _sorted(self, *kinds: RecordKind) -> Integers:
        found = np.flatnonzero(np.isin(self.kinds, kinds))
        return found[np.argsort(self._group[found], kind="stable")]

    def _begins(self, records: Integers) -> NDArray[np.bool_]:
        begins: NDArray[np.bool_] = np.diff(self._group[records], prepend=-1) != 0
        return begins


def _differences(values: Integers, begins: NDArray[np.bool_]) -> Integers:
    """Each value minus the one before it in its group."""
    result = values.copy()
    result[1:] -= np.where(_across(begins[1:], values), 0, values[:-1])
    return result


def _sums(differences: Integers, begins: NDArray[np.bool_]) -> Integers:
    """The values of which `_differences` made `differences`."""
    if len(differences) != len(begins):
        raise ValueError("columns that do not fit")
    total = np.cumsum(differences, axis=0, dtype=np.int64)
    before = (total - differences)[begins]
    return np.asarray(total - before[np.cumsum(begins) - 1], np.int64)


def _across(begins: NDArray[np.bool_], values: Integers) -> NDArray[np.bool_]:
    return begins.reshape(-1, *(1,) * (values.ndim - 1))


def _taken(rows: Integers, places: Integers) -> Integers:
    if len(places) and not 0 <= places.min() <= places.max() < len(rows):
        raise ValueError("a place outside its column")
    return rows[places]


def _distinct(rows: Integers) -> tuple[Integers, Integers]:
    """The distinct rows in the order of their first use, and the place of every row in them."""
    hashes = (rows * _FACTORS).sum(axis=1)
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(rows, rows[first][inverse]):
        return rows, np.arange(len(rows))  # two rows of one hash: as good as never
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return rows[first[order]], place[inverse]
