"""Coalescing, bank conflicts and regions from code alone, beside what an execution counts."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.static_counts import by_code_and_executed

import kernelcast as kc
from kernelcast.analysis.coalescing import MOST_REQUESTS, bank_conflicts, static_accesses
from kernelcast.analysis.ilp import instruction_parallelism
from kernelcast.analysis.regions import array_regions
from kernelcast.analysis.warp_values import thread_indices
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.ir import Launch, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.critical_path import dependence_chain
from kernelcast.profiling.profile import WarpPath

EXAMPLES = Path(__file__).parents[2] / "examples"
AFFINE = ("saxpy", "transpose", "matmul_naive", "matmul_tiled", "stencil", "reduction", "histogram")
FILES = [EXAMPLES / f"{name}.cu" for name in AFFINE if (EXAMPLES / f"{name}.cu").exists()]


def accesses_of(source: str, launch: Launch, tmp_path: Path, isa: str = "ptx"):
    file = tmp_path / "code.cu"
    file.write_text(source)
    kernel = kc.load(file, gpu="h100-sxm", build=Build(isa=isa))
    return static_accesses(kernel, launch)


LISTING_3_2 = """
extern "C" __global__ void strideCopy(const float* src, float* dst, int len, int stride) {
    int i = (blockDim.x * blockIdx.x + threadIdx.x) * stride;
    dst[i] = src[i];
}
"""
LISTING_3_3 = """
extern "C" __global__ void conflicts(float* a, int len, int bank) {
    __shared__ float S[1024];
    S[threadIdx.x] = 0;
    __syncthreads();
    a[threadIdx.x] = S[(threadIdx.x * bank) & 1023];
}
"""
LISTING_6_1 = """
extern "C" __global__ void listing(int s, int* a) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    int j = s * i;
    a[j] = j + i;
}
"""


COLUMNS = """
extern "C" __global__ void columns(float* a) { a[threadIdx.y * 1024 + threadIdx.x] = 0; }
"""


@pytest.mark.parametrize("isa", ["ptx", "sass"])
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 16, 32, 33])
def test_requests_of_listing_3_2(tmp_path, isa, stride):
    args = {"src": kc.f32(1 << 16), "dst": kc.f32(1 << 16), "len": 1 << 16, "stride": stride}
    found = accesses_of(LISTING_3_2, Launch(8, 256, args), tmp_path, isa)
    assert len(found) == 2
    for access in found:
        assert access.is_evaluated
        assert access.lines == pytest.approx(min(stride, 32))


@pytest.mark.parametrize("bank", [1, 2, 3, 4, 6, 8, 16, 24, 32])
def test_conflicts_of_listing_3_3(tmp_path, bank):
    launch = Launch(1, 32, {"a": kc.f32(1024), "len": 1024, "bank": bank})
    found = accesses_of(LISTING_3_3, launch, tmp_path)
    (load,) = (a for a in found if a.space is Space.SHARED and a.is_load)
    assert load.passes == math.gcd(32, bank)


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_an_unknown_stride_counts_as_the_most_requests(tmp_path, isa):
    """Listing 6.1: s is not known, so that bad coalescing is assumed."""
    (store,) = accesses_of(LISTING_6_1, Launch(8, 256), tmp_path, isa)
    assert not store.is_evaluated
    assert store.lines == store.sectors == MOST_REQUESTS == 32


def test_a_stride_that_the_launch_gives_is_known(tmp_path):
    (store,) = accesses_of(LISTING_6_1, Launch(8, 256, {"s": 2, "a": kc.s32(4096)}), tmp_path)
    assert (store.lines, store.sectors, store.array) == (2, 8, "a")


def test_algorithm_6_1_as_meant():
    """The fullest bank, not the larger of a map and the most; equal words are served together."""
    assert bank_conflicts(4 * lane for lane in range(32)) == 1
    assert bank_conflicts(8 * lane for lane in range(32)) == 2
    assert bank_conflicts(128 * lane for lane in range(32)) == 32
    assert bank_conflicts(0 for _ in range(32)) == 1
    assert bank_conflicts([0, 16, 32], banks=4, bank_bytes=4) == 3


@pytest.mark.parametrize("block", [(32, 1, 1), (256, 1, 1), (16, 16, 1), (24, 4, 1), (5, 3, 1)])
def test_thread_indices_of_every_warp(block):
    found = thread_indices(Launch(1, block))
    linear = np.arange(-(-math.prod(block) // 32) * 32).reshape(-1, 32)
    assert (found["tid.x"].lanes == linear % block[0]).all()
    assert (found["tid.y"].lanes == linear // block[0] % block[1]).all()
    assert (found["tid.z"].lanes == linear // (block[0] * block[1])).all()


def test_a_remainder_that_no_warp_straddles_is_known(tmp_path):
    """1024 threads: warps begin at multiples of 32, which divides 1024."""
    launch = Launch(1, 1024, {"a": kc.f32(1024), "len": 1024, "bank": 2})
    found = accesses_of(LISTING_3_3, launch, tmp_path)
    (load,) = (a for a in found if a.space is Space.SHARED and a.is_load)
    assert (load.is_evaluated, load.passes) == (True, 2)


def test_rows_of_irregular_blocks_are_evaluated(tmp_path):
    """Rows of 24 threads: of three warps, one begins with a whole row and two amid rows."""
    launch = Launch(1, (24, 4), {"a": kc.f32(1 << 14)})
    (store,) = accesses_of(COLUMNS, launch, tmp_path)
    rows = np.arange(96).reshape(-1, 32)
    bytes_of = rows % 24 * 4 + rows // 24 * 4096
    lines = np.mean([len(np.unique(row // 128)) for row in bytes_of])
    assert (store.is_evaluated, store.lines) == (True, pytest.approx(lines))


@pytest.fixture(scope="module", params=[(f, isa) for f in FILES for isa in ("ptx", "sass")])
def executed(request):
    file, isa = request.param
    machine = load_machine("a100-sxm-80gb")
    return cases_of_workload(kc.workload(file), [machine], build=Build(isa=isa))


def test_static_counts_are_those_of_the_execution(executed):
    """Where all lanes take part and the address is evaluated; else the static count is the most."""
    compared = 0
    for case in executed:
        for static, stated, found in by_code_and_executed(case):
            if not static.is_evaluated:
                assert found <= stated
                continue
            compared += 1
            assert stated == pytest.approx(found), case.kernel.instructions[static.instruction]
    assert compared or all("histogram" in case.kernel.name for case in executed)


def test_regions_are_the_arrays_that_the_execution_touches(executed):
    for case in executed:
        found = array_regions(case.kernel, case.launch, static_accesses(case.kernel, case.launch))
        touched = {f.label for f in case.profile.footprints if f.read or f.written}
        if not found.anywhere:
            assert touched <= found.read.keys() | found.written.keys()
        written = {f.label for f in case.profile.footprints if f.written}
        assert written <= found.written.keys() or found.anywhere
        assert found.left_out == ()


def test_an_array_of_unknown_size_is_left_out_and_named(tmp_path):
    file = tmp_path / "code.cu"
    file.write_text(LISTING_3_2)
    kernel = kc.load(file, gpu="h100-sxm", build=Build(isa="ptx"))
    launch = Launch(8, 256, {"src": kc.f32(4096)})
    found = array_regions(kernel, launch, static_accesses(kernel, launch))
    assert found.read == {"src": 16384}
    assert found.left_out == ("dst",)


def test_ilp_of_a_block_is_its_length_over_the_executed_chain(executed):
    for case in executed:
        kernel = case.kernel
        for block in kernel.blocks:
            length = block.end - block.start
            path = np.array([block.index], np.int32)
            chain = dependence_chain(kernel, WarpPath(0, 0, path, np.array([32], np.int32), length))
            static = instruction_parallelism(kernel.instructions[block.start : block.end])
            assert static == pytest.approx(length / chain.instructions)
