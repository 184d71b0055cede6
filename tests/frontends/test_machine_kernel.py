"""Kernels out of a cubin, as machine code."""

from __future__ import annotations

import pytest
from tests.kept import CACHE

from kernelcast.frontends import machine_kernel
from kernelcast.frontends.cubin import read_cubin
from kernelcast.toolchain.nvdisasm import disassemble
from kernelcast.toolchain.nvrtc import compile_cuda

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
    for size in range(1, 4):
        padded = data + bytes(size)
        machine_kernel.listed(padded, name="two.cu")
    assert len(machine_kernel._listed) == machine_kernel._LISTED_CUBINS
