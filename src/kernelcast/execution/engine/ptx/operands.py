"""Reads and writes PTX operands as lane values."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable

from kernelcast.execution.engine.builder import FunctionBuilder
from kernelcast.execution.engine.context import TIMER_BITS, Slot
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.values import PtxType, Value, is_type, ptx_type
from kernelcast.ir import (
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from kernelcast.ir.sizes import WARP_LANES

PRED = ptx_type("pred")


def types_of(instruction: Instruction) -> list[PtxType]:
    """The types among the modifiers, in order."""
    return [ptx_type(m) for m in instruction.modifiers if is_type(m)]


def type_of(instruction: Instruction) -> PtxType:
    """The last type among the modifiers: that of the operands of most instructions."""
    return types_of(instruction)[-1]


def resize(b: FunctionBuilder, value: Value, element: str, signed: bool = False) -> Value:
    """The value as another element type: bits kept, cut off or extended."""
    target = Value("", element).bits
    if value.type == element:
        return value
    if value.type == "i1":
        return b.cast("bitcast", b.cast("zext", value, f"i{target}"), element)
    bits = b.as_bits(value)
    if value.bits > target:
        bits = b.cast("trunc", bits, f"i{target}")
    elif value.bits < target:
        bits = b.cast("sext" if signed else "zext", bits, f"i{target}")
    return b.cast("bitcast", bits, element)


def read(lw: Lowering, operand: Operand, kind: PtxType) -> Value:
    """An operand as `kind`."""
    b = lw.b
    match operand:
        case Register():
            value = lw.register(operand)
        case Immediate(value=number, type=literal):
            if {literal, kind.name} == {"f32", "f64"}:
                number = _recoded(number, literal, kind.name)
            return b.constant(kind.llvm, number)
        case SpecialRegister(name=name):
            value = _special(lw, name)
        case Symbol():
            value = lw.symbol_address(operand)
        case Negated(register=register):
            value = b.invert(lw.register(register))
        case Vector(elements=elements):
            return pack(lw, [_read_part(lw, e, kind, len(elements)) for e in elements], kind)
        case _:
            raise lw.unsupported(f"operand {operand}")
    return resize(b, value, kind.llvm)


_CODES = {"f32": ("<I", "<f"), "f64": ("<Q", "<d")}


def _recoded(bits: int, literal: str, wanted: str) -> int:
    """The bits of a literal of one width as those of the same number in the other."""
    integer, number = _CODES[literal]
    (value,) = struct.unpack(number, struct.pack(integer, bits))
    integer, number = _CODES[wanted]
    (recoded,) = struct.unpack(integer, struct.pack(number, value))
    return int(recoded)


def _read_part(
    lw: Lowering, operand: Register | Immediate | None, whole: PtxType, parts: int
) -> Value:
    """One element of a vector that makes up `whole`."""
    element = ptx_type(f"b{whole.bits * whole.lanes // parts}")
    return read(lw, operand, element) if operand is not None else lw.b.constant(element.llvm, 0)


def pack(lw: Lowering, parts: list[Value], kind: PtxType) -> Value:
    """Join values, lowest first, into one of `kind`."""
    b = lw.b
    if (known := lw.whole_of(parts)) is not None:
        return b.cast("bitcast", known, kind.llvm)
    bits = kind.bits * kind.lanes
    whole = b.constant(f"i{bits}", 0)
    for number, part in enumerate(parts):
        wide = b.cast("zext", b.as_bits(part), f"i{bits}")
        shift = b.constant(f"i{bits}", number * part.bits)
        whole = b.binary("or", whole, b.binary("shl", wide, shift) if number else wide)
    return b.cast("bitcast", whole, kind.llvm)


def unpack(lw: Lowering, whole: Value, parts: int) -> list[Value]:
    """Split a value into equal parts, lowest first, as integers."""
    b = lw.b
    bits = b.as_bits(whole)
    width = bits.bits // parts
    shifted = [
        b.binary("lshr", bits, b.constant(bits.type, n * width)) if n else bits
        for n in range(parts)
    ]
    values = [b.cast("trunc", s, f"i{width}") for s in shifted]
    lw.note_parts(bits, values)
    return values


def guard_of(lw: Lowering, instruction: Instruction) -> Value | None:
    """Active lanes in which the guard holds; None for an unguarded instruction."""
    if instruction.guard is None:
        return None
    holds = lw.register(instruction.guard.register)
    if instruction.guard.negated:
        holds = lw.b.invert(holds)
    return lw.b.binary("and", holds, lw.active)


def write(
    lw: Lowering, instruction: Instruction, operand: Operand, value: Value, signed: bool = False
) -> None:
    """Write a destination; a narrower value is extended, by its sign if `signed`."""
    if operand is None:
        return
    if isinstance(operand, Vector):
        parts = unpack(lw, value, len(operand.elements))
        for part, target in zip(parts, operand.elements, strict=True):
            write(lw, instruction, target, part)
        return
    if not isinstance(operand, Register):
        raise lw.unsupported(f"destination {operand}")
    element = ptx_type(operand.type).llvm
    lw.set_register(operand, resize(lw.b, value, element, signed), guard_of(lw, instruction))


def _special(lw: Lowering, name: str) -> Value:
    """A special register."""
    b = lw.b
    stem, _, dimension = name.partition(".")
    if stem == "tid":
        return _thread_index(lw, dimension)
    if lw.is_clustered and stem in ("clusterid", "nclusterid"):
        axis = dimension.upper()
        whole = Slot[f"{'GRID' if stem == 'nclusterid' else 'CTA'}_{axis}"]
        number = b.scalar(f"udiv i64 {lw.slot(whole)}, {lw.slot(Slot[f'CLUSTER_{axis}'])}")
        return b.splat(b.scalar(f"trunc i64 {number} to i32"), "i32")
    known = _UNIFORM_OF_CLUSTER if lw.is_clustered else _UNIFORM_ALONE
    slot = known.get(name)
    if slot is not None:
        return b.splat(b.scalar(f"trunc i64 {lw.slot(slot)} to i32"), "i32")
    if stem in ("clock", "clock64", "globaltimer", "clock_hi", "globaltimer_lo", "globaltimer_hi"):
        return _timer(lw, name)
    if name == "laneid":
        return b.lane_numbers()
    if stem.startswith("lanemask_"):
        return _lane_mask(b, stem.removeprefix("lanemask_"))
    if name == "is_explicit_cluster":
        return b.constant("i1", int(lw.is_clustered))
    if name in _CONSTANT:
        return b.constant("i32", _CONSTANT[name])
    raise lw.unsupported(f"special register %{name}")


def _timer(lw: Lowering, name: str) -> Value:
    """What a timer shows: more after every warp instruction that this thread executes."""
    b = lw.b
    is_clock = name.startswith("clock")
    first = lw.slot(Slot.FIRST_CYCLE if is_clock else Slot.FIRST_NS)
    step = lw.slot(Slot.CYCLES if is_clock else Slot.NS)
    # Instructions are counted where a basic block begins.
    passed = b.scalar(f"sub i64 {lw.slot(Slot.WARP_INSTRUCTIONS)}, {lw.left_in_block}")
    moved = b.scalar(f"mul i64 {passed}, {step}")
    moved = b.scalar(f"lshr i64 {moved}, {TIMER_BITS}")
    now = b.scalar(f"add i64 {first}, {moved}")
    if name in ("clock64", "globaltimer"):
        return b.splat(now, "i64")
    if name.endswith("_hi"):
        now = b.scalar(f"lshr i64 {now}, 32")
    return b.splat(b.scalar(f"trunc i64 {now} to i32"), "i32")


_UNIFORM = {
    "ctaid.x": Slot.CTA_X,
    "ctaid.y": Slot.CTA_Y,
    "ctaid.z": Slot.CTA_Z,
    "ntid.x": Slot.BLOCK_X,
    "ntid.y": Slot.BLOCK_Y,
    "ntid.z": Slot.BLOCK_Z,
    "nctaid.x": Slot.GRID_X,
    "nctaid.y": Slot.GRID_Y,
    "nctaid.z": Slot.GRID_Z,
    "warpid": Slot.WARP,
    "nwarpid": Slot.WARPS,
    "dynamic_smem_size": Slot.SHARED_DYNAMIC_BYTES,
    "total_smem_size": Slot.SHARED_BYTES,
}
_UNIFORM_OF_CLUSTER = {
    **_UNIFORM,
    "cluster_ctarank": Slot.RANK,
    "cluster_nctarank": Slot.CLUSTER_BLOCKS,
    **{f"cluster_ctaid.{axis}": Slot[f"RANK_{axis.upper()}"] for axis in "xyz"},
    **{f"cluster_nctaid.{axis}": Slot[f"CLUSTER_{axis.upper()}"] for axis in "xyz"},
}
_UNIFORM_ALONE = {
    **_UNIFORM,
    **{f"clusterid.{axis}": _UNIFORM[f"ctaid.{axis}"] for axis in "xyz"},
    **{f"nclusterid.{axis}": _UNIFORM[f"nctaid.{axis}"] for axis in "xyz"},
}
"""Without clusters in the launch every block is a cluster of its own."""

_CONSTANT = {
    "smid": 0,
    "nsmid": 1,
    "gridid": 0,
    "cluster_ctarank": 0,
    "cluster_nctarank": 1,
    **{f"cluster_ctaid.{axis}": 0 for axis in "xyz"},
    **{f"cluster_nctaid.{axis}": 1 for axis in "xyz"},
}


def _thread_index(lw: Lowering, dimension: str) -> Value:
    number = "xyz".index(dimension)
    pointer = lw.b.scalar(
        f"getelementptr [{WARP_LANES} x i32], ptr %threads, i64 0, i64 {number * WARP_LANES}"
    )
    return lw.b.value("i32", f"load <{WARP_LANES} x i32>, ptr {pointer}, align 64")


def _lane_mask(b: FunctionBuilder, relation: str) -> Value:
    masks = [
        sum(1 << bit for bit in range(WARP_LANES) if _HOLDS[relation](bit, lane))
        for lane in range(WARP_LANES)
    ]
    return Value("<" + ", ".join(f"i32 {mask}" for mask in masks) + ">", "i32")


_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "le": operator.le,
    "lt": operator.lt,
    "ge": operator.ge,
    "gt": operator.gt,
}
