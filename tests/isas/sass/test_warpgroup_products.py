"""Products of warp groups, as PTX and as machine code, against NumPy.

All numbers are whole and small, so every sum is exact in whatever order it is made.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.execution.machine_code import kernels
from tests.isas.sass.listings import listing
from tests.isas.sass.warpgroup_kernels import B_AT, Case, Layout, both, data, result

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import MemoryFaultError, UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Instruction, Kernel, Launch, OpClass, Space
from kernelcast.isas.ptx.descriptors import Descriptor
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.dataflow import effects
from kernelcast.profiling.run import profile_launch

WIDTHS = (16, 32, 64, 128)
MEMORY = Layout(0)

CASES = (
    *(
        Case(16, "f32.f16.f16", Layout(0, a), Layout(B_AT, b))
        for a, b in zip(WIDTHS, reversed(WIDTHS), strict=True)
    ),
    *(
        Case(64, "f32.f16.f16", Layout(0, w, across=True), Layout(B_AT, w, across=True))
        for w in WIDTHS
    ),
    Case(40, "f32.bf16.bf16", Layout(0, 128), Layout(B_AT, 16, across=True), scales=(1, -1)),
    Case(8, "f16.f16.f16", Layout(0, 16, across=True), scales=(-1, -1)),
    Case(256, "f32.f16.f16", Layout(0, 128), Layout(B_AT, 128), keeps=False),
    Case(24, "f32.f16.f16", scales=(-1, 1)),
    Case(128, "f16.f16.f16", b=Layout(B_AT, 64, across=True)),
    Case(32, "f32.tf32.tf32", MEMORY, Layout(B_AT, 128)),
    Case(8, "f32.tf32.tf32", scales=(1, -1)),
    Case(16, "s32.s8.u8", MEMORY, Layout(B_AT, 32)),
    Case(48, "s32.u8.s8"),
    Case(96, "s32.s8.s8", Layout(0, 64), Layout(B_AT, 128), keeps=False),
    Case(64, "f32.e4m3.e5m2", MEMORY),
    Case(8, "f16.e5m2.e4m3"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_product_of_a_warp_group_is_that_of_the_matrices(case: Case) -> None:
    """Wrong if a descriptor leads elsewhere, a number meets the wrong partner or is read as another
    type, or a sum lands in another register; in either ISA, by either executor."""
    given = data(case)
    for isa, kernel in both(case, CASES).items():
        for executor in ("reference", "engine"):
            found = result(case, kernel, given, executor)
            assert np.array_equal(found, given.expected), (isa, executor)


GEMM = """
#include <cuda_fp16.h>
__device__ unsigned long long descriptor(const void* p) {  // 128 bytes swizzled, by depth
  unsigned at = (unsigned)__cvta_generic_to_shared(p);
  return (at & 0x3ffff) >> 4 | 64ull << 32 | 1ull << 62;
}
extern "C" __global__ void gemm(const __half* a, const __half* b, float* c, int n, int depth) {
  __shared__ __align__(1024) uint4 as[64][8], bs[64][8];
  __shared__ float staged[64][68];
  int row = blockIdx.y * 64, column = blockIdx.x * 64, t = threadIdx.x;
  float d[32];
  for (int k = 0; k < depth; k += 64) {
    for (int i = t; i < 512; i += 128) {
      int r = i / 8, u = i % 8, at = u ^ r % 8;
      as[r][at] = *(const uint4*)&a[(row + r) * depth + k + u * 8];
      bs[r][at] = *(const uint4*)&b[(column + r) * depth + k + u * 8];
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int kk = 0; kk < 4; kk++)
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; "
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {OUT}, %32, %33, p, 1, 1, 0, 0; }"
        : REGISTERS : "l"(descriptor(as) + 2 * kk), "l"(descriptor(bs) + 2 * kk), "r"(k + kk));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  for (int i = 0; i < 32; i++)
    staged[t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8][i / 4 * 8 + t % 4 * 2 + i % 2] = d[i];
  __syncthreads();
  for (int i = t; i < 64 * 64; i += 128) {
    int at = (int)staged[i / 64][i % 64];
    INDEXED
    c[(row + i / 64) * n + column + i % 64] = at;
  }
}
"""
SIZE, DEPTH = 128, 192


@cache
def gemm(isa: str, indexed: str = "") -> Kernel:
    source = GEMM.replace("OUT", ",".join(f"%{k}" for k in range(32)))
    source = source.replace("REGISTERS", ", ".join(f'"+f"(d[{k}])' for k in range(32)))
    ptx, machine = kernels(source.replace("INDEXED", indexed), "sm_90a", "gemm")
    return ptx if isa == "ptx" else machine


def gemm_launch() -> Launch:
    arrays = {
        "a": Array("f16", (SIZE * DEPTH,)),
        "b": Array("f16", (SIZE * DEPTH,)),
        "c": Array("f32", (SIZE * SIZE,)),
    }
    return Launch((2, 2, 1), (128, 1, 1), {**arrays, "n": SIZE, "depth": DEPTH})


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_a_product_of_whole_matrices_comes_out(isa: str) -> None:
    """Wrong if sums do not go on from step to step, or a descriptor that begins within a swizzled
    tile leads elsewhere."""
    random = np.random.default_rng(7)
    a, b = (random.integers(-4, 5, (SIZE, DEPTH)).astype(np.float16) for _ in range(2))
    for executor in ("engine", "reference"):
        memory = Memory.build(gemm(isa), gemm_launch())
        for name, matrix in (("a", a), ("b", b)):
            memory.array(name).view(np.float16)[:] = matrix.ravel()
        execute(gemm(isa), gemm_launch(), memory, executor=executor)
        expected = a.astype(np.float32) @ b.T.astype(np.float32)
        assert np.array_equal(memory.array("c").reshape(SIZE, SIZE), expected), executor


def is_product(instruction: Instruction) -> bool:
    return instruction.op_class is OpClass.TENSOR and instruction.space is Space.SHARED


def shared_bytes(kernel: Kernel, needed: bool) -> float:
    """Bytes of loads and stores of shared memory in a profile; whether products are needed."""
    found = needed_for_trace(kernel)
    products = {i.index for i in kernel.instructions if is_product(i)}
    assert products
    assert (products <= found.in_full) if needed else not products & found.in_full
    profile = profile_launch(kernel, gemm_launch(), Memory.build(kernel, gemm_launch()))
    return sum(a.bytes for a in profile.accesses if a.space is Space.SHARED)


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_an_epilogue_through_shared_memory_is_profiled(isa: str) -> None:
    """Wrong if a product that nothing depends on is computed; or if one is refused, or left out,
    where an address comes from it by way of shared memory."""
    tiles, steps = 4, DEPTH // 64
    expected = tiles * (steps * 2 * 64 * 128 + 2 * 64 * 64 * 4)
    assert shared_bytes(gemm(isa), needed=False) == expected
    indexed = "at += staged[at & 63][0];"
    more = tiles * 64 * 64 * 4
    assert shared_bytes(gemm(isa, indexed), needed=True) == expected + more


SMALL = Case(8, "f32.f16.f16", MEMORY)


@pytest.mark.parametrize("isa", ["ptx", "sass"])
@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_a_matrix_outside_of_shared_memory_is_a_fault(isa: str, executor: str) -> None:
    """Wrong if a product reads what is not there; its second tile would lie beyond the end."""
    given = data(SMALL)
    beyond = replace(given, b=given.b & ~(0x3FFF << 16) | 0x3F00 << 16)
    with pytest.raises(MemoryFaultError, match="outside the block's shared memory") as fault:
        result(SMALL, both(SMALL, (SMALL,))[isa], beyond, executor)
    assert "thread (0,0,0)" in str(fault.value)


def test_a_pattern_may_begin_anywhere() -> None:
    """Wrong if the base offset of a descriptor does not say where the swizzled pattern begins."""
    lines = np.arange(8)
    start, base = 0x1480, (0x1480 >> 7) & 7
    swizzled = Descriptor(start >> 4 | 64 << 32 | base << 49 | 1 << 62)
    addresses = swizzled.addresses(lines, np.zeros(8, np.int64), across=False)
    assert ((addresses - start) // 16 == lines * 8 + lines).all()


@pytest.mark.parametrize(
    ("types", "name"), [("satfinite.s32.s8.s8", "IGMMA"), ("s32.b1.b1.and.popc", "BGMMA")]
)
def test_what_is_not_known_is_refused(types: str, name: str) -> None:
    """Wrong if sums that saturate wrap around, or bits are read as bytes."""
    depth = 256 if "b1" in types else 32
    source = f"""
