"""Clusters of one and of several blocks, in PTX and machine code by both executors."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import DeadlockError, LaunchError, MemoryFaultError
from kernelcast.execution.consumers import Keep
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import decode
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.ir import Kernel, OpClass, Space
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


HEAD = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define SAY asm volatile
#define MEET SAY("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned at(const void* p, unsigned rank) {
  unsigned there;
  SAY("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place(p)), "r"(rank));
  return there;
}
__device__ unsigned rank_in_cluster() {
  unsigned rank;
  SAY("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
#define BEGIN(arrivals, bytes) \
  __shared__ __align__(8) unsigned long long b; \
  if (t == 0) { \
    SAY("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(place(&b)), "r"(arrivals)); \
    if (bytes) SAY("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" \
                   :: "r"(place(&b)), "r"(bytes)); \
  }
#define WAIT SAY("{.reg .pred p; L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64" \
                 " p, [%0], 0; @!p bra L;}" :: "r"(place(&b)) : "memory")
extern "C" __global__ void __cluster_dims__(CLUSTER) k(const unsigned* in, unsigned* out) {
  unsigned t = threadIdx.x, rank = rank_in_cluster();
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  in += 64 * block; out += 64 * block;
"""

PLACES = """
  auto c = cg::this_cluster();
  unsigned ids, more;
  SAY("{.reg .u32 y, z; mov.u32 %0, %%cluster_ctaid.x; mov.u32 y, %%cluster_ctaid.y;"
      "mov.u32 z, %%cluster_nctarank; mad.lo.u32 %0, y, 10, %0; mad.lo.u32 %0, z, 100, %0;}"
      : "=r"(ids));
  SAY("{.reg .u32 y, z; mov.u32 %0, %%clusterid.x; mov.u32 y, %%clusterid.y;"
      "mov.u32 z, %%nclusterid.y; mad.lo.u32 %0, y, 10, %0; mad.lo.u32 %0, z, 100, %0;}"
      : "=r"(more));
  out[t] = t == 0 ? ids : t == 1 ? more : t == 2 ? rank : t == 3 ? c.block_index().y
           : t == 4 ? c.dim_blocks().y : t == 5 ? c.num_blocks() : c.thread_rank();
}
"""

RING = """
  extern __shared__ unsigned more[];
  __shared__ unsigned s[64];
  auto c = cg::this_cluster();
  s[t] = in[t];
  more[t] = t;
  c.sync();
  unsigned* next = c.map_shared_rank(s, (rank + 1) % c.num_blocks());
  unsigned found = next[63 - t];
  atomicAdd(&c.map_shared_rank(more, 0)[t], found & 0xff);
  c.barrier_arrive();
  found += rank;
  c.barrier_wait();
  out[t] = found + 3 * c.map_shared_rank(more, 0)[t];
  c.sync();
}
"""

ARRIVALS = """
  __shared__ unsigned s[64];
  BEGIN(64, 0) MEET;
  unsigned other = rank ^ 1, back;
  SAY("st.shared::cluster.u32 [%0], %1;" :: "r"(at(&s[t], other)), "r"(in[t]) : "memory");
  SAY("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(at(&b, other))
      : "memory");
  WAIT;
  SAY("atom.shared::cluster.add.u32 %0, [%1], 5;" : "=r"(back) : "r"(at(&s[t], rank)) : "memory");
  out[t] = s[t] + back;
}
"""

STORES = """
  __shared__ __align__(16) unsigned s[64][4], sums[64];
  sums[t] = t;
  BEGIN(1, 64 * 20) MEET;
  unsigned other = rank ^ 1, v = in[t];
  SAY("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %1, %2, %1},"
      "[%3];" :: "r"(at(s[t], other)), "r"(v), "r"(rank), "r"(at(&b, other)) : "memory");
  SAY("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1,"
      "[%2];" :: "r"(at(&sums[t], other)), "r"(v), "r"(at(&b, other)) : "memory");
  WAIT;
  out[t] = s[t][0] + s[t][2] + sums[t];
}
"""

COPIES = """
  __shared__ __align__(16) unsigned s[64], d[64], all[64];
  s[t] = in[t];
  BEGIN(1, 512)
  SAY("fence.proxy.async;" ::: "memory");
  MEET;
  unsigned other = rank ^ 1;
  if (t == 0) {
    SAY("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256,"
        "[%2];" :: "r"(at(d, other)), "r"(place(s)), "r"(at(&b, other)) : "memory");
    SAY("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1], 128, [%2], %3;" :: "r"(place(all + 32 * rank)), "l"(in), "r"(place(&b)),
        "h"((short)3) : "memory");
  }
  WAIT;
  out[t] = d[t] + 2 * all[t];
  MEET;
}
"""


