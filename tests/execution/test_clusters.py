"""Clusters of one block, in PTX and machine code by both executors; larger ones are refused."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.errors import MemoryFaultError, UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.ir import Kernel
from tests.execution.machine_code import kernel_in

EXECUTORS = ("engine", "reference")
ISAS = ("ptx of sm_90", "sass of sm_90", "sass of sm_100", "sass of sm_120")

SOURCE = """
#ifdef BLOCKS
#define CLUSTER __cluster_dims__(1, BLOCKS, 1)
#else
#define CLUSTER
#endif
#define SAY asm volatile
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void CLUSTER k(const unsigned* in, unsigned* out, int other) {
  __shared__ unsigned s[96];
  int t = threadIdx.x, at = blockIdx.x * 96 + t;
  unsigned rank, there, value, owner, more;
  unsigned long long far;
  s[t] = in[at];
  SAY("barrier.cluster.arrive.release.aligned;" ::: "memory");
  SAY("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  SAY("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  rank += other;
  SAY("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place(s + 95 - t)), "r"(rank));
  SAY("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
  SAY("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(there));
  SAY("mapa.u64 %0, %1, %2;" : "=l"(far) : "l"(s + (t + 50) % 96), "r"(rank));
  SAY("ld.u32 %0, [%1];" : "=r"(more) : "l"(far) : "memory");
  out[at] = value + 2 * more + 1000 * owner;
  SAY("barrier.cluster.arrive.relaxed;" ::: "memory");
  SAY("barrier.cluster.wait;" ::: "memory");
}
"""


def run(code: Kernel, executor: str, other: int = 0) -> Memory:
    args = ["in=u32[192] randint(0, 1 << 28, 1)", "out=u32[192]", f"other={other}"]
    launch = launch_from_flags("2", "96", 0, args)
    memory = Memory.build(code, launch)
    execute(code, launch, memory, executor=executor)
    return memory


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("defines", [(), ("-DBLOCKS=1",)], ids=["no cluster", "of one block"])
def test_a_block_is_a_cluster_of_its_own(isa: str, executor: str, defines: tuple[str, ...]) -> None:
    """Wrong if warps pass a cluster's barrier early, or an address of the own block is another."""
    memory = run(kernel_in(SOURCE, isa, *defines), executor)
    given = memory.array("in").reshape(2, 96)
    lanes = np.arange(96)
    expected = given[:, 95 - lanes] + 2 * given[:, (lanes + 50) % 96]
    assert np.array_equal(memory.array("out").reshape(2, 96), expected)


@pytest.mark.parametrize("isa", ISAS[:2])
def test_the_memory_of_another_block_is_out_of_reach(isa: str) -> None:
    """Wrong if the memory of another block is taken for that of the own one."""
    for executor in EXECUTORS:
        with pytest.raises(MemoryFaultError, match="is outside"):
            run(kernel_in(SOURCE, isa), executor, other=1)


@pytest.mark.parametrize("isa", ISAS[:2])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_clusters_of_several_blocks_are_refused(isa: str, executor: str) -> None:
    """Wrong if their blocks are executed as though each was alone."""
    with pytest.raises(UnsupportedError, match="clusters of 2 blocks are not supported"):
        run(kernel_in(SOURCE, isa, "-DBLOCKS=2"), executor)
