"""Matrix instructions: of one warp (`tensor.cu`), of a group of four (`wgmma.cu`), of one thread
(`tcgen05.cu`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..session import Sample, Session

Capability = tuple[int, int]
_LATEST = (99, 0)
_FROM_8 = (((8, 0), _LATEST),)
_HOPPER = (((9, 0), (9, 0)),)
_BLACKWELL = (((10, 0), (10, 9)),)


class Shape(NamedTuple):
    """Multiply-adds of one instruction, and the compute capabilities that have it."""

    multiply_adds: int
    chips: tuple[tuple[Capability, Capability], ...] = _FROM_8

    def is_on(self, capability: Capability) -> bool:
        """Whether chips of this compute capability have the instruction."""
        return any(first <= capability <= last for first, last in self.chips)


SHAPES: Mapping[str, Shape] = {
    "m16n8k8_f16": Shape(16 * 8 * 8, (((7, 5), _LATEST),)),
    "m16n8k16_f16": Shape(16 * 8 * 16),
    "m16n8k16_f16_in_f16": Shape(16 * 8 * 16),
    "m16n8k8_bf16": Shape(16 * 8 * 8),
    "m16n8k16_bf16": Shape(16 * 8 * 16),
    "m16n8k4_tf32": Shape(16 * 8 * 4),
    "m16n8k8_tf32": Shape(16 * 8 * 8),
    "m8n8k16_s8": Shape(8 * 8 * 16, (((7, 5), (9, 0)),)),
    "m16n8k16_s8": Shape(16 * 8 * 16),
    "m16n8k32_s8": Shape(16 * 8 * 32),
    "m16n8k32_e4m3": Shape(16 * 8 * 32, (((8, 9), (8, 9)), ((12, 0), _LATEST))),
    "m8n8k4_f64": Shape(8 * 8 * 4),
    "m16n8k4_f64": Shape(16 * 8 * 4, _HOPPER),
    "m16n8k8_f64": Shape(16 * 8 * 8, _HOPPER),
}
"""Shapes of `tensor.cu`; the sums of `f16` are in single precision, of `f16_in_f16` in half."""

GROUP_SHAPES: Mapping[str, Shape] = {
    **{f"f16_n{n}": Shape(64 * n * 16, _HOPPER) for n in (8, 64, 128, 256)},
    "bf16_n128": Shape(64 * 128 * 16, _HOPPER),
    "tf32_n128": Shape(64 * 128 * 8, _HOPPER),
    "s8_n128": Shape(64 * 128 * 32, _HOPPER),
    "e4m3_n128": Shape(64 * 128 * 32, _HOPPER),
}
"""Shapes of `wgmma.cu`, which all have 64 rows."""

THREAD_SHAPES: Mapping[str, Shape] = {
    "tcgen05_f16_n256": Shape(128 * 256 * 16, _BLACKWELL),
    "tcgen05_bf16_n256": Shape(128 * 256 * 16, _BLACKWELL),
    "tcgen05_tf32_n256": Shape(128 * 256 * 8, _BLACKWELL),
    "tcgen05_e4m3_n256": Shape(128 * 256 * 32, _BLACKWELL),
}
"""Shapes of `tcgen05.cu`, which all have 128 rows."""

_GROUP_THREADS = 128


def _capability(s: Session) -> Capability:
    return s.device["major"], s.device["minor"]


def _warp_shape(name: str, s: Session) -> Iterator[Sample]:
    """Cycles of chains of one shape against chains, steps and warps; none where it is missing."""
    shape = SHAPES[name]
    if not shape.is_on(_capability(s)):
        return
    iterations = 16 if s.quick else 64
    warps = (1, 8) if s.quick else (1, 2, 4, 8, 16, 32)
    plan = [(1, 16, 1), (1, 48, 1)]
    plan += [(c, 16, w) for c in (1, 2, 4) for w in warps if (c, w) != (1, 1)]
    for chains, steps, count in plan:
        arguments = [ctypes.c_int(iterations), ctypes.c_int(1)]
        function = s.kernel("tensor", f"{name}_{chains}x{steps}")
        if 32 * count > s.gpu.most_threads(function):
            continue
        yield {
            "chains": chains,
            "steps": steps,
            "warps": count,
            "iterations": iterations,
            "instructions": chains * steps * iterations,
            "multiply_adds": shape.multiply_adds,
            **s.timed(function, 1, 32 * count, arguments),
        }


def _group_shape(name: str, s: Session) -> Iterator[Sample]:
    """Cycles of instructions on one accumulator against steps and groups of four warps."""
    shape = GROUP_SHAPES[name]
    if not shape.is_on(_capability(s)):
        return
    iterations = 64 if s.quick else 256
    for steps in (8, 24):
        for groups in (1, 2):
            arguments = [ctypes.c_int(iterations), ctypes.c_int(1)]
            function = s.kernel("wgmma", f"{name}_x{steps}")
            yield {
                "steps": steps,
                "groups": groups,
                "iterations": iterations,
                "instructions": steps * iterations,
                "multiply_adds": shape.multiply_adds,
                **s.timed(function, 1, _GROUP_THREADS * groups, arguments),
            }


def _thread_shape(name: str, s: Session) -> Iterator[Sample]:
    """Cycles of instructions on one accumulator, which one thread issues, against steps."""
    shape = THREAD_SHAPES[name]
    if not shape.is_on(_capability(s)):
        return
    iterations = 32 if s.quick else 128
    for steps in (16, 48):
        arguments = [ctypes.c_int(iterations), ctypes.c_int(1)]
        function = s.kernel("tcgen05", f"{name}_x{steps}")
        yield {
            "steps": steps,
            "iterations": iterations,
            "multiply_adds": shape.multiply_adds,
            **s.timed(function, 1, 32, arguments),
        }


BENCHMARKS = {
    **{f"tensor.{name}": partial(_warp_shape, name) for name in SHAPES},
    **{f"wgmma.{name}": partial(_group_shape, name) for name in GROUP_SHAPES},
    **{name.replace("_", ".", 1): partial(_thread_shape, name) for name in THREAD_SHAPES},
}
