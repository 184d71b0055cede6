"""Columns and chunks: whatever a stream holds comes back bit for bit, and damage is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import affine, enter, halves, scattered, values, warp, words

from kernelcast.traces import chunks
from kernelcast.traces.chunks import decode_chunk, encode_chunk, record_starts
from kernelcast.traces.columns import pack_column, unpack_columns

WORD = st.integers(0, (1 << 64) - 1)
MASK = st.integers(0, (1 << 32) - 1)
ID = st.integers(0, (1 << 24) - 1) | st.integers(0, 2)
RECORDS = st.lists(
    st.one_of(
        st.builds(warp, WORD | st.integers(0, 3), ID),
        st.builds(enter, ID, MASK),
        st.builds(affine, ID, WORD, WORD, MASK),
        st.builds(halves, ID, WORD, WORD, WORD, MASK),
        st.builds(values, ID, WORD, MASK),
        st.builds(scattered, ID, st.lists(WORD, min_size=32, max_size=32), MASK),
    ),
    max_size=40,
)


@given(RECORDS)
def test_any_stream_comes_back_bit_for_bit(records):
    stream = words(*records)
    assert decode_chunk(encode_chunk(stream)).tolist() == stream.tolist()


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=20))
def test_any_column_comes_back(values):
    column = np.array(values, np.int64)
    (back,) = unpack_columns(pack_column(column))
    assert back.tolist() == values


@pytest.mark.parametrize(
    ("values", "width"),
    [([], 1), ([-128, 127], 1), ([128], 2), ([1 << 15], 4), ([1 << 31], 8), ([-(1 << 63)], 8)],
)
def test_a_column_is_as_wide_as_its_widest_value(values, width):
    packed = pack_column(np.array(values, np.int64))
    assert packed[0] == width
    assert len(packed) == 9 + width * len(values)


def test_a_column_is_laid_out_as_documented():
    assert pack_column(np.array([1, -2, 0x0304], np.int64)) == bytes(
        [2, 3, 0, 0, 0, 0, 0, 0, 0, 0x01, 0xFE, 0x04, 0x00, 0xFF, 0x03]
    )


def test_the_columns_of_a_chunk_are_the_documented_ones():
    lanes = [7 * lane for lane in range(32)]
    stream = words(
        warp(5, 1),
        affine(2, 1000, 4),
        scattered(3, lanes),
        affine(2, 1100, 4),
        scattered(3, [lane + 1 for lane in lanes]),
        halves(2, 1110, 4, 5000),
        values(1, 7),
        values(1, 9),
        warp(6, 0),
        affine(2, 50, 8),
        halves(4, 60, 8, 70),
        values(1, 32),
    )
    columns = unpack_columns(encode_chunk(stream))
    headers, record, grid_block, base, stride, half, deltas, delta, value = columns
    assert len(headers) == 7  # warp 0, warp 1, affine 2, scattered 3, halves 2, halves 4, values 1
    assert record.tolist() == [1, 2, 3, 2, 3, 4, 6, 6, 0, 2, 5, 6]
    assert grid_block.tolist() == [5, 1]
    assert base.tolist() == [50, 60, 1000, 100, 10]  # warp 0 before warp 1
    assert stride.tolist() == [8, 8, 4, 0, 0]
    assert half.tolist() == [10, 3890]
    assert deltas.reshape(32, 2).T.tolist() == [lanes, [1] * 32]
    assert delta.tolist() == [0, 1]
    assert value.tolist() == [32, 7, 2]


def test_chunks_of_version_2_have_no_column_of_values():
    stream = words(warp(0, 0), enter(0), affine(1, 2, 3), scattered(4, range(32)))
    columns = unpack_columns(encode_chunk(stream))[:-1]
    assert decode_chunk(b"".join(map(pack_column, columns))).tolist() == stream.tolist()
    with pytest.raises(ValueError, match="7 columns"):
        decode_chunk(b"".join(map(pack_column, columns[:-1])))


def test_rows_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(chunks, "_FACTORS", np.zeros(32, np.int64))
    stream = words(scattered(1, range(32)), scattered(2, range(9, 41)), scattered(3, range(32)))
    assert decode_chunk(encode_chunk(stream)).tolist() == stream.tolist()


def test_records_are_found_where_they_begin():
    stream = words(warp(0, 0), enter(0), affine(1, 2, 3), scattered(4, range(32)), enter(1))
    assert record_starts(stream).tolist() == [0, 2, 3, 6, 39]


@pytest.mark.parametrize("broken", [[0], [9 << 56], affine(0, 0, 0)[:2], scattered(0, [0] * 31)])
def test_what_is_no_stream_is_refused(broken):
    with pytest.raises(ValueError, match="not a trace"):
        encode_chunk(np.array(broken, np.uint64))


def test_damaged_columns_are_refused():
    data = encode_chunk(words(warp(0, 0), enter(0), affine(1, 2, 3)))
    columns = unpack_columns(data)
    beyond = [columns[0], columns[1] + 3, *columns[2:]]
    for wrong in (
        data[:-1],
        data[: len(data) // 2],
        b"\x03" + data[1:],
        data + pack_column(columns[0]),
    ):
        with pytest.raises(ValueError):
            decode_chunk(wrong)
    with pytest.raises(ValueError, match="outside"):
        decode_chunk(b"".join(map(pack_column, beyond)))
    too_few = [*columns[:3], columns[3][:0], *columns[4:]]
    with pytest.raises(ValueError, match="fit"):
        decode_chunk(b"".join(map(pack_column, too_few)))
