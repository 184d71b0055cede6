"""What kernels print, beside the C library's own printf."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernelcast import api
from kernelcast.errors import AssertionFailedError, UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.system_calls import Caller, formatted
from kernelcast.frontends import check_launch
from kernelcast.ir import Kernel
from tests.kept import CACHE

LIBC = ctypes.CDLL(None)
FLAGS = st.sampled_from(["", "-", "0", "+", " ", "-+", "08", "12", "-9", ".3", "7.2", "+.0"])
INTEGERS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats(-1e30, 1e30)
PIECES = st.one_of(
    st.tuples(FLAGS, st.sampled_from(["d", "i", "u", "x", "X", "o"]), INTEGERS),
    st.tuples(FLAGS, st.sampled_from(["lld", "llu", "llx", "ld", "zu"]), LONGS),
    st.tuples(FLAGS, st.sampled_from(["f", "e", "g", "E", "G"]), DOUBLES),
    st.tuples(st.just(""), st.just("c"), st.integers(33, 126)),
)


class _Arguments(Caller):
    """A thread whose memory from 0 on is some bytes."""

    def bytes_at(self, address: int, size_bytes: int) -> bytes:
        return self.local[address : address + size_bytes].tobytes()


def caller(data: bytes) -> Caller:
    made = object.__new__(_Arguments)
    object.__setattr__(made, "local", memoryview(data))
    return made


def packed(pieces) -> bytes:
    data = b""
    for _, kind, value in pieces:
        if isinstance(value, float):
            word = struct.pack("<d", value)
        else:
            word = struct.pack("<Q", value & (1 << 64) - 1)[: 8 if kind[0] in "lz" else 4]
        data += b"\0" * (-len(data) % len(word)) + word
    return data


@given(st.lists(PIECES, max_size=6))
@example([("+.0", "x", 5)])
def test_a_format_gives_what_printf_gives(pieces):
    text = " ".join(f"%{flags}{kind}" for flags, kind, _ in pieces).encode()
    given_values = [
        ctypes.c_double(v) if isinstance(v, float) else ctypes.c_longlong(v) for *_, v in pieces
    ]
    buffer = ctypes.create_string_buffer(4096)
    LIBC.snprintf(buffer, ctypes.c_size_t(4096), text, *given_values)
    assert formatted(text, 0, caller(packed(pieces))) == (buffer.value, len(pieces))


SOURCE = """
#include <cassert>
__global__ void k(int *x, int n) {
  assert(threadIdx.x < n);
  x[threadIdx.x] = 1;
}
__global__ void m(int *x) {
  int *p = (int *)malloc(4);
  x[threadIdx.x] = p == nullptr ? 1 : 2;
  free(p);
}
"""


def loaded(kernel: str) -> Kernel:
    build = api.Build(cache=CACHE, isa="sass")
    return api.load_source(SOURCE, name="k.cu", gpu="a100-sxm-80gb", kernel=kernel, build=build)


@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_a_failed_assertion_is_told(executor):
    kernel = loaded("k")
    launch = check_launch(kernel, api.Launch(1, 32, {"x": api.s32(32), "n": 32}))
    memory = Memory.build(kernel, launch)
    execute(kernel, launch, memory, executor=executor)
    assert (memory.array("x") == np.ones(32)).all()
    launch = check_launch(kernel, api.Launch(1, 32, {"x": api.s32(32), "n": 31}))
    with pytest.raises(
        AssertionFailedError, match=r"`threadIdx.x < n` of .* at .*k.cu:4"
    ) as failed:
        execute(kernel, launch, Memory.build(kernel, launch), executor=executor)
    assert failed.value.at is not None
    assert failed.value.at[1:] == (0, 31)


def test_a_failed_assertion_is_told_where_only_the_trace_counts():
    kernel = loaded("k")
    launch = check_launch(kernel, api.Launch(1, 32, {"x": api.s32(32), "n": 31}))
    with pytest.raises(AssertionFailedError, match=r"`threadIdx.x < n` of .* at .*k.cu:4"):
        api.case(kernel, launch, gpu="a100-sxm-80gb")


@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_where_nobody_gives_memory_malloc_is_refused(executor):
    kernel = loaded("m")
    launch = check_launch(kernel, api.Launch(1, 32, {"x": api.s32(32)}))
    with pytest.raises(
        UnsupportedError, match=r"kernel m\b.*: malloc: a launch by itself has no heap"
    ):
        execute(kernel, launch, Memory.build(kernel, launch), executor=executor)
