"""Products in tensor memory (`tcgen05`): what a kernel does is known, what it computes is not."""

from __future__ import annotations

from functools import cache

import pytest
from tests.isas.sass.listings import listing
from tests.kept import CACHE

from kernelcast.errors import UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import compile_source
from kernelcast.ir import Array, Kernel, Launch, OpClass, Space
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.dataflow import effects
from kernelcast.profiling.run import profile_launch

SOURCE = """
extern "C" __global__ void k(const unsigned* a, unsigned* c, unsigned shape) {
  __shared__ __align__(1024) unsigned s[4096];
  __shared__ unsigned long long barrier;
  __shared__ unsigned base;
  int t = threadIdx.x;
  for (int i = t; i < 4096; i += 128) s[i] = a[i];
  unsigned at = (unsigned)__cvta_generic_to_shared(s);
  unsigned done = (unsigned)__cvta_generic_to_shared(&barrier);
  if (t < 32)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;"
      :: "r"((unsigned)__cvta_generic_to_shared(&base)) : "memory");
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(done) : "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  unsigned long long d = at >> 4 | 64ull << 32 | 1ull << 46;
  for (int phase = 0; phase < 3; phase++) {
    if (t == 0) {
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0;"
        " tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }"
        :: "r"(base), "l"(d), "l"(d + 256), "r"(shape), "r"(phase));
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
        :: "r"(done) : "memory");
    }
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;"
      " @!p bra W; }" :: "r"(done), "r"(phase & 1));
    __syncthreads();
  }
  asm volatile("tcgen05.fence::after_thread_sync;");
  unsigned r[4];
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0,%1,%2,%3}, [%4];"
    : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(base));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  for (int i = 0; i < 4; i++) c[INDEX] = r[i];
  __syncthreads();
  if (t < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" :: "r"(base));
}
"""


@cache
def machine(index: str) -> Kernel:
    source = SOURCE.replace("INDEX", index)
    found = compile_source(source, name="test.cu", architecture="sm_100a", kernels=[], cache=CACHE)
    return found.machine_kernel(next(iter(found.labels)), CACHE)


def launch() -> Launch:
    arrays = {"a": Array("u32", (4096,)), "c": Array("u32", (512,))}
    return Launch((2, 1, 1), (128, 1, 1), {**arrays, "shape": 0})


def test_its_paths_and_addresses_are_known() -> None:
    """Wrong if waiting for a product never ends, or if what is left out takes accesses with it."""
    kernel = machine("t * 4 + i")
    profile = profile_launch(kernel, launch(), Memory.build(kernel, launch()))
    found = {
        is_load: sum(
            a.bytes for a in profile.accesses if a.space is Space.GLOBAL and a.is_load == is_load
        )
        for is_load in (True, False)
    }
    assert found == {True: 2 * 4096 * 4, False: 2 * 512 * 4}
    products = [i.index for i in kernel.instructions if i.opcode == "UTCHMMA"]
    assert all(kernel.instructions[n].op_class is OpClass.TENSOR for n in products)
    assert len(products) == 3
    assert all(profile.instruction_warps[n] for n in products)


def test_its_results_are_not_made_up() -> None:
    """Wrong if a number that nobody computed becomes an address or a result: also not one that is
    not in the first register of a load."""
    kernel = machine("t * 4 + (r[3] & 3)")
    with pytest.raises(UnsupportedError, match="LDTM"):
        profile_launch(kernel, launch(), Memory.build(kernel, launch()))
    with pytest.raises(UnsupportedError, match="UTCHMMA"):
        execute(kernel, launch(), Memory.build(kernel, launch()))


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("LDTM R13, tmem[UR4]", "R13", "UR4"),
        ("LDTM.x4 R4, tmem[UR4]", "R4 R5 R6 R7", "UR4"),
        ("LDTM.16dp128bit.x2 R16, tmem[UR4]", "R16 R17 R18 R19", "UR4"),
        ("LDTM.16dp256bit R8, tmem[UR4]", "R8 R9 R10 R11", "UR4"),
        ("STTM.x2 tmem[UR4], R6", "", "UR4 R6 R7"),
        (
            "UTCHMMA gdesc[UR6], gdesc[UR8], tmem[UR11], tmem[UR4], idesc[UR5], !UPT",
            "",
            "UR6 UR7 UR8 UR9 UR11 UR4 UR5",
        ),
    ],
)
def test_registers_of_tensor_memory(text: str, writes: str, reads: str) -> None:
    """Wrong if a register that a load fills counts as known."""
    (instruction,) = parse_sass(listing(text)).function("k").instructions
    found = effects(instruction)
    assert [str(r) for r in found.writes] == writes.split()
    assert [str(r) for r in found.reads] == reads.split()
