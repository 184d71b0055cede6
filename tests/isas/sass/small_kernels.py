"""Small kernels of opcodes and forms that other tests hardly touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.memory import Memory
from kernelcast.ir import Argument, Array, Kernel, Launch

ALL = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
FROM_SM_80, FROM_SM_90, FROM_SM_100 = ALL[1:], ALL[2:], ALL[3:]
UP_TO_SM_90 = ALL[:3]
ELEMENTS = 1024

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Small:
    """A kernel on arrays a and o, of one block if nothing is said, and what its code holds on which
    architectures."""

    body: str
    holds: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, Argument] = field(default_factory=dict)
    before: str = ""
    threads: int = 64
    grid: tuple[int, int, int] = (1, 1, 1)
    expected: Callable[[Words], Words] | None = None

    @property
    def source(self) -> str:
        """The kernel in CUDA C++; its numbers follow the arrays."""
        kinds = {int: "int", float: "float"}
        numbers = "".join(f", {kinds[type(v)]} {n}" for n, v in self.numbers.items())
        return (
            f'{self.before}\nextern "C" __global__ void k(unsigned* a, unsigned* o{numbers})'
            f" {{ int t = threadIdx.x; {self.body} }}"
        )

    @property
    def launch(self) -> Launch:
        """One block, or as many as the grid has."""
        arrays = {name: Array("u32", (ELEMENTS,)) for name in "ao"}
        return Launch(self.grid, (self.threads, 1, 1), {**arrays, **self.numbers})

    @property
    def architectures(self) -> list[str]:
        """Those on which something of interest is in its code."""
        return [a for a in ALL if any(a in made_on for made_on in self.holds.values())]

    def is_held_by(self, kernel: Kernel) -> bool:
        """Whether what should be is in the code: opcodes, or spellings of them."""
        used = {name for i in kernel.instructions for name in (i.opcode, i.name)}
        return used >= {name for name, made_on in self.holds.items() if kernel.target in made_on}


def shuffle(form: str, plus: int) -> str:
    return (
        f'asm volatile("{{.reg .pred p; shfl.sync.{form}, -1; @p add.u32 %0, %0, {plus};}}" '
        ': "=r"(v) : "r"(a[t]), "r"(a[t + 64] & 31)); r = 31 * r + v;'
    )


SMALL = {
    "shuffles": Small(
        "unsigned r = 0, v;"
        + shuffle("up.b32 %0|p, %1, 3, 0", 1000)
        + shuffle("down.b32 %0|p, %1, 5, 31", 2000)
        + shuffle("bfly.b32 %0|p, %1, 8, 0x1807", 3000)
        + shuffle("idx.b32 %0|p, %1, %2, 0x0f0f", 4000)
        + "o[t] = r;",
        {"SHFL": ALL},
    ),
    "votes": Small(
        "bool p = t < m, all = __all_sync(~0u, p), any = __any_sync(~0u, p); int uniform;"
        'asm volatile("{.reg .pred p, q; setp.lt.s32 p, %1, %2; vote.sync.uni.pred q, p, -1;'
        'selp.s32 %0, 4, 0, q;}" : "=r"(uniform) : "r"(t), "r"(m));'
        "o[t] = (all ? 1 : 0) + (any ? 2 : 0) + uniform;",
        {"VOTE": ALL},
        {"m": 40},
    ),
    "positions": Small(
        "o[t] = atomicAdd(&a[700], a[t] & 7); o[t + 64] = atomicAdd(&a[t + 64], a[t]);",
        {"ATOMG": ALL, "SHFL": ALL},
    ),
    "generic addresses": Small(
        "__shared__ unsigned s[128]; s[t] = a[t]; s[t + 64] = 0; unsigned* g = o + 128 + t;"
        "__syncthreads(); *(a[t] & 1 ? &s[64 + t] : g) = a[t] + 7;"
        "unsigned* q = a[t] & 2 ? &s[t] : g; unsigned old = atomicAdd(q, 5);"
        "atomicXor(a[t] & 4 ? &s[t ^ 1] : g + 64, 9); __syncthreads();"
        "o[t] = 3 * *q + old; o[t + 64] = 5 * s[64 + t] + s[t];",
        {"LD": ALL, "ST": ALL, "ATOM": ALL},
    ),
    "table of targets": Small(
        "unsigned x = a[t], y = a[t + 64], r; switch (x % 9) {"
        "case 0: r = x * y; break; case 1: r = x / (y | 1); break; case 2: r = x ^ y; break;"
        "case 3: r = __brev(x) + y; break; case 4: r = x < y ? y : x * 3; break;"
        "case 5: r = x >> (y & 31); break; case 6: r = x % (y | 7); break;"
        "case 7: r = ~x & y; break; default: r = 77; } o[t] = r;",
        {"BRX": FROM_SM_100},
    ),
    "barriers that reduce": Small(
        "int n = __syncthreads_count(a[t] & 3), all = __syncthreads_and(t <= m),"
        "any = __syncthreads_or(t > m); o[t] = 4 * n + 2 * all + any;",
        {"BAR": ALL, "B2R": ALL},
        {"m": 63},
    ),
    "leading lane": Small(
        "unsigned lane, leads; if (a[t] & 1) {"
        'asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p;}"'
        ': "=r"(lane), "=r"(leads) : "r"(__activemask())); o[t] = 4 * lane + leads + 1; }',
        {"ELECT": FROM_SM_90},
    ),
    "reductions of a warp": Small(
        "o[t] = __reduce_add_sync(~0u, a[t]); o[t + 64] = __reduce_min_sync(~0u, a[t]);"
        "o[t + 128] = __reduce_max_sync(~0u, (int)a[t]);"
        "o[t + 192] = __reduce_and_sync(~0u, a[t] | 255) ^ __reduce_xor_sync(~0u, a[t]);",
        {"REDUX": FROM_SM_80, "CREDUX": ("sm_100",)},
    ),
    "constants by index": Small(
        "o[t] = table[a[t] & 7] + table[7 - (a[t] & 3)];",
        {"LDC": ALL},
        before="__constant__ unsigned table[8] = {3, 14, 159, 2653, 58979, 323, 84, 62};",
    ),
    "wide constants by index": Small(
        "const uint4* wide = (const uint4*)table; uint4 v = wide[a[t] & 1], w = wide[m & 1];"
        "o[t] = v.x + 3 * v.y + 5 * v.z + 7 * v.w; o[t + 64] = w.x ^ w.y ^ w.z ^ w.w ^ a[t];",
        {"LDC": ALL},
        {"m": 3},
        before="__constant__ __align__(16) unsigned table[8] ="
        " {3, 14, 159, 2653, 58979, 323, 84, 62};",
    ),
    "constants by a pointer": Small(
        "const unsigned* from = m & 1 ? a : table + 1; o[t] = from[a[t] & 3] + from[t & 1];",
        {"LD": ALL},
        {"m": 4},
        before="__constant__ unsigned pad[3] = {1, 2, 3};"
        "__constant__ unsigned table[8] = {3, 14, 159, 2653, 58979, 323, 84, 62};",
    ),
    "half of a constant": Small(
        'unsigned r; asm("{.reg .b16 h; cvt.u16.u32 h, %1; abs.f16 h, h; cvt.u32.u16 %0, h;}"'
        ' : "=r"(r) : "r"(m)); o[t] = r + a[t];',
        {"HADD2": ALL},
        {"m": 0xC500},
    ),
    "wide and narrow loads": Small(
        "uint4 v = ((const uint4*)a)[t]; o[t] = v.x + 3 * v.y + 5 * v.z + 7 * v.w;"
        "uint4 w = __ldg((const uint4*)a + m); o[t + 64] = w.x + 3 * w.y + 5 * w.z + 7 * w.w;"
        "o[t + 128] = __ldg((const unsigned short*)a + t);",
        {"LDG": ALL},
        {"m": 100},
    ),
    # Of moderate size: beyond the range of normal numbers a product that is scaled before it is
    # rounded differs from the two products of PTX.
    "scaled products": Small(
        "float x = (int)a[t] * .37f, y = (int)a[t + 64] * .11f, z = (int)a[t + 128] * .03f;"
        "float* r = (float*)o; r[t] = x * y * .5f; r[t + 64] = x * -3.7f * .25f;"
        "r[t + 128] = y * z * .125f;",
        {"FMUL.D2": ALL, "FMUL.D4": ALL, "FMUL.D8": ALL},
    ),
    "local memory": Small(
        "uint4 m[24]; for (int i = 0; i < 24; i++) m[a[i + t] % 24] = ((uint4*)a)[t + i];"
        "uint4 v = m[a[t] % 24], w = m[a[t + 64] % 24];"
        "o[t] = v.x + 3 * v.y + 5 * v.z + 7 * v.w; o[t + 64] = w.x ^ w.w;",
        {"STL": ALL, "LDL": ALL},
    ),
    "division by a number": Small(
        "o[t] = (long long)(int)a[t] * 1000003 % (long long)m;",
        {"USEL": UP_TO_SM_90, "UISETP": UP_TO_SM_90},
        {"m": -77},
    ),
    "equal high words": Small(
        "unsigned long long high = (unsigned long long)n << 32;"
        "unsigned long long u = (high | m) + blockIdx.x, v = high + z, w = v + 1;"
        "o[t] = (u == v ? n : m) + a[t]; o[t + 64] = (u == w ? n : m) + a[t];",
        {"USEL": ALL, "UISETP": ALL},
        {"n": 5, "m": 9, "z": 8},
    ),
    "division in a loop": Small(
        "unsigned x = a[t]; for (int i = 0; i < n; i++) {"
        "unsigned q = (unsigned)z / (unsigned)(i + m); x = 3 * x + q;"
        "if (q == 31) o[x & 63] += 1; } o[t + 64] = x;",
        {"UI2F": ("sm_120",)},
        {"n": 6, "m": 3, "z": 123},
    ),
    "floats in a loop": Small(
        "float x = a[t], h = 1.f - f; for (int i = 0; i < n; i++) {"
        "x = x * h + (float)i; x += (float)a[t + i] * (1.f - g); }"
        "((float*)o)[t] = x; ((float*)o)[t + 64] = (float)(m * n) * f;",
        {"UFADD": ("sm_120",), "UI2FP": ("sm_120",)},
        {"n": 7, "m": 11, "f": 0.37, "g": 1.81},
    ),
    "a flag in a loop": Small(
        "unsigned x = a[t]; bool first = true;"
        '_Pragma("unroll 1") for (int i = 0; i < n; i++) { __syncthreads();'
        "if (first) x += a[t + 32]; else x ^= o[t ^ 1];"
        "__syncthreads(); o[t] = x; first = i == m; } o[t + 64] = x;",
        {"UISETP": FROM_SM_90},
        {"n": 7, "m": 3},
    ),
    "loops of two rounds": Small(
        "unsigned x = a[t];"
        '_Pragma("unroll 1") for (int j = 0; j < n; j += 3) { __syncthreads();'
        '_Pragma("unroll 1") for (int i = 0; i < 2; i++) x = 3 * x + a[t + i * m + j]; } o[t] = x;',
        {"UPLOP3": FROM_SM_100},
        {"n": 7, "m": 3},
    ),
}


BARRIER = (
    "__shared__ unsigned long long barriers[4];"
    "unsigned b = (unsigned)__cvta_generic_to_shared(&barriers[a[0] & 3]);"
    'if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(b), "r"(m) : "memory");'
    "__syncthreads();"
)
WAIT = (
    'asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;"'
    '"@!p bra W;}" :: "r"(b) : "memory");'
)
COPY = '__shared__ unsigned s[64]; asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"'
COPIED = (
    ':: "r"((unsigned)__cvta_generic_to_shared(&s[t])), "l"(a + t), "r"(b) : "memory");'
    f"{WAIT} o[t] = s[t ^ 1];"
)
FLAG = "__shared__ volatile unsigned flag; if (t == 0) flag = 0; __syncthreads();"

WAITING = {
    "spinning": Small(
        FLAG + "if (t < 32) { while (flag == 0); } else flag = 7; o[t] = flag;",
        {"YIELD": ALL},
        expected=lambda a: np.full(64, 7, np.uint32),
    ),
    "sleeping": Small(
        FLAG + "if (t < 32) __nanosleep(20); else flag = 7; o[t] = flag;",
        {"NANOSLEEP": ALL},
        expected=lambda a: np.full(64, 7, np.uint32),
    ),
    "a single warp": Small(
        BARRIER
        + 'asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory");'
        + f"{WAIT} o[t] = a[t];",
        {"R2UR": FROM_SM_90, "VOTEU": FROM_SM_90, "SYNCS": FROM_SM_90},
        {"m": 32},
        threads=32,
        expected=lambda a: a[:32],
    ),
    "bytes before their arrival": Small(
        BARRIER
        + "unsigned bytes = t + 1; __shared__ volatile unsigned s[64]; s[t] = a[t];"
        + 'asm volatile("mbarrier.complete_tx.relaxed.cta.shared.b64 [%0], %1;"'
        + ':: "r"(b), "r"(bytes));'
        + 'asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"'
        + f':: "r"(b), "r"(bytes) : "memory"); {WAIT} o[t] = s[t ^ 63];',
        {"SYNCS": FROM_SM_90},
        {"m": 64},
        expected=lambda a: a[np.arange(64) ^ 63],
    ),
    "copies that arrive": Small(
        BARRIER + COPY + '"cp.async.mbarrier.arrive.noinc.shared.b64 [%2];"' + COPIED,
        {"ARRIVES": FROM_SM_90},
        {"m": 64},
        expected=lambda a: a[np.arange(64) ^ 1],
    ),
    "copies beside arrivals": Small(
        BARRIER
        + COPY
        + '"cp.async.mbarrier.arrive.shared.b64 [%2]; mbarrier.arrive.shared.b64 _, [%2];"'
        + COPIED,
        {"ARRIVES": FROM_SM_90},
        {"m": 64},
        expected=lambda a: a[np.arange(64) ^ 1],
    ),
    "matrices in empty memory": Small(
        "__shared__ __align__(16) unsigned s[128]; for (int i = t; i < 128; i += 32) s[i] = 0;"
        "__syncthreads();"
        'asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"'
        ':: "r"((unsigned)__cvta_generic_to_shared(&s[4 * t])),'
        '"r"(a[t]), "r"(a[t + 32]), "r"(a[t + 64]), "r"(a[t + 96]) : "memory");'
        "__syncthreads(); for (int i = t; i < 128; i += 32) o[i] = s[i];",
        {"STSM": FROM_SM_90},
        threads=32,
        expected=lambda a: a[:128],
    ),
}
"""Kernels of what no executor knows as PTX; what is expected are the first elements of o."""


def fill(memory: Memory) -> None:
    """Write any words to a."""
    memory.array("a")[:] = words()


def words() -> Words:
    """What a holds."""
    return np.random.default_rng(7).integers(0, 1 << 32, ELEMENTS, dtype=np.uint32)
