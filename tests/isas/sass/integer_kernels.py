"""Kernels of integer and bit instructions on hard operands, as CUDA sources.

Every kernel reads `x`, `y`, `z` of 32 bits and `u`, `v` of 64 bits per thread, and writes one
result per statement to `o` (32 bits) or `q` (64 bits). `integer_statements` has the statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Launch

THREADS = 128

EDGES = (
    *(0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000),
    *(0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF),
    *(0xFFFF0000, 0x80008000, 0x7FFF8000, 0x80808080, 0x00FF7F80),
)


def source(narrow: Sequence[str], wide: Sequence[str] = (), before: str = "") -> str:
    """A kernel whose statements are expressions in C, or PTX with the result as `%0` and the
    operands as `%1`, `%2`, `%3`: x, y, z in narrow ones, u, v, x in wide ones."""
    lines = [
        'extern "C" __global__ void k(const unsigned* a, const unsigned* b, const unsigned* c,',
        "    const unsigned long long* w, unsigned* o, unsigned long long* q) {",
        "  int t = threadIdx.x;",
        "  unsigned x = a[t], y = b[t], z = c[t], d[64];",
        "  unsigned long long u = w[t], v = w[t ^ 1], e[64];",
        before,
        *_statements(narrow, wide),
        *(f"  o[t + {n * THREADS}] = d[{n}];" for n in range(len(narrow))),
        *(f"  q[t + {n * THREADS}] = e[{n}];" for n in range(len(wide))),
        "}",
    ]
    return "\n".join(lines)


def uniform_source(narrow: Sequence[str], wide: Sequence[str]) -> str:
    """The same with operands that all threads of a block share: what is computed before a value of
    each thread is added goes to the uniform data path, where the chip has one."""
    lines = [
        'extern "C" __global__ void k(const unsigned* a, unsigned* o, unsigned long long* q,',
        "    unsigned x, unsigned y, unsigned z, unsigned long long u, unsigned long long v) {",
        "  unsigned m = a[threadIdx.x], d[64];",
        "  unsigned long long e[64];",
        "  x += blockIdx.x, y -= 3 * blockIdx.x, z += 5 * blockIdx.x, u += blockIdx.x, v ^= x;",
        *_statements(narrow, wide),
        f"  o += blockIdx.x * {len(narrow)};",
        f"  q += blockIdx.x * {len(wide)};",
        *(f"  o[{n}] = d[{n}] + m;" for n in range(len(narrow))),
        *(f"  q[{n}] = e[{n}] + m;" for n in range(len(wide))),
        "}",
    ]
    return "\n".join(lines)


def _statements(narrow: Sequence[str], wide: Sequence[str]) -> Iterator[str]:
    for n, text in enumerate(narrow):
        if ";" in text:
            yield f'  asm volatile("{text}" : "=r"(d[{n}]) : "r"(x), "r"(y), "r"(z));'
        else:
            yield f"  d[{n}] = {text};"
    for n, text in enumerate(wide):
        if ";" in text:
            yield f'  asm volatile("{text}" : "=l"(e[{n}]) : "l"(u), "l"(v), "r"(x));'
        else:
            yield f"  e[{n}] = {text};"


def launch(narrow: Sequence[str], wide: Sequence[str] = ()) -> Launch:
    """One block, with room for the results."""
    arrays = {name: Array("u32", (THREADS,)) for name in "abc"}
    arrays["w"] = Array("u64", (THREADS,))
    arrays["o"] = Array("u32", (THREADS * max(len(narrow), 1),))
    arrays["q"] = Array("u64", (THREADS * max(len(wide), 1),))
    return Launch((1, 1, 1), (THREADS, 1, 1), arrays)


def uniform_launch(narrow: Sequence[str], wide: Sequence[str]) -> Launch:
    """Blocks whose operands cross zero, the sign and the width of a word."""
    blocks = 8
    arrays = {
        "a": Array("u32", (32,)),
        "o": Array("u32", (blocks * len(narrow),)),
        "q": Array("u64", (blocks * len(wide),)),
    }
    numbers = {"x": (1 << 32) - 4, "y": (1 << 31) + 9, "z": 12, "u": (1 << 63) - 3, "v": 5}
    return Launch((blocks, 1, 1), (32, 1, 1), {**arrays, **numbers})


def executors_on(architecture: str) -> tuple[str, ...]:
    """The engine everywhere; the reference on one chip of every generation of the code."""
    both = architecture in ("sm_75", "sm_90", "sm_120")
    return ("engine", "reference") if both else ("engine",)


def fill(memory: Memory) -> None:
    """Hard values for two thirds of the threads, random ones for the others."""
    random = np.random.default_rng(5)
    for name in "abc":
        memory.array(name)[:] = _words(random)
    pairs = _words(random) << np.uint64(32) | _words(random)
    pairs[1::6] = pairs[0::6][: pairs[1::6].size]  # u == v
    pairs[3::6] = pairs[2::6][: pairs[3::6].size] ^ np.uint64(1)  # equal high words
    memory.array("w")[:] = pairs


def _words(random: np.random.Generator) -> NDArray[np.uint64]:
    words = random.integers(0, 1 << 32, THREADS, dtype=np.uint64)
    words[: THREADS * 2 // 3] = random.choice(np.array(EDGES, np.uint64), THREADS * 2 // 3)
    return random.permutation(words)
