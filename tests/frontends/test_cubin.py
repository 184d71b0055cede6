from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.frontends.cubin import read_cubin
from kernelcast.toolchain.nvrtc import Compilation, compile_cuda

SOURCE = """
struct Pair { int a; double b; };
__constant__ float table[100];
__device__ __noinline__ float walk(float x, int n) {
    float values[50];
    for (int i = 0; i < n; i++) values[i % 50] = x * i;
    return values[n % 33];
}
extern "C" __global__ __launch_bounds__(128) void heavy(
    int n, float* x, Pair p, char c, const unsigned short* q) {
    __shared__ float shared[300];
    extern __shared__ int dynamic[];
    float local[64];
    for (int i = 0; i < 64; i++) local[i * n & 63] = x[i];
    shared[threadIdx.x] = table[threadIdx.x];
    asm volatile("bar.sync 3, 64;");
    __syncthreads();
    x[n] = local[n & 63] + shared[n] + p.a + p.b + c + q[0] + dynamic[n] + walk(n, n);
}
extern "C" __global__ void light(int n, float* x) { if (n) x[0] = n; }
"""


@pytest.fixture(scope="module", params=["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def compilation(request: pytest.FixtureRequest) -> Compilation:
    return compile_cuda(SOURCE, name="k.cu", architecture=request.param)


def said_by_the_assembler(log: str, kernel: str) -> dict[str, int]:
    """Numbers of ptxas's own summary, by the words that follow or precede them."""
    part = re.search(rf"Compiling entry function '{kernel}'.*?Used [^\n]*", log, re.DOTALL)
    assert part is not None
    line = part[0].splitlines()[-1]
    patterns = {
        "registers": r"Used (\d+) registers",
        "barriers": r"used (\d+) barriers",
        "stack": r"(\d+) bytes cumulative stack",
        "shared": r"(\d+) bytes smem",
    }
    return {k: int(m[1]) if (m := re.search(p, line)) else 0 for k, p in patterns.items()}


@pytest.mark.parametrize("kernel", ["heavy", "light"])
def test_resources_are_those_the_assembler_reports(compilation: Compilation, kernel: str) -> None:
    cubin = read_cubin(compilation.cubin, name="k.cubin", maker="NVRTC")
    resources = cubin.kernels[kernel].resources
    assert said_by_the_assembler(compilation.log, kernel) == {
        "registers": resources.registers,
        "barriers": resources.named_barriers,
        "stack": resources.local_bytes,
        "shared": resources.static_shared_bytes,
    }
    assert resources.source == f"cubin by NVRTC for {compilation.architecture}"


def test_the_rest_is_what_the_source_says(compilation: Compilation) -> None:
    cubin = read_cubin(compilation.cubin, name="k.cubin")
    heavy, light = cubin.kernels["heavy"], cubin.kernels["light"]
    assert cubin.architecture == compilation.architecture
    assert heavy.target == compilation.architecture
    assert heavy.isa == "sass"
    assert heavy.instructions == ()
    assert heavy.resources.static_shared_bytes == 300 * 4
    assert heavy.resources.max_threads_per_block == 128
    assert light.resources.max_threads_per_block is None
    assert heavy.resources.constant_bytes >= 100 * 4
    assert [(p.type, p.size_bytes, p.offset_bytes) for p in heavy.parameters] == [
        ("b32", 4, 0),
        ("b64", 8, 8),
        ("b8", 16, 16),
        ("b8", 1, 32),
        ("b64", 8, 40),
    ]


def test_a_file_cut_anywhere_is_damaged() -> None:
    data = compile_cuda(SOURCE, name="k.cu", architecture="sm_90").cubin
    for end in [0, 4, 63, 64, 1000, len(data) // 2, len(data) - 100, len(data) - 1]:
        with pytest.raises(InputError) as caught:
            read_cubin(data[:end], name="k.cubin")
        assert "damaged" in caught.value.what
        assert caught.value.where == "k.cubin"


LIGHT = compile_cuda(
    "__global__ void k(int* x) { x[0] = 1; }", name="k.cu", architecture="sm_90"
).cubin


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(LIGHT) - 1), st.integers(1, 255))
def test_a_flipped_byte_gives_kernels_or_an_input_error(at: int, flip: int) -> None:
    data = bytearray(LIGHT)
    data[at] ^= flip
    try:
        read_cubin(bytes(data), name="k.cubin")
    except InputError as error:
        assert "\n" not in str(error)
