"""Kernels that copy in bulk: bytes and tiles, through barriers in shared memory."""

from __future__ import annotations

HEAD = """
typedef unsigned long long u64;
struct __align__(64) Map { u64 opaque[16]; };
#define SAY asm volatile
#define TO_SHARED "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
#define TO_GLOBAL "cp.async.bulk.global.shared::cta.bulk_group"
#define TILE(RANK) "cp.async.bulk.tensor." RANK
#define LOADS ".shared::cluster.global.tile.mbarrier::complete_tx::bytes"
#define STORES ".global.shared::cta.tile.bulk_group"
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void begin(u64* b, int arrivals) {
  SAY("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(place(b)), "r"(arrivals) : "memory");
  SAY("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(u64* b, int bytes) {
  SAY("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(place(b)), "r"(bytes)
    : "memory");
}
__device__ void arrive(u64* b) {
  SAY("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(place(b)) : "memory");
}
__device__ void wait(u64* b, unsigned parity) {
  SAY("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W%=;}"
    :: "r"(place(b)), "r"(parity) : "memory");
}
__device__ void load(void* to, const void* from, int bytes, u64* b) {
  SAY(TO_SHARED " [%0], [%1], %2, [%3];"
    :: "r"(place(to)), "l"(from), "r"(bytes), "r"(place(b)) : "memory");
}
__device__ void store(void* to, const void* from, int bytes) {
  SAY("fence.proxy.async.shared::cta;" ::: "memory");
  SAY(TO_GLOBAL " [%0], [%1], %2;" :: "l"(to), "r"(place(from)), "r"(bytes) : "memory");
}
__device__ void stored() {
  SAY("cp.async.bulk.commit_group;" ::: "memory");
  SAY("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
"""

PIPELINE = (
    HEAD
    + """
#define STAGES 3
#define WORDS 264
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ __align__(128) unsigned s[STAGES][WORDS];
  __shared__ __align__(128) unsigned r[2][WORDS];
  __shared__ u64 full[STAGES], empty[STAGES];
  int t = threadIdx.x;
  if (t == 0)
    for (int i = 0; i < STAGES; i++) { begin(&full[i], 1); begin(&empty[i], 64); }
  __syncthreads();
  in += blockIdx.x * n * WORDS;
  out += blockIdx.x * n * WORDS;
  if (t < 32) {
    if (t == 0)
      for (int i = 0; i < n; i++) {
        int stage = i % STAGES, round = i / STAGES;
        if (round) wait(&empty[stage], (round - 1) & 1);
        expect(&full[stage], 4 * WORDS);
        load(s[stage], in + i * WORDS, 4 * WORDS, &full[stage]);
      }
  } else {
    for (int i = 0; i < n; i++) {
      int stage = i % STAGES;
      wait(&full[stage], i / STAGES & 1);
      for (int j = t - 32; j < WORDS; j += 64) r[i & 1][j] = 3 * s[stage][j] + i;
      arrive(&empty[stage]);
      asm volatile("bar.sync 1, 64;" ::: "memory");
      if (t == 32) { store(out + i * WORDS, r[i & 1], 4 * WORDS); stored(); }
    }
  }
}
"""
)

MANY_LANES = (
    HEAD
    + """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ __align__(128) unsigned s[32][68];
  __shared__ u64 b;
  int t = threadIdx.x;
  if (t == 0) begin(&b, 5);
  __syncthreads();
  if (t % 7 == 1) {
    expect(&b, 16 * (1 + t / 2));
    load(s[t], in + 68 * t, 16 * (1 + t / 2), &b);
  }
  wait(&b, 0);
  for (int i = t; i < 32 * 68; i += 32) s[i / 68][i % 68] += 5;
  __syncthreads();
  if (t % 7 == 1) store(out + 68 * t, s[t], 16 * (1 + t / 2));
  if (t < 2) store(out + 68 * 30, s[30], 16);
  stored();
}
"""
)

