"""Operands: how their lane values are read and written, special registers included."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernelcast.execution.address_map import WINDOW_BYTES
from kernelcast.execution.reference.semantics import UndefinedFormError
from kernelcast.execution.reference.state import ALL_LANES, RunState, Warp
from kernelcast.execution.reference.values import (
    WIDTHS,
    Lanes,
    decode,
    encode,
    is_float,
    unsigned,
    width_of,
)
from kernelcast.ir import (
    Immediate,
    Negated,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from kernelcast.ir.sizes import WARP_LANES

OperandReader = Callable[[Warp], Lanes]
Writer = Callable[[Warp, Lanes, Lanes], None]

_LANE = np.arange(WARP_LANES, dtype=np.int64)


def flattened(operands: Sequence[Operand]) -> list[Operand]:
    """The operands with the elements of vectors in their place."""
    flat: list[Operand] = []
    for operand in operands:
        flat.extend(operand.elements if isinstance(operand, Vector) else (operand,))
    return flat


def reader(operand: Operand, type_name: str, run: RunState) -> OperandReader:
    """A function that reads the operand's values under a type."""
    match operand:
        case Register():
            _check(operand)
            return lambda warp: decode(type_name, warp.register(operand))
        case Negated(register=register):
            return lambda warp: ~warp.register(register)
        case SpecialRegister(name=name):
            special, bits = _special(name)
            stored = unsigned(bits)
            return lambda warp: decode(
                type_name, np.broadcast_to(special(run, warp), WARP_LANES).astype(stored)
            )
        case Symbol(name=name) if run.kernel.cluster_blocks > 1 and name in run.shared_variables:
            offset = run.symbols[name] + operand.offset
            return lambda warp: decode(
                type_name, np.full(WARP_LANES, offset + warp.block.rank * WINDOW_BYTES, np.uint64)
            )
        case Immediate() | Symbol():
            constant = np.full(WARP_LANES, _constant_bits(operand, type_name, run))
            values = decode(type_name, constant)
            return lambda warp: values
    raise UndefinedFormError


def writer(operand: Operand, type_name: str) -> Writer:
    """A function that writes values of a type to the operand in the active lanes.

    A register wider than the type is filled up with the sign of signed integers, else with zeros.
    """
    if operand is None:
        return lambda warp, active, values: None
    if not isinstance(operand, Register):
        raise UndefinedFormError
    _check(operand)
    stored = unsigned(width_of(operand.type))
    signed = type_name in ("s8", "s16", "s32", "s64")

    def write(warp: Warp, active: Lanes, values: Lanes) -> None:
        bits = encode(type_name, values)
        if signed:
            bits = bits.view(f"i{bits.dtype.itemsize}")
        warp.register(operand)[active] = bits.astype(stored)[active]

    return write


def _check(register: Register) -> None:
    if register.type not in WIDTHS:
        raise UndefinedFormError


def _constant_bits(operand: Immediate | Symbol, type_name: str, run: RunState) -> np.generic:
    if isinstance(operand, Symbol):
        return np.uint64(run.symbols[operand.name] + operand.offset)
    if type_name == "pred":
        return np.bool_(operand.value != 0)
    width = WIDTHS[type_name]
    bits = operand.value % (1 << 64)
    if operand.type and operand.type != f"f{width}":
        # A literal of the other precision: its value counts, not its bits.
        number = decode(operand.type, np.array([bits], np.uint64))
        target = type_name if is_float(type_name) else f"f{width}"
        return np.uint64(encode(target, number)[0])
    return np.uint64(bits)


_Special = Callable[[RunState, Warp], "Lanes | int"]


def _thread(run: RunState, warp: Warp) -> Lanes:
    return warp.first_thread + _LANE


def _tid(axis: int) -> _Special:
    def read(run: RunState, warp: Warp) -> Lanes:
        x, y, _ = run.launch.block
        thread = _thread(run, warp)
        return (thread % x, thread // x % y, thread // (x * y))[axis]

    return read


def _position(axis: int) -> _Special:
    return lambda run, warp: warp.block.position[axis]


def _grid(axis: int) -> _Special:
    return lambda run, warp: run.launch.grid[axis]


def _block(axis: int) -> _Special:
    return lambda run, warp: run.launch.block[axis]


def _constant(value: int) -> _Special:
    return lambda run, warp: value


def _cycle(run: RunState, warp: Warp) -> int:
    timers = run.memory.timers
    return timers.first_cycle + int(warp.instructions * timers.cycles)


def _nanosecond(run: RunState, warp: Warp) -> int:
    timers = run.memory.timers
    return timers.first_ns + int(warp.instructions * timers.ns)


_AXES = {"x": 0, "y": 1, "z": 2}

_BY_AXIS: dict[str, Callable[[int], _Special]] = {
    "tid": _tid,
    "ntid": _block,
    "ctaid": _position,
    "nctaid": _grid,
    "clusterid": lambda axis: (
        lambda run, warp: warp.block.position[axis] // run.kernel.cluster[axis]
    ),
    "nclusterid": lambda axis: lambda run, warp: run.launch.grid[axis] // run.kernel.cluster[axis],
    "cluster_ctaid": lambda axis: (
        lambda run, warp: warp.block.position[axis] % run.kernel.cluster[axis]
    ),
    "cluster_nctaid": lambda axis: lambda run, warp: run.kernel.cluster[axis],
}

_SPECIAL_32: dict[str, _Special] = {
    **{f"{name}.{a}": make(at) for name, make in _BY_AXIS.items() for a, at in _AXES.items()},
    "cluster_ctarank": lambda run, warp: warp.block.rank,
    "cluster_nctarank": lambda run, warp: run.kernel.cluster_blocks,
    "is_explicit_cluster": lambda run, warp: int(run.kernel.cluster_blocks > 1),
    "laneid": lambda run, warp: _LANE,
    "warpid": lambda run, warp: warp.index,
    "nwarpid": lambda run, warp: run.launch.warps_per_block,
    "smid": _constant(0),
    "nsmid": _constant(1),
    "lanemask_eq": lambda run, warp: 1 << _LANE,
    "lanemask_lt": lambda run, warp: (1 << _LANE) - 1,
    "lanemask_le": lambda run, warp: (2 << _LANE) - 1,
    "lanemask_gt": lambda run, warp: ALL_LANES & -(2 << _LANE),
    "lanemask_ge": lambda run, warp: ALL_LANES & -(1 << _LANE),
    "clock": _cycle,
    "clock_hi": lambda run, warp: _cycle(run, warp) >> 32,
    "dynamic_smem_size": lambda run, warp: run.launch.smem_bytes,
    "globaltimer_lo": _nanosecond,
    "globaltimer_hi": lambda run, warp: _nanosecond(run, warp) >> 32,
    "aggr_smem_size": lambda run, warp: run.memory.shared_bytes,
    "total_smem_size": lambda run, warp: run.memory.shared_bytes,
}

_SPECIAL_64: dict[str, _Special] = {
    "clock64": _cycle,
    "globaltimer": _nanosecond,
    "gridid": _constant(0),
}


def _special(name: str) -> tuple[_Special, int]:
    if name in _SPECIAL_32:
        return _SPECIAL_32[name], 32
    return _SPECIAL_64[name], 64