TILES = """
#define SAY asm volatile
struct __align__(64) Map { unsigned long long opaque[16]; };
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void __cluster_dims__(2, 1, 1)
k(const __grid_constant__ Map from, unsigned* out) {
  __shared__ __align__(128) unsigned s[2][64];
  __shared__ unsigned long long b;
  unsigned rank, t = threadIdx.x;
  SAY("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (t == 0) {
    SAY("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(place(&b)) : "memory");
    SAY("fence.mbarrier_init.release.cluster;" ::: "memory");
    SAY("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(place(&b)) : "memory");
  }
  SAY("barrier.cluster.arrive.release.aligned;" ::: "memory");
  SAY("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (t == 0) {
    SAY("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2}], [%3], %4;" :: "r"(place(s[rank])), "l"(&from),
        "r"(64 * rank), "r"(place(&b)), "h"((short)3) : "memory");
  }
  SAY("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W%=;}"
      :: "r"(place(&b)) : "memory");
  out[128 * blockIdx.x + t] = s[0][t];
  out[128 * blockIdx.x + 64 + t] = s[1][t];
}
"""


@pytest.mark.parametrize("isa", ISAS[:3])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_tile_goes_to_all_blocks_that_are_named(isa: str, executor: str) -> None:
    """Wrong if the blocks of a multicast are looked for among other bits of their operand."""
    code = kernel_in(TILES, isa)
    args = ["from=u32[128] randint(0, 1 << 28, 1) box[64]", "out=u32[256]"]
    launch = launch_from_flags("2", "64", 0, args)
    memory = Memory.build(code, launch)
    execute(code, launch, memory, executor=executor)
    found = memory.array("out").reshape(2, 128)
    assert (found == memory.array("from")).all()


@pytest.mark.parametrize("isa", ISAS[:2])
def test_what_a_tile_holds_is_not_needed_to_know_where_it_goes(isa: str) -> None:
    """Wrong if a copy that a barrier waits for asks for all that may be in global memory."""
    code = kernel_in(TILES, isa)
    needed = needed_for_trace(code)
    stores = {
        i.index
        for i in code.instructions
        if i.op_class is OpClass.STORE and i.space in (Space.GLOBAL, Space.GENERIC)
    }
    assert stores
    assert stores <= needed.address_only


REGISTERS_HANDED_ON = """
extern "C" __global__ void __launch_bounds__(256) k(const unsigned* in, unsigned* out) {
  if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  else asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  out[threadIdx.x] = in[threadIdx.x] + 1;
}
"""


