"""Products of matrices: `mma`, and the share of a warp in `wgmma.mma_async`.

Sums of floats are made in order of the depth, each product added by one fused operation of the
precision of the sums, of single precision for those of half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.faults import memory_fault
from kernelcast.execution.reference.floats import fused
from kernelcast.execution.reference.memory_ops import StepFunction
from kernelcast.execution.reference.operands import OperandReader, flattened, reader, writer
from kernelcast.execution.reference.semantics import Definitions, Semantics, UndefinedFormError
from kernelcast.execution.reference.state import RunState, Warp
from kernelcast.execution.reference.values import Lanes
from kernelcast.ir import Instruction
from kernelcast.isas.ptx.descriptors import UNIT_BYTES, Descriptor
from kernelcast.isas.ptx.products import (
    COLUMNS_OF_LANES,
    GROUP_DEPTH_BYTES,
    GROUP_WARPS,
    LANES_OF_ROW,
    NUMBER_BYTES,
    ROWS_OF_LANES,
    Product,
    group_product,
    warp_product,
)

_Matrix = NDArray[Any]
_E4M3_NAN = 0x7F


def _e4m3(words: _Matrix) -> _Matrix:
    """Its bits are those of a half with a larger exponent, but for one magnitude that is NaN."""
    bits = words.view(np.uint8).astype(np.uint16)
    halves = ((bits & 0x80) << 8 | (bits & 0x7F) << 7).view(np.float16)
    scaled = halves.astype(np.float32) * np.float32(256)
    numbers: _Matrix = np.where(bits & 0x7F == _E4M3_NAN, np.float32("nan"), scaled)
    return numbers


_NUMBERS: dict[str, Callable[[_Matrix], _Matrix]] = {
    "f16": lambda words: words.view(np.float16).astype(np.float32),
    "bf16": lambda words: (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32),
    # The last 13 bits are not looked at.
    "tf32": lambda words: (words.view(np.uint32) & np.uint32(0xFFFF_E000)).view(np.float32),
    "e4m3": _e4m3,
    # The upper half of a half.
    "e5m2": lambda words: (
        (words.view(np.uint8).astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    ),
    "s8": lambda words: words.view(np.int8).astype(np.int64),
    "u8": lambda words: words.view(np.uint8).astype(np.int64),
    "f64": lambda words: words.view(np.float64),
}
"""Words, or bytes of memory, as the numbers they hold."""


def _mma(instruction: Instruction) -> Semantics:
    kind = warp_product(instruction.modifiers)
    if kind is None:
        raise UndefinedFormError
    counts = (kind.a_registers, kind.b_registers, kind.sum_registers)
    types = (f"b{8 * kind.word_bytes}",) * 2 + (f"b{8 * kind.sum_bytes}",)
    sources = tuple(t for t, n in zip(types, counts, strict=True) for _ in range(n))
    after_a, after_b = counts[0], counts[0] + counts[1]

    def function(*words: Lanes) -> tuple[Lanes, ...]:
        a = _from_fragment(words[:after_a], kind, kind.a, kind.groups)
        b = _from_fragment(words[after_a:after_b], kind, kind.b, 1)
        return _to_registers(_added(a, b.T, _from_registers(words[after_b:], kind)), kind)

    return Semantics(sources, (types[2],) * counts[2], function)


def group_product_step(instruction: Instruction, run: RunState) -> StepFunction:
    """The execution of `wgmma`: its products; what else it does has no effect, all being done at
    once."""
    if "mma_async" not in instruction.modifiers:
        return lambda warp, mask, active: None
    found = group_product(instruction)
    if found is None:
        raise UndefinedFormError
    kind = found.product
    in_registers = [reader(o, "b32", run) for o in flattened([found.sums])]
    write_sums = [writer(o, "b32") for o in flattened([found.sums])]
    left = [reader(o, "b32" if found.a_in_registers else "b64", run) for o in flattened([found.a])]
    right, keeps = reader(found.b, "b64", run), reader(found.keeps, "pred", run)

    def matrix(
        warp: Warp,
        mask: int,
        read: OperandReader,
        type: str,
        first: int,
        count: int,
        *,
        across: bool,
    ) -> _Matrix:
        lane = (mask & -mask).bit_length() - 1
        descriptor = Descriptor(int(read(warp)[lane]))
        size = NUMBER_BYTES[type]
        units = _units(descriptor, first, count, size, across=across)
        for address in units.ravel().tolist():
            if address + UNIT_BYTES > len(warp.block.shared):
                thread = warp.first_thread + lane
                place = (warp.block.index, thread, address)
                raise memory_fault(run.kernel, run.launch, run.memory, instruction, *place)
        shared = np.frombuffer(warp.block.shared, np.uint8)
        stored = _NUMBERS[type](shared[units[..., None] + np.arange(UNIT_BYTES)])
        numbers = stored.reshape(len(units), -1)
        return numbers.T if across else numbers

    def step(warp: Warp, mask: int, active: Lanes) -> None:
        if found.a_in_registers:
            a = _from_fragment([read(warp) for read in left], kind, kind.a, kind.groups)
        else:
            first = kind.rows * (warp.index % GROUP_WARPS)
            a = matrix(warp, mask, left[0], kind.a, first, kind.rows, across=found.a_across)
        b = matrix(warp, mask, right, kind.b, 0, kind.columns, across=found.b_across)
        sums = _from_registers([read(warp) for read in in_registers], kind)
        if not keeps(warp)[(mask & -mask).bit_length() - 1]:
            sums = np.zeros_like(sums)
        sums = _added(-a if found.is_negated else a, b.T, sums)
        for write, value in zip(write_sums, _to_registers(sums, kind), strict=True):
            write(warp, active, value)

    return step


def _units(
    descriptor: Descriptor, first: int, count: int, size: int, *, across: bool
) -> NDArray[np.int64]:
    """Addresses of the units of a matrix, line by line, of `count` rows or columns from `first`.

    A line is a row or column with its whole depth; or, `across` these, what all of them hold at
    one depth.
    """
    numbers = UNIT_BYTES // size
    if across:
        lines = np.arange(GROUP_DEPTH_BYTES // size)
        units = np.arange(first // numbers, (first + count) // numbers)
    else:
        lines = np.arange(first, first + count)
        units = np.arange(GROUP_DEPTH_BYTES // UNIT_BYTES)
    return descriptor.addresses(lines[:, None], units, across=across)


def _from_fragment(words: Any, kind: Product, type: str, groups: int) -> _Matrix:
    """The rows of a, or the columns of b, of which lanes hold words."""
    stored = np.stack(words).astype(f"u{kind.word_bytes}")
    numbers = _NUMBERS[type](stored).reshape(-1, groups, ROWS_OF_LANES, LANES_OF_ROW, _word(kind))
    return numbers.transpose(1, 2, 0, 3, 4).reshape(groups * ROWS_OF_LANES, -1)


def _word(kind: Product) -> int:
    """Numbers in a register."""
    return kind.word_bytes // NUMBER_BYTES[kind.a]


_SUM_TYPES = {"f16": np.float16, "f32": np.float32, "s32": np.int32, "f64": np.float64}


def _from_registers(words: Any, kind: Product) -> _Matrix:
    """The sums, as numbers in which they are added up."""
    stored = np.stack(words).astype(f"u{kind.sum_bytes}").view(_SUM_TYPES[kind.sums])
    wide = stored.astype({"f16": np.float32, "s32": np.int64}.get(kind.sums, stored.dtype))
    if kind.sums == "f16":
        parts = wide.reshape(-1, kind.groups, ROWS_OF_LANES, LANES_OF_ROW, 2)
        return parts.transpose(1, 2, 0, 3, 4).reshape(kind.rows, kind.columns)
    parts = wide.reshape(-1, kind.groups, 2, ROWS_OF_LANES, LANES_OF_ROW)
    return parts.transpose(1, 3, 0, 4, 2).reshape(kind.rows, kind.columns)


def _to_registers(sums: _Matrix, kind: Product) -> tuple[Lanes, ...]:
    """The bits of the sums as lanes hold them."""
    if kind.is_clamped:
        limits = np.iinfo(np.int32)
        sums = sums.clip(limits.min, limits.max)
    stored = sums.astype(_SUM_TYPES[kind.sums])
    blocks = kind.columns // COLUMNS_OF_LANES
    parts = stored.reshape(kind.groups, ROWS_OF_LANES, blocks, LANES_OF_ROW, 2)
    order = (2, 0, 1, 3, 4) if kind.sums == "f16" else (2, 0, 4, 1, 3)
    words = np.ascontiguousarray(parts.transpose(order)).view(f"u{kind.sum_bytes}")
    return tuple(words.reshape(-1, ROWS_OF_LANES * LANES_OF_ROW))


def _added(a: _Matrix, b: _Matrix, sums: _Matrix) -> _Matrix:
    """The sums with the products of a and b."""
    if a.dtype == np.int64:
        total: _Matrix = sums + a @ b
        return total
    for at in range(len(b)):
        terms = np.broadcast_arrays(a[:, at, None], b[at], sums)
        sums = fused(*(np.ravel(t) for t in terms)).reshape(sums.shape)
    return sums


DEFINITIONS: Definitions = {"mma": _mma}
