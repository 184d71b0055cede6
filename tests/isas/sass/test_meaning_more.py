"""Machine code that other tests hardly touch: breaking it must fail a test as well.

`scripts/mutate-meanings` names the opcodes and spellings that no kernel is sensitive to. The oracle
is PTX of the same source where an executor knows it, else NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.execution.machine_code import disagreements, kernels
from tests.isas.sass import test_meaning_tensor as tensor
from tests.isas.sass.float_kernels import Work, differences
from tests.isas.sass.integer_kernels import executors_on
from tests.isas.sass.small_checks import cases, check_by_numpy, check_by_ptx
from tests.isas.sass.small_kernels import ALL, FROM_SM_80, SMALL, WAITING

from kernelcast.ir import Array, Launch


@pytest.mark.parametrize(("name", "architecture"), cases(SMALL))
def test_a_small_kernel_does_what_its_ptx_does(name: str, architecture: str) -> None:
    """Wrong if one of the opcodes that it holds is executed wrongly."""
    check_by_ptx(SMALL[name], architecture)


@pytest.mark.parametrize(("name", "architecture"), cases(WAITING))
def test_a_small_kernel_does_what_numpy_says(name: str, architecture: str) -> None:
    """Wrong if a warp does not let others run, a barrier never ends, or words lie elsewhere."""
    check_by_numpy(WAITING[name], architecture, budget=100_000)


@pytest.mark.parametrize("architecture", FROM_SM_80)
def test_a_product_of_unsigned_and_signed_bytes(architecture: str) -> None:
    """Wrong if both factors are read as one type, in the form with two words of a."""
    product = tensor.Product(16, 16, "s32.u8.s8.s32", 80)
    left, right = tensor.some((16, 16), "u8", 1), tensor.some((16, 8), "s8", 2)
    arrays = {
        "a": tensor.fragment(left, "u8", 4),
        "b": tensor.fragment(right.T, "s8", 4),
        "c": np.zeros((32, 4), np.int32),
    }
    kernel = tensor.machine_kernels(product.source, architecture)[product.name]
    for executor in executors_on(architecture):
        after = tensor.run(kernel, arrays, executor)
        assert np.array_equal(after["c"], tensor.accumulators(left @ right, "s32")), executor


SATURATED = Work(("__saturatef(__fmaf_rn(x, y, .25f))",), ("f32", "f32"), "f32")
LONGS = Work(("(double)(long long)x",), ("u64",), "f64")
LONGS_TO_SINGLE = Work(("(float)(long long)x",), ("u64",), "f32")
TOWARDS_ZERO = Work(("__uint2float_rz(x)",), ("u32",), "f32")
WORKS = {
    "towards_zero": TOWARDS_ZERO,
    "saturated": SATURATED,
    "longs": LONGS,
    "longs_to_single": LONGS_TO_SINGLE,
}


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize("architecture", ALL)
def test_rarer_forms_of_arithmetic_are_those_of_ptx(architecture: str, name: str) -> None:
    """Wrong if a product is scaled, saturated or converted in another way."""
    executors = executors_on(architecture)
    assert not differences(WORKS, name, architecture, executors=executors)


FOR_DEBUGGERS = """
extern "C" __device__ __noinline__ int after(int *x, int n) {
  int held[4];
  for (int i = 0; i < 4; i++) held[i] = x[i] + n;
  return held[n & 3];
}
extern "C" __global__ void k(int *x, int *y) { y[threadIdx.x] = after(x, threadIdx.x); }
"""


@pytest.mark.parametrize("architecture", ALL)
def test_code_for_debuggers_finds_room_for_its_stack(architecture: str) -> None:
    """Wrong if the lowest place of the stack, with which it compares its own, is above it."""
    _, machine = kernels(FOR_DEBUGGERS, architecture, "k", ("-G",))
    assert any("SR_LMEMHIOFF" in str(i) for i in machine.instructions)
    args = {"x": Array("s32", (4,)), "y": Array("s32", (64,))}
    only = (architecture,)
    assert not disagreements(
        FOR_DEBUGGERS, Launch(1, 64, args), name="k", architectures=only, extra=("-G",)
    )


DYNAMIC_SHARED = """
extern __shared__ unsigned words[];
extern "C" __global__ void k(unsigned *y) {
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  words[threadIdx.x] = 7 * threadIdx.x;
  y[threadIdx.x] = bytes + words[threadIdx.x];
}
"""


@pytest.mark.parametrize("architecture", ALL)
def test_code_knows_how_much_shared_memory_the_launch_adds(architecture: str) -> None:
    """Wrong if the driver's word of it is left 0: what is cut to that size is then empty."""
    launch = Launch(1, 64, {"y": Array("u32", (64,))}, smem_bytes=256)
    assert not disagreements(DYNAMIC_SHARED, launch, name="k", architectures=(architecture,))
