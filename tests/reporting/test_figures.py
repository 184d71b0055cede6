import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.reporting import figures

_FACTORS = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (1.0, "1.00 s"),
        (0.9999, "1.00 s"),
        (2.62e-4, "262 us"),
        (1.5e-9, "1.50 ns"),
        (3600.0, "3600 s"),
    ],
)
def test_seconds(value, text):
    assert figures.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 B"),
        (512.0, "512 B"),
        (805e6, "805 MB"),
        (3.35e12, "3.35 TB"),
        (999_999.0, "1.00 MB"),
    ],
)
def test_size(value, text):
    assert figures.size(value) == text


@given(st.floats(1e-8, 1e6))
def test_a_time_is_right_to_three_digits(value):
    number, unit = figures.seconds(value).split()
    assert math.isclose(float(number) * _FACTORS[unit[:-1]], value, rel_tol=0.005)


@given(st.floats(1.0, 1e15))
def test_a_size_is_right_to_three_digits(value):
    number, unit = figures.size(value).split()
    assert math.isclose(float(number) * _FACTORS[unit[:-1]], value, rel_tol=0.005)


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.004, "0.40 %"), (0.5, "50 %"), (1.0, "100 %")]
)
def test_percent(share, text):
    assert figures.percent(share) == text


def test_grouped():
    assert figures.grouped(1048576.0) == "1 048 576"
