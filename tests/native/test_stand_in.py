"""The oracle itself: it tells what is wrong with a kernel, and sees what differs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.native.comparison import differences
from tests.native.native_oracle import COMPILER, MISSING, native_module, run_native
from tests.native.operands import special_values

from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import compile_source
from kernelcast.ir import Array, Fill, Kernel, Launch

needs_compiler = pytest.mark.skipif(COMPILER is None, reason=MISSING)

COPY = "__global__ void k(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }"
ARRAYS = {"in": Array("f32", (32,), Fill("random")), "out": Array("f32", (32,))}
LAUNCH = Launch((1, 1, 1), (32, 1, 1), ARRAYS)


def kernel_of(source: str) -> Kernel:
    compiled = compile_source(source, name="k.cu", architecture="sm_90")
    (mangled,) = compiled.labels
    return compiled.kernel(mangled)


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return kernel_of(COPY)


@pytest.fixture
def two(kernel: Kernel) -> tuple[Memory, Memory]:
    """The same memory twice."""
    return Memory.build(kernel, LAUNCH), Memory.build(kernel, LAUNCH)


@needs_compiler
def test_a_launch_works_on_the_memory_it_is_given(two: tuple[Memory, Memory]) -> None:
    worked, other = two
    run_native(COPY, "k", LAUNCH, worked)
    assert (worked.array("out") == other.array("in")).all()
    assert not other.array("out").any()


@needs_compiler
def test_threads_that_wait_for_ever_are_named(two: tuple[Memory, Memory]) -> None:
    source = COPY.replace("{", "{ if (threadIdx.x < 3) __syncwarp(); else __syncthreads();")
    with pytest.raises(RuntimeError, match="block 0 wait"):
        run_native(source, "k", LAUNCH, two[0])


@needs_compiler
def test_a_source_that_the_host_cannot_compile_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"source\.cu:1.*unknown_function"):
        native_module("__global__ void k() { unknown_function(); }", ("k",))


@needs_compiler
def test_defines_reach_the_source(two: tuple[Memory, Memory]) -> None:
    source = COPY.replace("in[threadIdx.x]", "FACTOR * in[threadIdx.x]")
    native_module(source, ("k",), ("FACTOR=2",)).run("k", LAUNCH, two[0])
    assert (two[0].array("out") == 2 * two[0].array("in")).all()


@needs_compiler
@pytest.mark.parametrize(
    "declaration",
    [
        "extern __shared__ float values[];",
        "extern volatile __shared__ float values [ ];",
        "extern __shared__ __align__(16) float values[];",
        "extern __shared__ float\n    alignas(8) values[];",
    ],
)
def test_dynamic_shared_memory_may_be_declared_in_many_ways(
    two: tuple[Memory, Memory], declaration: str
) -> None:
    body = "values[threadIdx.x] = in[threadIdx.x]; __syncthreads();"
    body += "out[threadIdx.x] = values[31 - threadIdx.x];"
    source = f"__global__ void k(const float* in, float* out) {{ {declaration} {body} }}"
    run_native(source, "k", LAUNCH, two[0])
    assert (two[0].array("out") == two[0].array("in")[::-1]).all()


def test_equal_memories_do_not_differ(two: tuple[Memory, Memory]) -> None:
    assert differences(*two) == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "ulps"),
    [
        (0.0, -0.0, 1),
        (1.0, np.nextafter(np.float32(1), np.float32(2)), 1),
        (-1.0, np.nextafter(np.float32(-1), np.float32(0)), 1),
        (np.finfo(np.float32).max, np.inf, 1),
        (1.0, 1.0 + 2.0**-20, 8),
    ],
)
def test_floats_differ_by_their_bits(
    two: tuple[Memory, Memory], ours: float, theirs: float, ulps: int
) -> None:
    two[0].array("out")[7], two[1].array("out")[7] = ours, theirs
    (found,) = differences(*two, ulps=ulps - 1)
    assert (found.array, found.differing, found.first) == ("out", 1, 7)
    assert differences(*two, ulps=ulps) == ()


@pytest.mark.parametrize("other", [0.0, np.inf, -np.inf, 1.0])
def test_nan_is_equal_to_any_nan_and_to_nothing_else(
    two: tuple[Memory, Memory], other: float
) -> None:
    payloads = np.array([0x7FC00000, 0xFFC12345], np.uint32).view(np.float32)
    for memory, payload in zip(two, payloads, strict=True):
        memory.array("out")[3:4] = payload
    assert differences(*two) == ()
    two[0].array("out")[3] = other
    assert len(differences(*two, ulps=1000)) == 1


@pytest.mark.parametrize("type_name", ["i1", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_special_values_hold_the_limits_of_their_type(type_name: str) -> None:
    dtype = np.dtype(type_name)
    values = special_values(dtype)
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    assert {limits.min, limits.max} <= set(values.tolist())
    assert np.isnan(values).any() == (dtype.kind == "f")
