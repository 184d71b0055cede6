"""`bar` and `barrier`: arrival, and the results of the reducing forms."""

from __future__ import annotations

from kernelcast.execution.clusters import Arrival
from kernelcast.execution.engine.context import (
    BARRIERS,
    CLUSTER_BARRIER,
    BarrierArray,
    Slot,
)
from kernelcast.execution.engine.driver import slot_pointer
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.operands import PRED, guard_of, read, resize
from kernelcast.ir import Immediate, Instruction, Operand, Register


def _scalar(lw: Lowering, operand: Operand, mask: str) -> str:
    """A barrier number or thread count as i64 text: the same in all lanes of a mask, so the value
    of the lowest one."""
    if isinstance(operand, Immediate):
        return str(operand.value)
    if not isinstance(operand, Register):
        raise lw.unsupported(f"barrier operand {operand}")
    b = lw.b
    value = resize(b, lw.register(operand), "i32")
    lane = b.call("llvm.cttz.i32", "i32", [("i32", mask), ("i1", "false")])
    lane = b.scalar(f"and i32 {lane}, 31")
    item = b.scalar(f"extractelement <32 x i32> {value.text}, i32 {lane}")
    return b.scalar(f"zext i32 {item} to i64")


def _taken(lw: Lowering, i: Instruction) -> str:
    """The lanes that reach the barrier."""
    guard = guard_of(lw, i)
    return lw.mask if guard is None else lw.b.mask_of(guard)


def _operands(i: Instruction) -> tuple[Operand, ...]:
    """Operands after the destination."""
    return i.operands[1:] if "red" in i.modifiers else i.operands


def _number_and_count(lw: Lowering, i: Instruction, mask: str) -> tuple[str, str]:
    operands = _operands(i)
    limit = len(operands) - (1 if "red" in i.modifiers else 0)
    number = _scalar(lw, operands[0], mask)
    if number.isdigit() and int(number) >= BARRIERS:
        raise lw.unsupported(f"barrier {number}")
    if not number.isdigit():
        number = lw.b.scalar(f"and i64 {number}, {BARRIERS - 1}")
    return number, _scalar(lw, operands[1], mask) if limit > 1 else "0"


def arrive_and_wait(lw: Lowering, i: Instruction) -> tuple[str, str]:
    """Number and count of the barrier; a reducing form adds its lanes' predicates."""
    b = lw.b
    if "cluster" in i.modifiers:
        return str(CLUSTER_BARRIER), "0"
    mask = _taken(lw, i)
    number, count = _number_and_count(lw, i, mask)
    if "red" in i.modifiers:
        holds = b.mask_of(read(lw, i.operands[-1], PRED))
        holds = b.scalar(f"and i32 {holds}, {mask}")
        for slot, lanes in ((BarrierArray.POPULATION, holds), (BarrierArray.LANES, mask)):
            population = b.call("llvm.ctpop.i32", "i32", [("i32", lanes)])
            pointer = _indexed(lw, slot, number)
            old = b.scalar(f"load i64, ptr {pointer}")
            wide = b.scalar(f"zext i32 {population} to i64")
            b.line(f"store i64 {b.scalar(f'add i64 {old}, {wide}')}, ptr {pointer}")
    return number, count


def _indexed(lw: Lowering, slot: BarrierArray, number: str) -> str:
    base = lw.b.scalar(slot_pointer(slot))
    return lw.b.scalar(f"getelementptr i64, ptr {base}, i64 {number}")


def deliver(lw: Lowering, i: Instruction) -> None:
    """Write `bar.red`'s result: how many predicates held, whether all did, or whether any."""
    b = lw.b
    number = lw.slot(Slot.BARRIER_RESUMED)
    population = b.scalar(f"load i64, ptr {_indexed(lw, BarrierArray.POPULATION_RESULT, number)}")
    lanes = b.scalar(f"load i64, ptr {_indexed(lw, BarrierArray.LANES_RESULT, number)}")
    if "popc" in i.modifiers:
        count = b.scalar(f"trunc i64 {population} to i32")
        lw.set_register(_target(lw, i), b.splat(count, "i32"))
        return
    if "and" in i.modifiers:
        result = b.scalar(f"icmp eq i64 {population}, {lanes}")
    else:
        result = b.scalar(f"icmp ne i64 {population}, 0")
    lw.set_register(_target(lw, i), b.splat(result, "i1"))


def _target(lw: Lowering, i: Instruction) -> Register:
    target = i.operands[0]
    if not isinstance(target, Register):
        raise lw.unsupported("this destination")
    return target


def _bar(lw: Lowering, i: Instruction) -> None:
    """The forms that do not wait: `bar.arrive`, and `bar.warp.sync`, which has nothing to do."""
    if "warp" in i.modifiers:
        return
    b = lw.b
    mask = _taken(lw, i)
    if "cluster" in i.modifiers:
        _arrive_at_cluster(lw, mask)
        return
    number, count = _number_and_count(lw, i, mask)
    arrive, go_on = b.fresh("arrive"), b.fresh("go")
    some = b.scalar(f"icmp ne i32 {mask}, 0")
    b.line(f"br i1 {some}, label %{arrive}, label %{go_on}")
    b.label(arrive)
    b.line(f"call void @arrive(ptr %ctx, i64 {number}, i64 {count})")
    b.line(f"br label %{go_on}")
    b.label(go_on)


def _arrive_at_cluster(lw: Lowering, mask: str) -> None:
    """A warp has arrived when some of its lanes have: machine code lets all of them together."""
    b = lw.b
    arrivals = lw.slot(Slot.ARRIVED_AT_CLUSTER, "ptr")
    own = b.scalar(f"getelementptr i32, ptr {arrivals}, i64 %w")
    some = b.scalar(f"icmp ne i32 {mask}, 0")
    old = b.scalar(f"load i32, ptr {own}")
    new = b.scalar(f"select i1 {some}, i32 {int(Arrival.ARRIVED)}, i32 {old}")
    b.line(f"store i32 {new}, ptr {own}")


OPCODES = {"bar": _bar, "barrier": _bar}
