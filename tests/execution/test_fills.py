"""How arrays start."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import LaunchError, NotFoundError
from kernelcast.execution.fills import (
    ELEMENT_TYPES,
    PIECE_BYTES,
    WHOLE_BYTES,
    bf16_bits,
    fill_array,
    fill_piece,
    pieces_of,
)
from kernelcast.ir import ELEMENT_BYTES, Array, Fill

TYPES = tuple(ELEMENT_BYTES)
BF16_ONE = 0x3F80


def filled(type_name: str, shape: tuple[int, ...], fill: Fill, base_dir: Path | None = None):
    array = Array(type_name, shape, fill)
    view = np.zeros(array.elements, ELEMENT_TYPES[type_name])
    fill_array(view, array, base_dir)
    return view


def test_every_array_type_has_a_view_of_its_size() -> None:
    assert {t: ELEMENT_TYPES[t].itemsize for t in ELEMENT_BYTES} == dict(ELEMENT_BYTES)


@pytest.mark.parametrize("type_name", TYPES)
def test_ones_are_ones(type_name: str) -> None:
    expected = BF16_ONE if type_name == "bf16" else 1
    assert filled(type_name, (2, 3), Fill("ones")).tolist() == [expected] * 6


@pytest.mark.parametrize("type_name", TYPES)
def test_arange_counts_from_zero(type_name: str) -> None:
    values = filled(type_name, (100,), Fill("arange"))
    if type_name == "bf16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    assert values.tolist() == list(range(100))


def test_arange_counts_in_steps() -> None:
    assert filled("s32", (4,), Fill("arange", (10,))).tolist() == [0, 10, 20, 30]


def test_arange_crosses_the_pieces_it_is_made_of() -> None:
    values = filled("u32", ((1 << 20) + 10,), Fill("arange"))
    assert values[-1] == (1 << 20) + 9
    assert (np.diff(values.astype(np.int64)) == 1).all()


def test_arange_wraps_in_small_types() -> None:
    assert filled("u8", (258,), Fill("arange"))[-1] == 1
    assert filled("s8", (129,), Fill("arange"))[-1] == -128


@pytest.mark.parametrize("type_name", ("f16", "f32", "f64", "bf16"))
def test_random_floats_are_uniform_below_one(type_name: str) -> None:
    values = filled(type_name, (20_000,), Fill("random", (7,)))
    if type_name == "bf16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    assert values.min() >= 0
    assert values.max() < 1
    assert values.astype(np.float64).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("type_name", ("s8", "u8", "s32", "u64", "b16"))
def test_random_integers_use_the_whole_range(type_name: str) -> None:
    values = filled(type_name, (20_000,), Fill("random", (7,))).astype(np.float64)
    bits = int(type_name[1:])
    low = -(2.0 ** (bits - 1)) if type_name[0] == "s" else 0.0
    assert (values.mean() - low) / 2.0**bits == pytest.approx(0.5, abs=0.02)
    assert (values.max() - values.min()) / 2.0**bits > 0.99


def test_the_seed_decides() -> None:
    first, again, other = (filled("f32", (50,), Fill("random", (s,))) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_randint_excludes_its_upper_end() -> None:
    values = filled("s32", (5_000,), Fill("randint", (-2, 3, 1)))
    assert set(values.tolist()) == {-2, -1, 0, 1, 2}
    assert set(filled("f32", (500,), Fill("randint", (0, 2)))) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("type_name", "numbers"), [("u8", (0, 300, 1)), ("u32", (-1, 5, 1)), ("s32", (5, 5, 1))]
)
def test_randint_that_has_no_place_is_refused(type_name: str, numbers: tuple[float, ...]) -> None:
    with pytest.raises(LaunchError):
        filled(type_name, (10,), Fill("randint", numbers))


def test_a_permutation_holds_every_number_once() -> None:
    values = filled("u32", (1000,), Fill("permutation", (3,)))
    assert sorted(values.tolist()) == list(range(1000))
    assert values.tolist() != list(range(1000))


def test_a_file_is_read_where_it_fits(tmp_path: Path) -> None:
    expected = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", np.asfortranarray(expected))
    values = filled("f32", (2, 3), Fill("file", path="a.npy"), tmp_path)
    assert values.tolist() == [0, 1, 2, 3, 4, 5]


def test_untyped_bits_come_from_any_file_of_their_size(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1.0], np.float32))
    assert filled("b32", (1,), Fill("file", path="a.npy"), tmp_path)[0] == 0x3F80_0000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file"),
        (b"not an array", "not a readable .npy file (it is none; nothing pickled is read)"),
        (pickle.dumps([1, 2]), "not a readable .npy file (it is none; nothing pickled is read)"),
        (b"", "not a readable .npy file"),
        (np.zeros(4, np.float64), "holds float64, not f32"),
        (np.zeros((2, 2), np.float32), "holds shape [2,2], not [4]"),
        (np.array([{}], object), "not a readable .npy file"),
    ],
)
def test_a_file_that_does_not_fit_is_named(tmp_path: Path, content: object, message: str) -> None:
    path = tmp_path / "a.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, np.ndarray):
        np.save(path, content, allow_pickle=True)
    with pytest.raises(LaunchError) as caught:
        filled("f32", (4,), Fill("file", path="a.npy"), tmp_path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_unknown_fill_answers_with_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="did you mean random"):
        filled("f32", (4,), Fill("rnadom"))


@given(st.floats(width=32, allow_nan=False))
def test_bf16_is_the_nearest_with_ties_to_even(value: float) -> None:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    low, rest = bits >> 16, bits & 0xFFFF
    expected = low + (rest > 0x8000 or (rest == 0x8000 and low & 1 == 1))
    assert bf16_bits(np.array([value], np.float32))[0] == expected


def test_bf16_keeps_nan() -> None:
    bits = np.array([0x7F80_0001, 0xFFFF_FFFF], np.uint32).view(np.float32)
    assert ((bf16_bits(bits) & 0x7FFF) > 0x7F80).all()


@pytest.mark.parametrize("kind", [("arange", ()), ("random", (3,)), ("randint", (0, 50, 3))])
@pytest.mark.parametrize("type_name", ["u8", "f16", "f32", "u64"])
def test_pieces_of_a_large_array_do_not_depend_on_each_other(
    type_name: str, kind: tuple[str, tuple[float, ...]]
) -> None:
    """Whoever fills only some of them finds there what all of them would hold."""
    elements = (WHOLE_BYTES + 12345) // ELEMENT_TYPES[type_name].itemsize
    array = Array(type_name, (elements,), Fill(*kind))
    whole = np.zeros(elements, ELEMENT_TYPES[type_name])
    fill_array(whole, array)
    some = np.zeros_like(whole)
    last = pieces_of(array) - 1
    for piece in (last, 7):
        fill_piece(some, array, piece)
    size = PIECE_BYTES // whole.dtype.itemsize
    assert np.array_equal(some[7 * size : 8 * size], whole[7 * size : 8 * size])
    assert np.array_equal(some[last * size :], whole[last * size :])
    assert not some[: 7 * size].any()
    if kind[0] != "arange":
        assert not np.array_equal(whole[:99], whole[size : size + 99])