extern "C" __global__ void k(unsigned* c, unsigned long long d) {{
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k{depth}.{types} {{%0,%1,%2,%3}}, %4, %4, 1;"
    : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "l"(d));
}}
"""
    launch = Launch((1, 1, 1), (128, 1, 1), {"c": Array("u32", (4,)), "d": 0})
    for kernel, called in zip(kernels(source, "sm_90a"), ("wgmma", name), strict=True):
        with pytest.raises(UnsupportedError, match=called):
            execute(kernel, launch, Memory.build(kernel, launch))


def registers(prefix: str, first: int, count: int) -> set[str]:
    return {f"{prefix}{n}" for n in range(first, first + count)}


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        (
            "HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, UP0",
            registers("R", 24, 32),
            registers("R", 24, 32) | registers("UR", 4, 4) | {"UP0"},
        ),
        (
            "HGMMA.64x64x16.F16 R24, R8, gdesc[UR4].tnspB, RZ, !UPT",
            registers("R", 24, 16),
            registers("R", 8, 4) | registers("UR", 6, 2),
        ),
        (
            "IGMMA.64x32x32.S8.U8 R24, gdesc[UR8], R24, gsb0",
            registers("R", 24, 16),
            registers("R", 24, 16) | registers("UR", 8, 4),
        ),
        (
            "HGMMA.SP.64x8x32.F32 R24, gdesc[UR4], R24, R28, 0x0, gsb0",
            registers("R", 24, 4),
            registers("R", 24, 5) | registers("UR", 4, 4),
        ),
        (
            "BGMMA.64x8x256.AND.POPC R24, R28, gdesc[UR4], R24, gsb0",
            registers("R", 24, 4),
            registers("R", 24, 8) | registers("UR", 6, 2),
        ),
    ],
)
def test_registers_of_a_group_product(text: str, writes: set[str], reads: set[str]) -> None:
    """Wrong if the table's widths, by which a scoreboard is waited for, are not the product's."""
    (instruction,) = parse_sass(listing(text)).function("k").instructions
    found = effects(instruction)
    assert {str(r) for r in found.writes} == writes
    assert {str(r) for r in found.reads} == reads
