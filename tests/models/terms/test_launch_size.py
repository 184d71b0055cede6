"""The three strategies for the size of a block (Resios 2011, section 5.2.1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import LaunchError
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.launch_size import launch_size

FERMI = load_machine("gtx-460")


def test_mul_of_chapter_7():
    """1024 / (7 x 32) = 4.57, rounded up to 5 warps."""
    size = launch_size(FERMI, 1024, compute_latencies=[20])
    assert (size.even, size.utilisation, size.hiding) == (5, 48, 80)
    assert size.block() == (160, 1)


def test_two_dimensions_stop_at_1024_threads():
    assert launch_size(FERMI, 1 << 20).block(2) == (32, 32)


def test_registers_limit_what_fits():
    """32768 registers: 16 warps of 63."""
    assert launch_size(FERMI, 1 << 20, registers=63).warps == 16


def test_latency_of_memory_is_divided_by_the_intensity():
    """c = 4: 500 cycles at an intensity of 200 ask for 10 warps."""
    size = launch_size(FERMI, 1 << 20, memory_latencies=[500], intensity=200)
    assert size.hiding == size.warps == 10


def test_shared_memory_says_whether_a_block_fits():
    assert launch_size(FERMI, 1 << 20, shared_bytes=49152).warps == 32
    with pytest.raises(LaunchError, match="do not fit"):
        launch_size(FERMI, 1 << 20, shared_bytes=49153)


@given(st.integers(1, 1 << 24), st.integers(0, 63), st.floats(1, 1e3))
def test_a_block_can_always_be_launched(threads, registers, latency):
    size = launch_size(FERMI, threads, registers=registers, compute_latencies=[latency])
    x, y = size.block()
    assert 32 <= x * y <= 1024
    x, y = size.block(2)
    assert 32 <= x * y <= 1024
