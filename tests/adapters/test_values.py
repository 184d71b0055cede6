"""Numbers and arrays of other packages as arguments."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.adapters.common import extents
from kernelcast.adapters.values import argument
from kernelcast.execution.fills import ELEMENT_TYPES, fill_array
from kernelcast.ir import Array

TYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "?"]


@given(st.sampled_from(TYPES), st.lists(st.integers(0, 1), min_size=1, max_size=9))
def test_an_array_of_numpy_keeps_its_values(type_name, numbers):
    values = np.array([numbers, numbers]).astype(type_name).T
    array = argument(values, "x")
    assert isinstance(array, Array) and array.shape == values.shape
    memory = np.zeros(array.elements, ELEMENT_TYPES[array.type])
    fill_array(memory, array)
    assert memory.tobytes() == np.ascontiguousarray(values).tobytes()


def test_an_array_of_no_dimensions_is_one_element():
    array = argument(np.array(2.5), "x")
    assert isinstance(array, Array) and array.shape == (1,)
    memory = np.zeros(1)
    fill_array(memory, array)
    assert memory == [2.5]


def test_equal_arrays_are_kept_once():
    first, second = (argument(np.arange(5.0), "x") for _ in range(2))
    assert isinstance(first, Array) and first.fill.path.endswith(".npy")
    assert first == second


@pytest.mark.parametrize("device", ["cuda:0", "meta"])
def test_of_arrays_elsewhere_type_and_shape_count(device):
    tensor = SimpleNamespace(dtype="torch.bfloat16", shape=(3, 4), device=device)
    assert argument(tensor, "x") == Array("bf16", (3, 4))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, 1), (3, 3), (2.5, 2.5), (np.int8(-3), -3), (np.float32(0.5), 0.5), (np.bool_(1), 1)],
)
def test_numbers(value, expected):
    found = argument(value, "x")
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("given_extents", "expected"), [(5, (5, 1, 1)), ((2, 3), (2, 3, 1)), ([np.int64(4)], (4, 1, 1))]
)
def test_extents(given_extents, expected):
    assert extents(given_extents, "grid") == expected
