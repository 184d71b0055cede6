"""Kernels out of a cubin, as machine code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kept import CACHE

from kernelcast.frontends import machine_kernel
from kernelcast.frontends.cubin import read_cubin
from kernelcast.ir import Instruction, Kernel
from kernelcast.toolchain.nvdisasm import disassemble
from kernelcast.toolchain.nvrtc import CompileOptions, compile_cuda

TWO = """
extern "C" __global__ void first(float* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void second(float* x) { x[threadIdx.x] = 2; }
"""


def test_a_cubin_is_disassembled_once_for_all_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    data = compile_cuda(TWO, name="two.cu", architecture="sm_90", cache=CACHE).cubin
    disassembled = []

    def counted(cubin: bytes, *rest: object, **options: object) -> str:
        disassembled.append(cubin)
        return disassemble(cubin, name="two.cu")

    monkeypatch.setattr(machine_kernel, "disassemble", counted)
    monkeypatch.setattr(machine_kernel, "_listed", {})
    for name in ("first", "second"):
        copy = bytes(bytearray(data))  # what counts is the content
        machine_kernel.machine_kernel(copy, read_cubin(copy, name="two.cu"), name, name="two.cu")
    assert len(disassembled) == 1
    monkeypatch.setattr(machine_kernel, "_LISTED_BYTES", 3 * len(data))
    for size in range(1, 4):
        padded = data + bytes(size)
        machine_kernel.listed(padded, read_cubin(data, name="two.cu"), name="two.cu")
    assert len(machine_kernel._listed) == 2


CALLS = """
__device__ __noinline__ float leaf(float x) { return x * x + 1; }
__device__ __noinline__ float middle(float x, int n) { return n ? leaf(x) + 1 : x; }
__device__ __noinline__ float pointed(float x) { return x * 3; }
__device__ __noinline__ float other(float x) { return x * x * x - 3; }
typedef float (*Function)(float);
__constant__ Function functions[2] = {pointed, leaf};
extern "C" __global__ void calls(float* x, int n) { x[0] = middle(x[1], n); }
extern "C" __global__ void points(float* x, int n) { x[0] = functions[n](x[1]); }
extern "C" __global__ void alone(float* x) { x[0] = 1; }
extern "C" __global__ void others(float* x) { x[0] = other(x[1]); }
"""


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_of_a_large_cubin_a_kernel_and_what_it_calls_are_disassembled(
    monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    data = compile_cuda(
        CALLS,
        name="calls.cu",
        architecture=architecture,
        # Functions have sections of their own in relocatable code.
        options=CompileOptions(extra=("--relocatable-device-code=true",)),
        cache=CACHE,
    ).cubin
    cubin = read_cubin(data, name="calls.cu")
    monkeypatch.setattr(machine_kernel, "_listed", {})
    whole = machine_kernel.listed(data, cubin, name="calls.cu", cache=CACHE)
    monkeypatch.setattr(machine_kernel, "_WHOLE_BYTES", 0)
    # The module's constants point to two functions, which every kernel might call.
    of_constants = {"_Z7pointedf", "_Z4leaff"}
    with_callees = {
        "calls": {"calls", "_Z6middlefi"},
        "points": {"points"},
        "alone": {"alone"},
        "others": {"others", "_Z5otherf"},
    }
    for name, functions in with_callees.items():
        part = machine_kernel.listed(data, cubin, name, name="calls.cu", cache=CACHE)
        assert set(part.functions) == functions | of_constants
        found, expected = (machine_kernel.linked_kernel(m, cubin, name) for m in (part, whole))
        # Lines and labels are those of the listings.
        assert _meanings(found) == _meanings(expected)
        assert _without_code(found) == _without_code(expected)


def _without_code(kernel: Kernel) -> Kernel:
    return replace(kernel, instructions=(), meanings=())


def _meanings(kernel: Kernel) -> list[list[Instruction]]:
    """What every instruction does, without its line in the listing."""
    return [[replace(step, line=0) for step in steps] for steps in kernel.meanings]