HINTS = (
    HEAD
    + """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ __align__(128) unsigned s[4][64];
  __shared__ u64 b;
  int t = threadIdx.x;
  u64 policy = 0x14F0000000000000ull;
  if (t == 0) {
    begin(&b, 1);
    SAY("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(in), "r"(256) : "memory");
    expect(&b, 4 * 256);
    SAY(TO_SHARED ".L2::cache_hint [%0], [%1], %2, [%3], %4;"
      :: "r"(place(s[0])), "l"(in), "r"(256), "r"(place(&b)), "l"(policy) : "memory");
    SAY(TO_SHARED ".multicast::cluster [%0], [%1], %2, [%3], %4;"
      :: "r"(place(s[1])), "l"(in + 64), "r"(256), "r"(place(&b)), "h"((short)1) : "memory");
    SAY(TO_SHARED ".multicast::cluster.L2::cache_hint [%0], [%1], %2, [%3], %4, %5;"
      :: "r"(place(s[2])), "l"(in + 128), "r"(n), "r"(place(&b)), "h"((short)1), "l"(policy)
      : "memory");
    SAY("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" :: "r"(place(s[3])), "r"(place(s[1])), "r"(256), "r"(place(&b))
      : "memory");
  }
  __syncthreads();
  wait(&b, 0);
  if (t == 0)
    SAY(TO_GLOBAL ".L2::cache_hint [%0], [%1], %2, %3;"
      :: "l"(out), "r"(place(s)), "r"(1024), "l"(policy) : "memory");
  stored();
}
"""
)

TILES = (
    HEAD
    + """
#if RANK == 1
#define AT "{%3}"
#elif RANK == 2
#define AT "{%3, %4}"
#elif RANK == 3
#define AT "{%3, %4, %5}"
#elif RANK == 4
#define AT "{%3, %4, %5, %6}"
#else
#define AT "{%3, %4, %5, %6, %7}"
#endif
#define QUOTED(x) #x
#define TEXT(x) QUOTED(x)
extern "C" __global__ void k(const __grid_constant__ Map from, const __grid_constant__ Map to,
                             uint4* seen, int bytes, int a, int b, int c, int d, int e) {
  extern __shared__ __align__(1024) uint4 s[];
  __shared__ u64 bar;
  int t = threadIdx.x;
  for (int i = t; i < bytes / 16; i += 32) s[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
  if (t == 0) {
    begin(&bar, 1);
    SAY("prefetch.tensormap [%0];" :: "l"((u64)&from) : "memory");
  }
  __syncthreads();
  if (t == 0) {
    expect(&bar, bytes);
    SAY(TILE(TEXT(RANK) "d") LOADS " [%0], [%1, " AT "], [%2];" :: "r"(place(s)),
      "l"((u64)&from), "r"(place(&bar)), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e) : "memory");
  }
  wait(&bar, 0);
  for (int i = t; i < bytes / 16; i += 32) seen[i] = s[i];
  __syncthreads();
  if (t == 0)
    SAY(TILE(TEXT(RANK) "d") STORES " [%1, " AT "], [%0];" :: "r"(place(s)),
      "l"((u64)&to), "n"(0), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e) : "memory");
  stored();
}
"""
)

LIBRARY = """
#include <cuda.h>
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
#define MAP const __grid_constant__ CUtensorMap
__global__ void k(MAP from, MAP to) {
  __shared__ alignas(128) int s[32][32];
  __shared__ barrier b;
  if (threadIdx.x == 0) { init(&b, blockDim.x); cde::fence_proxy_async_shared_cta(); }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&s, &from, 32 * blockIdx.x, 32 * blockIdx.y, b);
    token = cuda::device::barrier_arrive_tx(b, 1, sizeof(s));
  } else {
    token = b.arrive();
  }
  b.wait(std::move(token));
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i / 32][i % 32] *= 3;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&to, 32 * blockIdx.x, 32 * blockIdx.y, &s);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
    (&b)->~barrier();
  }
}
"""
