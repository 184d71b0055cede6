"""Kernels of floating-point statements on hard numbers, executed as PTX and as machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tests.execution.machine_code import disagreements

from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Launch

BLOCKS, THREADS = 6, 128
ELEMENTS = BLOCKS * THREADS

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
    "u32": (0, 1, 0xFFFF_FFFF, 0x7FFF_FFFF, 0x8000_0000, 0x7FFF, 0xFFFF_8000, 0xFF7F, 0x80FF),
    "u64": (
        *(0, 1, (1 << 64) - 1, (1 << 63) - 1, 1 << 63, 1 << 32, (1 << 53) + 1, (1 << 24) + 1),
        *(0xFFFF_FFFF_8000_0000, 0x7FFF_FF40_0000_0001, 0xFF80, 0x8000, 0x7FFF_FFFF),
    ),
}
"""Bits of numbers at the limits of their type, and of those it is converted to."""

_C_TYPES = {
    **dict.fromkeys(("f16", "bf16"), "unsigned short"),
    **dict.fromkeys(("f16x2", "bf16x2", "u32"), "unsigned"),
    **dict.fromkeys(("f32x2", "u64"), "unsigned long long"),
    "f32": "float",
    "f64": "double",
}
_CONSTRAINTS = {"unsigned short": "h", "float": "f", "double": "d", "unsigned": "r"}


@dataclass(frozen=True)
class Work:
    """A kernel of statements on x, y and z, numbers of `types`, with results of one type each.

    A statement is an expression in C, or PTX with the result as `%0` and x, y, z as `%1`, `%2`,
    `%3`. Halves are their bits in C.
    """

    statements: Sequence[str]
    types: Sequence[str]
    result: str

    def source(self, name: str) -> str:
        """The kernel in CUDA C++; its parameters are bytes, which may be arrays of anything."""
        names = "xyz"[: len(self.types)]
        parameters = ", ".join(f"char *p{n}" for n in f"o{names}")
        loads = [
            f"  {_C_TYPES[t]} {n} = (({_C_TYPES[t]} *)p{n})[i];"
            for n, t in zip(names, self.types, strict=True)
        ]
        results = [
            f"  o[i + {ELEMENTS * at}] = {self._expression(s)};"
            for at, s in enumerate(self.statements)
        ]
        return "\n".join(
            (
                f'extern "C" __global__ void {name}({parameters}) {{',
                f"  int i = blockIdx.x * {THREADS} + threadIdx.x;",
                f"  {_C_TYPES[self.result]} *o = ({_C_TYPES[self.result]} *)po;",
                *loads,
                *results,
                "}",
            )
        )

    def _expression(self, statement: str) -> str:
        if "%0" not in statement:
            return statement
        sources = ", ".join(
            f'"{_constraint(t)}"({n})' for n, t in zip("xyz", self.types, strict=False)
        )
        result = f'"={_constraint(self.result)}"(r)'
        assembly = f'asm("{{ {statement} }}" : {result} : {sources});'
        return f"[&] {{ {_C_TYPES[self.result]} r; {assembly} return r; }}()"

    def launch(self) -> Launch:
        """A launch on arrays of its types."""
        arrays = {"po": _array(self.result, ELEMENTS * len(self.statements))}
        for name, type in zip("xyz", self.types, strict=False):
            arrays[f"p{name}"] = _array(type, ELEMENTS)
        return Launch((BLOCKS, 1, 1), (THREADS, 1, 1), arrays)

    def fill(self, memory: Memory) -> None:
        """Write numbers to its operands."""
        for column, (name, type) in enumerate(zip("xyz", self.types, strict=False)):
            view = memory.array(f"p{name}")
            bits = numbers(_element(type), column, view.size)
            view.view(bits.dtype)[:] = bits


def differences(
    works: Mapping[str, Work],
    name: str,
    architecture: str,
    *,
    executors: Sequence[str] = ("engine",),
    extra: Sequence[str] = (),
) -> list[str]:
    """What machine code leaves otherwise than the PTX of the same source, for one of the kernels
    of a file."""
    return disagreements(
        "\n".join(work.source(each) for each, work in works.items()),
        works[name].launch(),
        name=name,
        architectures=[architecture],
        executors=executors,
        extra=extra,
        prepare=works[name].fill,
        approximate=True,
    )


def numbers(type: str, column: int, count: int) -> NDArray[np.unsignedinteger]:
    """Bits of numbers of a type for one operand: every pair of edges meets in two columns; of the
    numbers behind them half are of moderate size."""
    random = np.random.default_rng(column)
    dtype = np.dtype(_DTYPES[type])
    values = random.integers(0, np.iinfo(dtype).max, count, dtype, endpoint=True)
    if type in ("f32", "f64"):
        moderate = random.normal(size=count) * 10.0 ** random.integers(-3, 4, count)
        bits = moderate.astype(f"f{dtype.itemsize}").view(dtype)
        values = np.where(random.random(count) < 0.5, bits, values)
    edges = np.array(EDGES[type], dtype)
    pair = np.arange(min(count, len(edges) ** 2))
    at = (pair, pair // len(edges), pair + pair // len(edges))[column]
    values[: len(pair)] = edges[at % len(edges)]
    return values


_DTYPES = {"f16": "u2", "bf16": "u2", "f32": "u4", "f64": "u8", "u32": "u4", "u64": "u8"}


def _array(type: str, elements: int) -> Array:
    """An array of a type; a pair is two elements of it."""
    return Array(_element(type), (elements * (2 if type.endswith("x2") else 1),))


def _element(type: str) -> str:
    return type.removesuffix("x2")


def _constraint(type: str) -> str:
    return _CONSTRAINTS.get(_C_TYPES[type], "l")
