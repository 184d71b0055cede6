"""The synthetic workload as CUDA: a kernel whose loop holds a mix's instructions and no others.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, sections 5.1, 5.2
and 5.10. Loads chase pointers: every word of an array holds the low half of the address of the next
one, and the additions between two loads add -0.0 to it, which leaves all its bits as they are. So
every instruction needs the result of the one before, and no instruction is spent on addresses.

The low half must not look like a float that is not a number: the array, at most 1 GiB, is to lie
clear of the last 8 MiB of every 2 GiB, and within one span of 4 GiB. Where loads are from shared
memory, the -0.0 is made to look different in every lane: one value for all lanes lets the assembler
of CUDA 13 take the addition before a load for one of integers and fold it into the address.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelcast.errors import InputError
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.models.terms.mix import Mix, MixKind

_WORD_BYTES = 4
_LOOP_INSTRUCTIONS = 512
"""About as many instructions of the mix in one turn of the loop: they fit the instruction cache."""

_MOST_ALPHA = 4096
_SECTOR_WORDS = 8
_LEAST_RANDOM_CELLS = 1 << 17
_MOST_BYTES = 1 << 30
_SHARED_WORDS = WARP_LANES * WARP_LANES

_LOAD = """\
static __device__ __forceinline__ float slow(float a, unsigned high) {
    unsigned word;
    asm volatile("{\\n\\t.reg .b64 address;\\n\\tmov.b64 address, {%1, %2};\\n\\t"
                 "ld.global.u32 %0, [address];\\n\\t}"
                 : "=r"(word) : "r"(__float_as_uint(a)), "r"(high));
    return __uint_as_float(word);
}
"""
_LOAD_SHARED = """\
static __device__ __forceinline__ float slow(float a, unsigned) {
    unsigned word;
    asm volatile("{\\n\\t.reg .b64 address;\\n\\tmov.b64 address, {%1, 0};\\n\\t"
                 "ld.shared.u32 %0, [address];\\n\\t}"
                 : "=r"(word) : "r"(__float_as_uint(a)));
    return __uint_as_float(word);
}
"""
_ROOT = """\
static __device__ __forceinline__ float slow(float a, unsigned) {
    float root;
    asm volatile("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(a));
    return root;
}
"""
_PLACE = """
// The word of the i-th cell of the chain.
static __device__ unsigned place(unsigned i) {{ return i * {gap}u; }}
"""
_PLACE_RANDOM = """
// The word of the i-th cell of the chain: a permutation of all {cells}.
static __device__ unsigned place(unsigned i) {{
    for (int round = 0; round < 2; ++round) i = ((i ^ i >> {half}) * 2654435769u) & {cells_less_1}u;
    return (i ^ i >> {half}) * {gap}u;
}}
"""
_FILL = """
extern "C" __global__ void mix_fill(unsigned *chain, unsigned cells) {{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells) chain[place(i)] = (unsigned)(unsigned long long)(chain + place({next}));
}}
"""
_FILL_LAUNCH = """
[[launch]]
kernel = "mix_fill"
grid = "cdiv(cells, 256)"
block = 256
args = { chain = "u32[entries]", cells = "cells" }
"""
_ARGUMENTS = (
    'chain = "u32[entries]", iterations = "iterations", zero = -0.0, out = "f32[blocks * threads]"'
)
_TEXT = """\
/* kernelcast
blocks = {blocks}
threads = {threads}
iterations = {iterations}
cells = {cells}
entries = "{gap} * cells"
{fill_launch}
[[launch]]
kernel = "mix"
grid = "blocks"
block = "threads"
args = {{ {arguments} }}
*/

// {title}
constexpr int ALPHA = {alpha}, SLOW = {slow}, CHAINS = {chains}, GROUPS = {groups};