@pytest.mark.parametrize("isa", ["ptx of sm_90a", "sass of sm_90a"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_warp_groups_hand_registers_on(isa: str, executor: str) -> None:
    """Wrong if the code that asks for registers waits for them."""
    code = kernel_in(REGISTERS_HANDED_ON, isa)
    launch = launch_from_flags("1", "256", 0, ["in=u32[256] randint(0, 9, 1)", "out=u32[256]"])
    memory = Memory.build(code, launch)
    execute(code, launch, memory, executor=executor)
    assert np.array_equal(memory.array("out"), memory.array("in") + 1)


def computed(body: str, isa: str, executor: str, grid: str, cluster: str = "2,1,1") -> Memory:
    """What blocks of 64 threads leave, each of which is given 64 words."""
    code = kernel_in(HEAD + body, isa, f"-DCLUSTER={cluster}")
    blocks = math.prod(map(int, grid.split(",")))
    args = [f"in=u32[{blocks},64] randint(0, 1 << 28, 1)", f"out=u32[{blocks},64]"]
    launch = launch_from_flags(grid, "64", 256, args)
    memory = Memory.build(code, launch)
    execute(code, launch, memory, executor=executor)
    return memory


def given_and_found(memory: Memory) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    return memory.array("in").reshape(-1, 64), memory.array("out").reshape(-1, 64)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_blocks_know_their_place_in_the_cluster(isa: str, executor: str) -> None:
    """Wrong if a rank, an index or an extent is that of another block or cluster."""
    _, found = given_and_found(computed(PLACES, isa, executor, "6,4", "3,2,1"))
    for block, words in enumerate(found):
        x, y = block % 6, block // 6
        rank = x % 3 + 3 * (y % 2)
        assert words[0] == x % 3 + 10 * (y % 2) + 100 * 6
        assert words[1] == x // 3 + 10 * (y // 2) + 100 * 2
        assert words[2:6].tolist() == [rank, y % 2, 2, 6]
        assert words[6:].tolist() == [64 * rank + t for t in range(6, 64)]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("grid", "cluster"), [("8", "4,1,1"), ("4,4", "2,2,1")])
def test_blocks_reach_the_shared_memory_of_others(
    isa: str, executor: str, grid: str, cluster: str
) -> None:
    """Wrong if a block reads its own memory, or that of another cluster, or passes a barrier of
    the cluster before the others have come."""
    given, out = given_and_found(computed(RING, isa, executor, grid, cluster))
    extent, width = int(cluster[0]), int(grid[0])
    t = np.arange(64)
    for block in range(len(given)):
        x, y = block % width, block // width
        corner = (x - x % extent) + width * (y - y % int(cluster[2]))
        ranks = [corner + i + width * j for j in range(int(cluster[2])) for i in range(extent)]
        found = [given[ranks[(n + 1) % 4]][63 - t] for n in range(4)]
        sums = t + sum(f & 0xFF for f in found)
        rank = ranks.index(block)
        assert np.array_equal(out[block], (found[rank] + rank + 3 * sums).astype(np.uint32))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_blocks_arrive_at_barriers_of_others(isa: str, executor: str) -> None:
    """Wrong if an arrival or a store goes to the block itself."""
    given, out = given_and_found(computed(ARRIVALS, isa, executor, "4"))
    others = given[[1, 0, 3, 2]]
    assert np.array_equal(out, others + 5 + others)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_asynchronous_stores_and_sums_reach_others(isa: str, executor: str) -> None:
    """Wrong if bytes come to another barrier than their words, or not at all."""
    given, out = given_and_found(computed(STORES, isa, executor, "4"))
    others = given[[1, 0, 3, 2]]
    ranks = np.array([1, 0, 1, 0], np.uint32)[:, None]
    assert np.array_equal(out, others + ranks + others + np.arange(64, dtype=np.uint32))


@pytest.mark.parametrize("isa", ISAS[:3])  # a function of the system copies to all on sm_120
@pytest.mark.parametrize("executor", EXECUTORS)
def test_bulk_copies_reach_other_blocks(isa: str, executor: str) -> None:
    """Wrong if a copy between blocks, or one to all of them, lands elsewhere."""
    given, out = given_and_found(computed(COPIES, isa, executor, "4"))
    for block, words in enumerate(out):
        first = block // 2 * 2
        shared = np.concatenate([given[first][:32], given[first + 1][:32]])
        assert np.array_equal(words, given[block ^ 1] + 2 * shared)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_who_follows_sees_one_block_after_the_other(executor: str) -> None:
    """Wrong if the turns of a cluster's blocks are mixed in the trace, one that was not asked for
    is in it, or was not executed."""
    code = kernel_in(HEAD + RING, "sass of sm_90", "-DCLUSTER=2,2,1")
    args = ["in=u32[16,64] randint(0, 1 << 28, 1)", "out=u32[16,64]"]
    launch = launch_from_flags("4,4", "64", 256, args)
    kept, memory = Keep(), Memory.build(code, launch)
    found = execute(code, launch, memory, blocks=[1, 4, 10], consumers=[kept], executor=executor)
    assert found.blocks == (1, 4, 10)
    order = [record.block for record in decode(kept.words)]
    out = memory.array("out").reshape(16, 64)
    assert np.flatnonzero(out.any(axis=1)).tolist() == [0, 1, 4, 5, 10, 11, 14, 15]
    assert [block for block, _ in groupby(order)] == [1, 4, 10]


def test_a_grid_of_a_part_of_a_cluster_is_refused() -> None:
    """Wrong if blocks are missing in a cluster and nobody says so."""
    with pytest.raises(LaunchError, match="no whole number of clusters"):
        computed(RING, "ptx of sm_90", "engine", "3")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_blocks_that_wait_for_an_absent_one_are_told(executor: str) -> None:
    """Wrong if a cluster hangs where a block never comes to its barrier."""
    body = 'if (rank) MEET; else SAY("bar.sync 1, 128;"); out[t] = in[t]; }'
    with pytest.raises(DeadlockError):
        computed(body, "ptx of sm_90", executor, "2")


def test_an_access_past_the_end_of_another_block_is_told() -> None:
    """Wrong if what lies behind another block's shared memory can be read."""
    body = "__shared__ unsigned s[64]; s[t] = t; MEET; unsigned v; SAY(" + (
        '"ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(at(&s[200], rank ^ 1))); out[t] = v; }'
    )
    for executor in EXECUTORS:
        with pytest.raises(MemoryFaultError, match="outside the block's shared memory"):
            computed(body, "sass of sm_90", executor, "2")
