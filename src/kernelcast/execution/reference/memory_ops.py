"""Loads, stores and atomic operations (PTX ISA 9.0, sections 9.7.9 and 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcast.execution.address_map import WINDOW_BYTES
from kernelcast.execution.faults import memory_fault, split_generic
from kernelcast.execution.reference.operands import OperandReader, flattened, reader, writer
from kernelcast.execution.reference.semantics import Modifiers, UndefinedFormError, form
from kernelcast.execution.reference.state import RunState, Warp
from kernelcast.execution.reference.values import (
    WIDTHS,
    Lanes,
    bits_type,
    decode,
    encode,
    unsigned,
)
from kernelcast.execution.trace import RecordKind
from kernelcast.ir import Address, Immediate, Instruction, OpClass, Register, Space, Symbol
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.ptx import mbarriers
from kernelcast.isas.ptx.traits import INDEXED
from kernelcast.isas.ptx.tries import TRY_TO_SWAP, bank_of_try

StepFunction = Callable[[Warp, int, Lanes], None]
"""Executes one instruction of a warp, given its active lanes as a mask and as booleans."""

_SPACES = (
    *("global", "shared", "shared::cta", "shared::cluster", "local", "const"),
    *("param", "param::entry"),
)
_ORDER = (
    *("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "sc"),
    *("cta", "cluster", "gpu", "sys"),
)
_HINTS = (
    *("nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"),
    *("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last"),
    *("L1::no_allocate", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"),
    *("L2::evict_normal", "L2::evict_first", "L2::evict_last"),
    mbarriers.MARK,
    INDEXED,
)
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


def _swapped(old: Lanes, b: Lanes, c: Lanes) -> Lanes:
    return np.where(old == b, c, old)


def _counted(old: Lanes, b: Lanes) -> Lanes:
    """The word of a barrier; where a phase is over, with the arrivals of the next."""
    new = old + b
    again = (new & mbarriers.ARRIVALS_OF_PHASE) << np.uint64(mbarriers.ARRIVAL_BIT - 1)
    return np.where(new & np.uint64(mbarriers.MISSING) == 0, new + again, new)


_ATOMICS: dict[str, Callable[..., Lanes]] = {
    "add": lambda old, b: old + b,
    "min": np.minimum,
    "max": np.maximum,
    "and": lambda old, b: old & b,
    "or": lambda old, b: old | b,
    "xor": lambda old, b: old ^ b,
    "exch": lambda old, b: b,
    **dict.fromkeys(("cas", TRY_TO_SWAP), _swapped),
    "inc": lambda old, b: np.where(old >= b, 0, old + 1),
    "dec": lambda old, b: np.where((old == 0) | (old > b), b, old - 1),
    mbarriers.MARK: _counted,
}
"""The new value of each operation, from the old one and the operands."""

_INTEGERS = ("u32", "s32", "u64", "s64")
_ATOMIC_TYPES: dict[str, tuple[str, ...]] = {
    "add": (*_INTEGERS, "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"),
    "min": _INTEGERS,
    "max": _INTEGERS,
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
    "exch": ("b32", "b64", "u32", "s32", "u64", "s64", "f32"),
    "cas": ("b16", "b32", "b64", "u32", "s32", "u64", "s64"),
    TRY_TO_SWAP: ("b32", "b64", "u32", "u64"),
    "inc": ("u32",),
    "dec": ("u32",),
    mbarriers.MARK: ("u64",),
}


def memory_step(instruction: Instruction, run: RunState) -> StepFunction:
    """The execution of a load, store or atomic operation."""
    return {"ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic}[
        instruction.opcode
    ](instruction, run)


def _load(instruction: Instruction, run: RunState) -> StepFunction:
    found, count = _access(instruction)
    name = _stored_type(found)
    targets = [writer(o, name) for o in flattened(instruction.operands[:1])]
    if len(targets) != count:
        raise UndefinedFormError
    locate = _locator(instruction, run)
    size = WIDTHS[name] // 8

    def step(warp: Warp, mask: int, active: Lanes) -> None:
        places = locate(warp, mask)
        for element, write in enumerate(targets):
            bits = np.zeros(WARP_LANES, unsigned(8 * size))
            for lane, buffer, start in places:
                at = start + element * size
                bits[lane] = int.from_bytes(buffer[at : at + size], "little")
            write(warp, active, decode(name, bits))

    return step


def _store(instruction: Instruction, run: RunState) -> StepFunction:
    found, count = _access(instruction)
    name = _stored_type(found)
    sources = [reader(o, name, run) for o in flattened(instruction.operands[1:])][:count]
    if len(sources) != count:
        raise UndefinedFormError
    locate = _locator(instruction, run)
    size = WIDTHS[name] // 8

    def step(warp: Warp, mask: int, active: Lanes) -> None:
        places = locate(warp, mask)
        for element, read in enumerate(sources):
            bits = encode(name, read(warp)).tolist()
            for lane, buffer, start in places:
                at = start + element * size
                buffer[at : at + size] = bits[lane].to_bytes(size, "little")

    return step


def _atomic(instruction: Instruction, run: RunState) -> StepFunction:
    """Lane by lane in ascending order: read, compute, write."""
    found = form(instruction, (*_SPACES, *_ORDER, "noftz", "L2::cache_hint", *_ATOMICS))
    operation = found.one_of(_ATOMICS)
    name = found.type
    if name not in _ATOMIC_TYPES[operation]:
        raise UndefinedFormError
    function = _ATOMICS[operation]
    if operation in ("exch", "cas", TRY_TO_SWAP):
        name = bits_type(name)
    gives_old = instruction.opcode == "atom"
    write = writer(instruction.operands[0], name) if gives_old else None
    first = 2 if gives_old else 1
    count = 2 if operation in ("cas", TRY_TO_SWAP) else 1
    sources = [reader(o, name, run) for o in instruction.operands[first : first + count]]
    locate = _locator(instruction, run)
    size = WIDTHS[name] // 8
    stored = unsigned(WIDTHS[name])
    tries = operation == TRY_TO_SWAP

    def step(warp: Warp, mask: int, active: Lanes) -> None:
        operands = [read(warp) for read in sources]
        old_bits = np.zeros(WARP_LANES, stored)
        taken: set[int] = set()
        for lane, buffer, at in locate(warp, mask):
            bits = np.array([int.from_bytes(buffer[at : at + size], "little")], stored)
            values = [v[..., lane : lane + 1] for v in operands]
            if tries and (bank := bank_of_try(at, size)) in taken:
                continue
            if tries:
                taken.add(bank)
            new = encode(name, function(decode(name, bits), *values))
            buffer[at : at + size] = int(new[0]).to_bytes(size, "little")
            old_bits[lane] = encode(name, values[0])[0] == bits[0] if tries else bits[0]
        if write is not None:
            write(warp, active, decode(name, old_bits))

    return step


def _access(instruction: Instruction) -> tuple[Modifiers, int]:
    """The modifiers of a load or store, and how many elements a lane moves."""
    found = form(instruction, (*_SPACES, *_ORDER, *_HINTS, *_VECTORS))
    vector = [w for w in found.words if w in _VECTORS]
    return found, _VECTORS[vector[0]] if vector else 1


def _stored_type(found: Modifiers) -> str:
    """The type in memory; only the sign of an integer matters, to fill wider registers."""
    return found.type if found.type[0] == "s" else bits_type(found.type)


_BufferLocation = tuple[int, memoryview | bytearray, int]
"""A lane, the memory its address leads to, and the offset there."""


def _locator(
    instruction: Instruction, run: RunState
) -> Callable[[Warp, int], list[_BufferLocation]]:
    """A function that finds, records and checks the addresses of the active lanes."""
    operand = next(o for o in instruction.operands if isinstance(o, Address))
    read_base = base_reader(operand, run)
    space = instruction.space or Space.GENERIC
    size = instruction.access_bytes
    writes = instruction.op_class is not OpClass.LOAD
    is_narrow = isinstance(operand.base, Register) and WIDTHS[operand.base.type] == 32
    width = 32 if is_narrow else 64

    def locate(warp: Warp, mask: int) -> list[_BufferLocation]:
        bases = read_base(warp).tolist()
        addresses = [(int(b) + operand.offset) % (1 << width) for b in bases]
        if instruction.is_traced:
            _record(run, instruction.index, mask, addresses)
        places: list[_BufferLocation] = []
        for lane in range(WARP_LANES):
            if mask >> lane & 1:
                found = _find(run, warp, lane, space, addresses[lane], size, writes)
                if found is None:
                    raise memory_fault(
                        run.kernel,
                        run.launch,
                        run.memory,
                        instruction,
                        warp.block.index,
                        warp.first_thread + lane,
                        addresses[lane],
                    )
                places.append((lane, *found))
        return places

    return locate


def base_reader(operand: Address, run: RunState) -> OperandReader:
    """What the base of an address holds."""
    base = operand.base
    if isinstance(base, Register):
        return reader(base, f"u{WIDTHS[base.type]}", run)
    if isinstance(base, Symbol):
        return reader(base, "u64", run)
    return reader(Immediate(0), "u64", run)


def _find(
    run: RunState, warp: Warp, lane: int, space: Space, address: int, size: int, writes: bool
) -> tuple[memoryview | bytearray, int] | None:
    """The memory that an address leads to and the offset there; None where it may not be used."""
    if space is Space.GENERIC:
        space, address = split_generic(address)
    if address % size:
        return None
    if space in (Space.GLOBAL, Space.CONST):
        region = run.memory.region_at(address)
        if region is None or address + size > region.end or (writes and not region.writable):
            return None
        return run.buffer, address - run.global_base
    buffer: memoryview | bytearray
    if space is Space.SHARED:
        rank, address = divmod(address, WINDOW_BYTES)
        if rank >= len(warp.block.cluster):
            return None
        buffer = warp.block.cluster[rank].shared
    elif space is Space.LOCAL:
        buffer = warp.local[lane]
    else:
        buffer = run.parameters
    if address + size > len(buffer) or (writes and space is Space.PARAM):
        return None
    return buffer, address


def _record(run: RunState, index: int, mask: int, addresses: list[int]) -> None:
    """One access: as base and stride where the active lanes allow it."""
    lanes = [lane for lane in range(WARP_LANES) if mask >> lane & 1]
    first, last = lanes[0], lanes[-1]
    stride, rest = divmod(addresses[last] - addresses[first], max(last - first, 1))
    base = addresses[first] - first * stride
    if rest == 0 and all(addresses[lane] == base + lane * stride for lane in lanes):
        run.record(RecordKind.AFFINE, index, mask, base % (1 << 64), stride % (1 << 64))
    else:
        run.record(RecordKind.ADDRESSES, index, mask, *addresses)
