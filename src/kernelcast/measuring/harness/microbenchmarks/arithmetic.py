"""Chains of instructions: their latency and their throughput (`arithmetic.cu`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session

OPERATIONS: Mapping[str, int] = {
    "fp32_add": 1,
    "fp32_mul": 1,
    "fp32_fma": 1,
    "fp64_fma": 1,
    "fp16_fma": 1,
    "bf16_fma": 1,
    "int_add": 2,
    "int_mad": 1,
    "logic": 2,
    "shift": 1,
    "popc": 1,
    "convert": 2,
    "convert_f16": 2,
    "convert_f64": 2,
    "int_compare": 2,
    "int_minmax": 2,
    "fp32_compare": 2,
    "fp32_minmax": 2,
    "rsqrt": 1,
    "exp2": 1,
    "sin": 1,
    "shuffle": 1,
}
"""Instructions in one step of each chain of `arithmetic.cu`."""
SINCE: Mapping[str, tuple[int, int]] = {"bf16_fma": (8, 0)}


def _arithmetic(operation: str, s: Session) -> Iterator[Sample]:
    """Cycles of chains of instructions against chains, steps and warps."""
    if (s.device["major"], s.device["minor"]) < SINCE.get(operation, (0, 0)):
        return
    iterations = 16 if s.quick else 64
    shapes = [(1, 64, 1), (1, 192, 1)]
    warps = (1, 4, 32) if s.quick else (1, 2, 4, 8, 12, 16, 24, 32)
    shapes += [(c, 64, w) for c in (1, 2, 4) for w in warps if (c, w) != (1, 1)]
    for chains, steps, count in shapes:
        function = s.kernel("arithmetic", f"{operation}_{chains}x{steps}")
        arguments = [ctypes.c_int(iterations), ctypes.c_int(1)]
        yield {
            "chains": chains,
            "steps": steps,
            "warps": count,
            "iterations": iterations,
            "instructions": chains * steps * iterations * OPERATIONS[operation],
            **s.timed(function, 1, 32 * count, arguments),
        }


BENCHMARKS = {f"arithmetic.{name}": partial(_arithmetic, name) for name in OPERATIONS}
