"""Machine code that other tests hardly touch: breaking it must fail a test as well.

`scripts/mutate-meanings` names the opcodes and spellings that no kernel is sensitive to. The oracle
is PTX of the same source where an executor knows it, else NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import test_meaning_tensor as tensor
from float_kernels import Work, differences
from integer_kernels import executors_on
from numpy.typing import NDArray
from tests.execution.machine_code import disagreements, kernels

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.ir import Argument, Array, Launch

ALL = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
FROM_SM_80, FROM_SM_90, FROM_SM_100 = ALL[1:], ALL[2:], ALL[3:]
UP_TO_SM_90 = ALL[:3]
THREADS, ELEMENTS = 64, 1024

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Small:
    """A kernel of 64 threads on arrays a and o, and what its code holds on which architectures."""

    body: str
    holds: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, Argument] = field(default_factory=dict)
    before: str = ""

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
        """One block."""
        arrays = {name: Array("u32", (ELEMENTS,)) for name in "ao"}
        return Launch((1, 1, 1), (THREADS, 1, 1), {**arrays, **self.numbers})

    def opcodes(self, architecture: str) -> set[str]:
        """What has to be in its code there."""
        return {name for name, made_on in self.holds.items() if architecture in made_on}


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
        "int n = __syncthreads_count(a[t] & 1), all = __syncthreads_and(t < m),"
        "any = __syncthreads_or(t == m); o[t] = 4 * n + 2 * all + any;",
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
    "wide and narrow loads": Small(
        "uint4 v = ((const uint4*)a)[t]; o[t] = v.x + 3 * v.y + 5 * v.z + 7 * v.w;"
        "o[t + 64] = __ldg((const unsigned short*)a + t);",
        {"LDG": ALL},
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
    "division in a loop": Small(
        "unsigned x = a[t]; for (int i = 0; i < n; i++) {"
        "unsigned q = (unsigned)z / (unsigned)(i + m); x = 3 * x + q; if (q == 31) o[x & 63] += 1; }"
        "o[t + 64] = x;",
        {"UI2F": ("sm_120",)},
        {"n": 6, "m": 3, "z": 123},
    ),
    "floats in a loop": Small(
        "float x = a[t], h = 1.f - f; for (int i = 0; i < n; i++) {"
        "x = x * h + (float)i; x += (float)a[t + i] * (1.f - g); }"
        "((float*)o)[t] = x + (float)(m * n);",
        {"UFADD": ("sm_120",), "UI2FP": ("sm_120",)},
        {"n": 7, "m": 11, "f": 0.37, "g": 1.81},
    ),
    "a flag in a loop": Small(
        "unsigned x = a[t]; bool first = true;"
        "_Pragma(\"unroll 1\") for (int i = 0; i < n; i++) { __syncthreads();"
        "if (first) x += a[t + 32]; else x ^= o[t ^ 1];"
        "__syncthreads(); o[t] = x; first = i == m; } o[t + 64] = x;",
        {"UISETP": FROM_SM_90},
        {"n": 7, "m": 3},
    ),
    "loops of two rounds": Small(
        "unsigned x = a[t];"
        "_Pragma(\"unroll 1\") for (int j = 0; j < n; j += 3) { __syncthreads();"
        "_Pragma(\"unroll 1\") for (int i = 0; i < 2; i++) x = 3 * x + a[t + i * m + j]; } o[t] = x;",
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
FLAG = "__shared__ volatile unsigned flag; if (t == 0) flag = 0; __syncthreads();"

WAITING: dict[str, tuple[Small, Callable[[Words], Words]]] = {
    "spinning": (
        Small(
            FLAG + "if (t < 32) { while (flag == 0); } else flag = 7; o[t] = flag;",
            {"YIELD": ALL},
        ),
        lambda a: np.full(THREADS, 7, np.uint32),
    ),
    "sleeping": (
        Small(
            FLAG + "if (t < 32) __nanosleep(20); else flag = 7; o[t] = flag;",
            {"NANOSLEEP": ALL},
        ),
        lambda a: np.full(THREADS, 7, np.uint32),
    ),
    "a lone warp": (
        Small(
            BARRIER + "if (t >= 32) return;"
            'asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory");'
            f"{WAIT} o[t] = a[t];",
            {"R2UR": FROM_SM_90, "VOTEU": FROM_SM_90, "SYNCS": FROM_SM_90},
            {"m": 32},
        ),
        lambda a: np.where(np.arange(THREADS) < 32, a[:THREADS], 0),
    ),
}


def words(count: int = ELEMENTS) -> Words:
    return np.random.default_rng(7).integers(0, 1 << 32, count, dtype=np.uint32)


def fill(memory: Memory) -> None:
    memory.array("a")[:] = words()


def small_cases() -> list[tuple[str, str]]:
    made = [(n, a) for n, s in SMALL.items() for a in ALL if s.opcodes(a)]
    return sorted(made)


@pytest.mark.parametrize(("name", "architecture"), small_cases())
def test_a_small_kernel_does_what_its_ptx_does(name: str, architecture: str) -> None:
    """Wrong if one of the opcodes that it holds is executed wrongly."""
    small = SMALL[name]
    used = {i.opcode for i in kernels(small.source, architecture)[1].instructions}
    assert used >= small.opcodes(architecture), "the test tests nothing"
    assert not disagreements(
        small.source,
        small.launch,
        architectures=[architecture],
        executors=executors_on(architecture),
        prepare=fill,
    )


def waiting_cases() -> list[tuple[str, str]]:
    return [(n, a) for n, (s, _) in WAITING.items() for a in ALL if s.opcodes(a)]


@pytest.mark.parametrize(("name", "architecture"), waiting_cases())
def test_a_kernel_whose_threads_wait_goes_on(name: str, architecture: str) -> None:
    """Wrong if a warp does not let others run, or a barrier holds when it must not."""
    small, expected = WAITING[name]
    _, kernel = kernels(small.source, architecture)
    used = {i.opcode for i in kernel.instructions}
    assert used >= small.opcodes(architecture), "the test tests nothing"
    for executor in executors_on(architecture):
        memory = Memory.build(kernel, small.launch)
        fill(memory)
        execute(kernel, small.launch, memory, executor=executor, budget=100_000)
        assert np.array_equal(memory.array("o")[:THREADS], expected(words())), executor


FLOATS = Work(
    ("__saturatef(__fmaf_rn(x, y, .25f))", "x * y * .5f", "x * -3.7f * .25f", "x * y * .125f"),
    ("f32", "f32"),
    "f32",
)
LONGS = Work(("(double)(long long)x",), ("u64",), "f64")
LONGS_TO_SINGLE = Work(("(float)(long long)x",), ("u64",), "f32")
WORKS = {"floats": FLOATS, "longs": LONGS, "longs_to_single": LONGS_TO_SINGLE}


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize("architecture", ALL)
def test_rarer_forms_of_arithmetic_are_those_of_ptx(architecture: str, name: str) -> None:
    """Wrong if a product is scaled, saturated or converted in another way."""
    executors = executors_on(architecture)
    assert not differences(WORKS, name, architecture, executors=executors)
