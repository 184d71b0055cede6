"""Kernels of one line per operation on hard numbers, and the comparison of machine code with PTX.

The oracle is the PTX of the same source, which other tests hold to exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Launch
from tests.execution.machine_code import ARCHITECTURES, disagreements

THREADS = 512
BOTH_EXECUTORS = ("sm_75", "sm_90", "sm_120")
"""Architectures on which the reference executes a sample, too."""

EDGES = {
    "f32": (
        *(0x0000_0000, 0x8000_0000, 0x0000_0001, 0x807F_FFFF, 0x0080_0000, 0x8080_0001),
        *(0x3F80_0000, 0xBF80_0000, 0x3F7F_FFFF, 0x3FC0_0000, 0x4B7F_FFFF, 0xCB00_0001),
        *(0x7F7F_FFFF, 0xFF00_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x4F00_0000),
        *(0xCF00_0001, 0x4F80_0000, 0x5F00_0000, 0x3F00_0000, 0x40A0_0000, 0x0C00_0000),
    ),
    "f64": (
        *(0x0000_0000_0000_0000, 0x8000_0000_0000_0000, 0x0000_0000_0000_0001),
        *(0x800F_FFFF_FFFF_FFFF, 0x0010_0000_0000_0000, 0x3FF0_0000_0000_0000),
        *(0xBFF0_0000_0000_0000, 0x3FEF_FFFF_FFFF_FFFF, 0x3FF8_0000_0000_0001),
        *(0x433F_FFFF_FFFF_FFFF, 0x7FEF_FFFF_FFFF_FFFF, 0xFFE0_0000_0000_0000),
        *(0x7FF0_0000_0000_0000, 0xFFF0_0000_0000_0000, 0x7FF8_0000_0000_0000),
        *(0x41DF_FFFF_FFE0_0000, 0xC1E0_0000_0000_0000, 0x43E0_0000_0000_0000),
        *(0x3FE0_0000_0000_0000, 0x47EF_FFFF_F000_0000, 0x36A0_0000_0000_0001),
        *(0x380F_FFFF_E000_0000, 0x0370_0000_0000_0000, 0x7FD0_0000_0000_0000),
    ),
    "f16": (
        *(0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x3BFF, 0x3E00, 0x7BFF),
        *(0xFB00, 0x7C00, 0xFC00, 0x7E00, 0x6400, 0x5BFF, 0xD800, 0x3800),
    ),
    "bf16": (
        *(0x0000, 0x8000, 0x0001, 0x807F, 0x0080, 0x3F80, 0xBF80, 0x3F7F, 0x3FC0, 0x7F7F),
        *(0xFF00, 0x7F80, 0xFF80, 0x7FC0, 0x4B00, 0x4F00, 0xCF00, 0x3F00),
    ),
    "u32": (0, 1, 0xFFFF_FFFF, 0x7FFF_FFFF, 0x8000_0000, 0x80, 0xFF7F, 0xFF_FF80, 0x0100_0001),
    "u64": (
        *(0, 1, (1 << 64) - 1, (1 << 63) - 1, 1 << 63, 1 << 32, (1 << 53) + 1, (1 << 24) + 1),
        *(0xFFFF_FFFF_8000_0000, 0x7FFF_FF40_0000_0001, 0xFF80, 0x8000),
    ),
}
"""Bits of numbers at the limits of their type, and of integers it is converted to."""

_WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "u32": 32, "f64": 64, "u64": 64}


def numbers(type: str, column: int, count: int) -> NDArray[np.unsignedinteger]:
    """Bits of numbers: pairs of edges along two columns, then moderate and any numbers."""
    random = np.random.default_rng(column)
    dtype = np.dtype(f"u{_WIDTH[type] // 8}")
    edges = np.array(EDGES[type], dtype)
    values = random.integers(0, 1 << _WIDTH[type], count, dtype, endpoint=False)
    if type in ("f32", "f64"):
        moderate = random.normal(size=count) * 10.0 ** random.integers(-3, 4, count)
        bits = moderate.astype(f"f{dtype.itemsize}").view(dtype)
        values = np.where(random.random(count) < 0.5, bits, values)
    pairs = np.arange(min(count, len(edges) ** 2))
    at = pairs // len(edges) ** (column % 2) + (column // 2) * (pairs // len(edges))
    values[: len(pairs)] = edges[at % len(edges)]
    return values


def machine_differs(
    body: str | Mapping[str, str],
    types: Sequence[str],
    result: str,
    *,
    architectures: Sequence[str] = ARCHITECTURES,
    executors: Sequence[str] = ("engine",),
    threads: int = THREADS,
    results: int = 64,
    helpers: str = "",
    approximate: bool = False,
    extra: Sequence[str] = (),
) -> list[str]:
    """Where machine code and PTX of a kernel differ.

    `body` computes `out(value);` of x, y and z, numbers of `types`, which are C types or their
    bits; every `out` writes one array of results.
    """
    names = "xyz"[: len(types)]
    loads = "".join(
        f"{_C_TYPE[t]} {n} = (({_C_TYPE[t]} *)p{n})[i]; "
        for n, t in zip(names, types, strict=True)
    )
    # A parameter that points to bytes may be given an array of anything.
    parameters = ", ".join(f"char *p{n}" for n in f"o{names}")
    source = (
        f"{helpers}\n#define out(v) (({_C_TYPE[result]} *)po)[i + {threads} * n++] = (v)\n"
        f'extern "C" __global__ void k({parameters}) {{\n'
        f"int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0; {loads}\n{body}\n}}"
    )
    arrays = {"po": _array(result, results * threads)}
    arrays |= {f"p{n}": _array(t, threads) for n, t in zip(names, types, strict=True)}

    def prepare(memory: Memory) -> None:
        for column, (name, type) in enumerate(zip(names, types, strict=True)):
            view = memory.array(f"p{name}")
            bits = numbers(type.removesuffix("x2"), column, view.size)
            view.view(bits.dtype)[:] = bits

    return disagreements(
        source,
        Launch((threads // 128, 1, 1), (128, 1, 1), arrays),
        architectures=architectures,
        executors=executors,
        prepare=prepare,
        approximate=approximate,
        extra=extra,
    )


def _array(type: str, elements: int) -> Array:
    """An array of a type, where a pair of halves is two elements."""
    halves = 2 if type.endswith("x2") else 1
    return Array(type.removesuffix("x2"), (halves * elements,))


_C_TYPE = {
    **{"f16": "unsigned short", "bf16": "unsigned short", "f32": "float", "f64": "double"},
    **{"f16x2": "unsigned", "bf16x2": "unsigned", "u32": "unsigned", "u64": "unsigned long long"},
}
