"""Products and fragments of matrices in PTX: `mma`, `ldmatrix`, `stmatrix` and `movmatrix`.

The oracle is the product of whole matrices, whose sums are exact in any order; and machine code of
the same source, in which the compiler has chosen other instructions.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.execution.machine_code import disagreements
from tests.isas.sass import test_meaning_tensor as fragments
from tests.kept import CACHE

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import CompiledSource, compile_source
from kernelcast.ir import Array, Kernel, Launch, Space
from kernelcast.isas.ptx import parse_ptx
from kernelcast.isas.ptx.products import warp_product
from kernelcast.profiling.run import profile_launch

EXECUTORS = ("engine", "reference")


@cache
def compiled(source: str, architecture: str) -> CompiledSource:
    return compile_source(
        source, name="test.cu", architecture=architecture, kernels=[], cache=CACHE
    )


def ptx(source: str, name: str, architecture: str = "sm_90") -> Kernel:
    found = compiled(source, architecture)
    (mangled,) = (m for m, label in found.labels.items() if label == name)
    return found.kernel(mangled)


ALL = "".join(p.source for p in fragments.PRODUCTS)


@pytest.mark.parametrize("product", fragments.PRODUCTS, ids=lambda p: p.name)
def test_mma_is_the_product_of_matrices(product: fragments.Product) -> None:
    """Wrong if a number meets the wrong partner, is read as another type, or lands elsewhere."""
    d, a, b, _ = product.types.split(".")
    left = fragments.some((product.rows, product.depth), a, 1)
    right = fragments.some((product.depth, 8), b, 2)
    start = fragments.some((product.rows, 8), "f32", 3) * 4
    width = fragments.WORD_BYTES.get(a, 4)
    arrays = {
        "a": fragments.fragment(left, a, width),
        "b": fragments.fragment(right.T, b, width),
        "c": fragments.accumulators(start, d),
    }
    kernel = ptx(ALL, product.name)
    for executor in EXECUTORS:
        after = fragments.run(kernel, arrays, executor)["c"]
        assert np.array_equal(after, fragments.accumulators(left @ right + start, d)), executor


EIGHT_BITS = """
extern "C" __global__ void k(unsigned* a, unsigned* b, float* c, unsigned* h) {
  int l = threadIdx.x; a += l * 4; b += l * 2; c += l * 4; h += l * 2;
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, "
    "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e4m3.f16 {%0,%1}, {%2,%3,%4,%5}, "
    "{%6,%7}, {%0,%1};" : "+r"(h[0]), "+r"(h[1])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
"""


def test_numbers_of_eight_bits_are_those_of_machine_code() -> None:
    """Wrong if a type is taken for the other, or a number meets the wrong partner."""
    codes = np.random.default_rng(1).choice(
        [0, 0x38, 0xB8, 0x3C, 0xBC, 0x40, 0xC0, 0x80, 0x44], 32 * 4 * 4
    )

    def prepare(memory: Memory) -> None:
        memory.array("a").view(np.uint8)[:] = codes
        memory.array("b").view(np.uint8)[:] = codes[::-2]

    sizes = {"a": 128, "b": 64, "h": 64}
    arrays = {**{n: Array("u32", (s,)) for n, s in sizes.items()}, "c": Array("f32", (128,))}
    launch = Launch((1, 1, 1), (32, 1, 1), {n: arrays[n] for n in "abch"})
    assert not disagreements(
        EIGHT_BITS,
        launch,
        architectures=("sm_89", "sm_120"),
        executors=EXECUTORS,
        prepare=prepare,
    )


MOVES = """
extern "C" __global__ void k(unsigned* in, unsigned* out) {
  __shared__ __align__(16) unsigned s[640];
  int t = threadIdx.x;
  for (int i = t; i < 640; i += 32) s[i] = in[i];
  __syncthreads();
  unsigned at = (unsigned)__cvta_generic_to_shared(s + 20 * t), d[16], m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
    : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4+16];"
    : "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
    : "=r"(d[8]), "=r"(d[9]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.b16 {%0}, [%1];"
    : "=r"(d[10]) : "l"(s + 20 * t));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(d[3]));
  for (int i = 0; i < 11; i++) out[32 * i + t] = d[i];
  out[32 * 11 + t] = m;
  __syncthreads();
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
    :: "r"(at), "r"(d[0]), "r"(d[4]), "r"(d[8]), "r"(m));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0+16], {%1,%2};"
    :: "r"(at), "r"(d[1]), "r"(d[2]));
  __syncthreads();
  for (int i = t; i < 640; i += 32) out[384 + i] = s[i];
}
"""


def test_fragments_move_as_in_machine_code() -> None:
    """Wrong if a half reaches another lane or address than in machine code, whose meaning is tested
    against NumPy."""
    launch = Launch(
        (1, 1, 1), (32, 1, 1), {"in": Array("u32", (640,)), "out": Array("u32", (1024,))}
    )

    def prepare(memory: Memory) -> None:
        memory.array("in")[:] = np.random.default_rng(2).integers(0, 1 << 32, 640)

    assert not disagreements(
        MOVES, launch, architectures=("sm_90",), executors=EXECUTORS, prepare=prepare
    )


def test_a_product_with_its_loads_is_profiled() -> None:
    """Wrong if the accesses of `ldmatrix` are lost; the traffic is that of machine code."""
    source = MOVES + fragments.PRODUCTS[0].source
    found = compiled(source, "sm_90")
    (mangled,) = (m for m, label in found.labels.items() if label == "k")
    launch = Launch(
        (1, 1, 1), (32, 1, 1), {"in": Array("u32", (640,)), "out": Array("u32", (1024,))}
    )
    shared = [
        sum(a.bytes for a in profile.accesses if a.space is Space.SHARED and a.is_load)
        for kernel in (found.kernel(mangled), found.machine_kernel(mangled, CACHE))
        for profile in [profile_launch(kernel, launch, Memory.build(kernel, launch))]
    ]
    assert shared[0] == shared[1] == 4 * 32 * (11 + 20)


def test_sums_of_integers_alone_may_saturate() -> None:
    """Wrong if sums of floats were taken for some that saturate, or sums of integers wrap."""
    head = ("sync", "aligned", "m16n8k16", "row", "col", "satfinite")
    found = warp_product((*head, "s32", "s8", "s8", "s32"))
    assert found is not None
    assert found.is_clamped
    assert warp_product((*head, "f32", "f16", "f16", "f32")) is None


AFTER_A_LOCK = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<9>; .reg .b64 %rd<2>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
W: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra W;
  atom.global.exch.b32 %r2, [%rd1], 0;
  mov.u32 %r5, 0x01010101;
  mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r3, %r4}, {%r5}, {%r5}, {%r3, %r4};
  mov.u32 %r6, %laneid; mad.wide.u32 %rd1, %r6, 4, %rd1;
  st.global.u32 [%rd1+4], %r3; ret;
}"""


@pytest.mark.parametrize("executor", EXECUTORS)
def test_lanes_that_diverge_at_a_lock_reconverge_at_a_product(executor: str) -> None:
    """Wrong if a lane multiplies before the others have written what it takes from them."""
    kernel = parse_ptx(AFTER_A_LOCK).kernel("k")
    launch = Launch((1, 1, 1), (32, 1, 1), {"out": Array("u32", (33,))})
    memory = Memory.build(kernel, launch)
    execute(kernel, launch, memory, executor=executor)
    assert (memory.array("out")[1:] == 16).all()