{instruction}{fill}
extern "C" __global__ void mix(unsigned *chain, int iterations, float zero, float *out) {{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned high = (unsigned)((unsigned long long)chain >> 32);
    float a[CHAINS], nothing = {nothing};
{start}
#pragma unroll 1
    for (int i = 0; i < iterations; ++i) {{
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {{
            if (SLOW) {{
#pragma unroll
                for (int c = 0; c < CHAINS; ++c) a[c] = slow(a[c], high);
            }}
#pragma unroll
            for (int k = 0; k < ALPHA; ++k)
#pragma unroll
                for (int c = 0; c < CHAINS; ++c) a[c] += nothing;
        }}
    }}
    float sum = 0;
    for (int c = 0; c < CHAINS; ++c) sum += a[c];
    out[thread] = sum;
}}
"""


@dataclass(frozen=True)
class MixKernel:
    """CUDA source of a mix, launch included, and what one turn of its loop holds.

    `additions` and `slow` are instructions of a warp in the loop's body; the loop itself adds a
    count, a comparison and a branch.
    """

    source: str
    additions: int
    slow: int
    blocks: int
    threads: int
    iterations: int


def mix_kernel(mix: Mix, *, blocks: int, threads: int, iterations: int = 8) -> MixKernel:
    """The kernel of a mix for a grid of `blocks` times `threads`.

    Raises
    ------
    InputError
        If alpha is not whole or too large, the block is not whole warps, or the array would exceed
        1 GiB.
    """
    alpha, slow = _counts(mix)
    if threads % WARP_LANES or not 0 < threads <= 1024:
        raise InputError(f"a block of {threads} threads", hint="give 1 to 32 whole warps")
    if blocks < 1 or iterations < 1:
        raise InputError(f"{blocks} blocks, {iterations} iterations", hint="give 1 or more of each")
    groups = max(1, _LOOP_INSTRUCTIONS // ((alpha + slow) * mix.ilp))
    loads = slow * groups * iterations
    chain = _chain(mix, blocks * threads, loads)
    if chain.cells * chain.gap * _WORD_BYTES > _MOST_BYTES:
        raise InputError(
            f"the chain would take {chain.cells * chain.gap * _WORD_BYTES} bytes, "
            f"more than {_MOST_BYTES}",
            hint="use fewer blocks or iterations",
        )
    chases = mix.kind not in (MixKind.SHARED, MixKind.SFU) and slow
    instruction = {MixKind.SHARED: _LOAD_SHARED, MixKind.SFU: _ROOT}.get(mix.kind, _LOAD)
    source = _TEXT.format(
        blocks=blocks,
        threads=threads,
        iterations=iterations,
        cells=chain.cells,
        gap=chain.gap,
        arguments=_ARGUMENTS,
        fill_launch=_FILL_LAUNCH if chases else "",
        title=f"{alpha} additions per slow instruction ({mix.kind}, {mix.ways} ways)",
        alpha=alpha,
        slow=slow,
        chains=mix.ilp,
        groups=groups,
        instruction=instruction,
        fill=chain.place + _FILL.format(next=chain.next) if chases else "",
        start=_start(mix, chain),
        nothing="__fmul_rn(zero, threadIdx.x + 1)" if mix.kind is MixKind.SHARED else "zero",
    )
    per_turn = groups * mix.ilp
    return MixKernel(source, alpha * per_turn, slow * per_turn, blocks, threads, iterations)


def _counts(mix: Mix) -> tuple[int, int]:
    """Additions and slow instructions of a group."""
    if math.isinf(mix.alpha):
        return 1, 0
    if mix.alpha != int(mix.alpha) or mix.alpha > _MOST_ALPHA:
        raise InputError(
            f"alpha is {mix.alpha:g}", hint=f"give a whole number up to {_MOST_ALPHA}, or inf"
        )
    return int(mix.alpha), 1


@dataclass(frozen=True, slots=True)
class _Chain:
    """The cells that loads chase through, `gap` words each; no load but cached ones shares one.

    `place` is CUDA: the function that gives the word of a cell. `next` and `first` are expressions:
    the cell after cell i, and the one where chain c of a thread begins.
    """

    cells: int
    gap: int
    place: str
    next: str
    first: str


def _chain(mix: Mix, threads: int, loads: int) -> _Chain:
    chains = threads * mix.ilp
    gap = mix.ways if mix.kind is MixKind.STRIDED else 1
    place = _PLACE.format(gap=gap)
    first = f"thread + c * {threads}u"
    if mix.kind in (MixKind.SHARED, MixKind.SFU):
        return _Chain(1, gap, place, "i", first)
    if mix.kind is MixKind.CACHED:
        return _Chain(chains, gap, place, "i", first)
    if mix.kind is not MixKind.RANDOM:
        cells = chains * max(1, loads)
        return _Chain(cells, gap, place, f"(unsigned)((i + {chains}ull) % {cells}u)", first)
    bits = (max(_LEAST_RANDOM_CELLS, chains * loads) - 1).bit_length()
    last = (1 << bits) - 1
    place = _PLACE_RANDOM.format(
        cells=1 << bits, cells_less_1=last, half=bits // 2, gap=_SECTOR_WORDS
    )
    # Every chain has its own stretch of one sequence that goes through all cells in random order.
    return _Chain(1 << bits, _SECTOR_WORDS, place, f"(i + 1) & {last}u", f"({first}) * {loads}u")


def _start(mix: Mix, chain: _Chain) -> str:
    """Where every chain of a thread begins."""
    if mix.kind is MixKind.SFU or math.isinf(mix.alpha):
        return "    for (int c = 0; c < CHAINS; ++c) a[c] = 1.0f;"
    if mix.kind is MixKind.SHARED:
        return _START_SHARED.format(words=_SHARED_WORDS, ways=mix.ways)
    address = f"(unsigned)(unsigned long long)(chain + place({chain.first}))"
    return f"    for (int c = 0; c < CHAINS; ++c)\n        a[c] = __uint_as_float({address});"


_START_SHARED = """\
    __shared__ unsigned words[{words}];
    for (int i = threadIdx.x; i < {words}; i += blockDim.x)
        words[i] = (unsigned)__cvta_generic_to_shared(&words[i]);
    __syncthreads();
    for (int c = 0; c < CHAINS; ++c)
        a[c] = __uint_as_float(words[(threadIdx.x % 32) * {ways}]);"""
