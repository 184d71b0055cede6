"""How lanes move between basic blocks.

Each basic block has a *pending mask*: the lanes that wait to run in it. `%low` is the lowest block
with pending lanes. A branch whose target lies below `%low` jumps straight to it, carrying its mask
in `%current`; any other adds to the pending masks and dispatches to `%low`. Exited lanes are
pending nowhere, and lanes at a barrier wait in the masks of `%state` until the driver wakes them.
A pause ends the turn of the whole warp, so that lanes reconverge where they would without it.
"""

from __future__ import annotations

from kernelcast.execution.engine.context import Fault, Slot
from kernelcast.execution.engine.fairness import exited
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.turn import reduction_pointer
from kernelcast.ir import BasicBlock, BlockRef, Instruction, Register


def _guard_mask(lw: Lowering, instruction: Instruction) -> str:
    """Scalar mask of the active lanes in which the guard holds."""
    assert instruction.guard is not None
    holds = lw.b.mask_of(lw.register(instruction.guard.register))
    if instruction.guard.negated:
        holds = lw.b.scalar(f"xor i32 {holds}, -1")
    return lw.b.scalar(f"and i32 {holds}, {lw.mask}")


def branch(lw: Lowering, index: int, instruction: Instruction) -> None:
    """End a block with a branch, exit or trap."""
    block = lw.kernel.blocks[index]
    if instruction.opcode == "trap":
        _trap(lw, block.successors, instruction)
    elif instruction.opcode == "brx":
        _indexed_branch(lw, block, instruction)
    elif instruction.opcode in ("ret", "exit"):
        _exit(lw, block.successors, instruction)
    elif instruction.guard is None:
        go(lw, block.successors[-1], lw.mask)
    else:
        _conditional(lw, block.successors, _guard_mask(lw, instruction))


def _exit(lw: Lowering, successors: tuple[int, ...], instruction: Instruction) -> None:
    taken = lw.mask if instruction.guard is None else _guard_mask(lw, instruction)
    if not lw.waits.headers:
        if instruction.guard is None:
            lw.b.line("br label %dispatch")
        else:
            _go_if_any(lw, successors[0], _others(lw, taken))
        return
    if instruction.guard is not None:
        _push_if_any(lw, successors[0], _others(lw, taken))
    exited(lw, taken)


def _others(lw: Lowering, mask: str) -> str:
    return lw.b.scalar(f"xor i32 {mask}, {lw.mask}")


def _conditional(lw: Lowering, successors: tuple[int, ...], taken: str) -> None:
    fall_through, target = successors[0], successors[-1]
    if fall_through == target:
        go(lw, target, lw.mask)
        return
    b = lw.b
    sides = sorted([(fall_through, _others(lw, taken)), (target, taken)])
    (low, low_mask), (high, high_mask) = sides
    only_high, some_low = b.fresh("high"), b.fresh("low")
    both, only_low = b.fresh("both"), b.fresh("low")
    none_low = b.scalar(f"icmp eq i32 {low_mask}, 0")
    b.line(f"br i1 {none_low}, label %{only_high}, label %{some_low}")
    b.label(only_high)
    go(lw, high, high_mask)
    b.label(some_low)
    none_high = b.scalar(f"icmp eq i32 {high_mask}, 0")
    b.line(f"br i1 {none_high}, label %{only_low}, label %{both}")
    b.label(both)
    _push(lw, high, high_mask)
    b.line(f"br label %{only_low}")
    b.label(only_low)
    go(lw, low, low_mask)


def _push(lw: Lowering, target: int, mask: str) -> None:
    """Add lanes, at least one, to the pending mask of a block."""
    b = lw.b
    pointer = b.scalar(f"getelementptr i32, ptr %pending, i64 {target}")
    _add_lanes(lw, pointer, mask)
    low = b.scalar("load i32, ptr %low")
    below = b.scalar(f"icmp ult i32 {low}, {target}")
    b.line(f"store i32 {b.scalar(f'select i1 {below}, i32 {low}, i32 {target}')}, ptr %low")


def _push_if_any(lw: Lowering, target: int, mask: str) -> None:
    b = lw.b
    some, go_on = b.fresh("some"), b.fresh("go")
    none = b.scalar(f"icmp eq i32 {mask}, 0")
    b.line(f"br i1 {none}, label %{go_on}, label %{some}")
    b.label(some)
    _push(lw, target, mask)
    b.line(f"br label %{go_on}")
    b.label(go_on)


def go(lw: Lowering, target: int, mask: str) -> None:
    """Run lanes at a block next, or add them to it where lower blocks come first."""
    b = lw.b
    direct, later = b.fresh("direct"), b.fresh("later")
    low = b.scalar("load i32, ptr %low")
    first = b.scalar(f"icmp ugt i32 {low}, {target}")
    b.line(f"br i1 {first}, label %{direct}, label %{later}")
    b.label(direct)
    b.line(f"store i32 {mask}, ptr %current")
    b.line(f"br label %block{target}")
    b.label(later)
    _push(lw, target, mask)
    b.line("br label %dispatch")


def _go_if_any(lw: Lowering, target: int, mask: str) -> None:
    b = lw.b
    some = b.fresh("some")
    none = b.scalar(f"icmp eq i32 {mask}, 0")
    b.line(f"br i1 {none}, label %dispatch, label %{some}")
    b.label(some)
    go(lw, target, mask)


def _indexed_branch(lw: Lowering, block: BasicBlock, instruction: Instruction) -> None:
    """Every lane goes to the target that its index names; one without a target is a fault."""
    b = lw.b
    index = instruction.operands[0]
    assert isinstance(index, Register)
    chosen = lw.register(index)
    left = lw.mask
    if instruction.guard is not None:
        left = _guard_mask(lw, instruction)
        _push_if_any(lw, block.successors[0], _others(lw, left))
    targets = [o.index for o in instruction.operands[1:] if isinstance(o, BlockRef)]
    for number, target in enumerate(targets):
        here = b.mask_of(b.compare("eq", chosen, b.constant(chosen.type, number)))
        taken = b.scalar(f"and i32 {here}, {left}")
        left = b.scalar(f"xor i32 {left}, {taken}")
        _push_if_any(lw, target, taken)
    lost, fine = b.fresh("lost"), b.fresh("go")
    none = b.scalar(f"icmp eq i32 {left}, 0")
    b.line(f"br i1 {none}, label %{fine}, label %{lost}")
    b.label(lost)
    _stop_at_lane(lw, left, Fault.NO_TARGET)
    b.label(fine)
    b.line("br label %dispatch")


def _stop_at_lane(lw: Lowering, mask: str, fault: Fault) -> None:
    """Stop the run; the first lane of the mask is at fault."""
    lane = lw.b.call("llvm.cttz.i32", "i32", [("i32", mask), ("i1", "false")])
    lw.set_slot(Slot.FAULT_LANE, lw.b.scalar(f"zext i32 {lane} to i64"))
    lw.fault(fault)
    lw.b.line("br label %stopped")


def _trap(lw: Lowering, successors: tuple[int, ...], instruction: Instruction) -> None:
    b = lw.b
    mask = lw.mask if instruction.guard is None else _guard_mask(lw, instruction)
    if instruction.guard is not None:
        trapped, fine = b.fresh("trap"), b.fresh("go")
        none = b.scalar(f"icmp eq i32 {mask}, 0")
        b.line(f"br i1 {none}, label %{fine}, label %{trapped}")
        b.label(fine)
        go(lw, successors[0], lw.mask)
        b.label(trapped)
    _stop_at_lane(lw, mask, Fault.TRAP)


def _add_lanes(lw: Lowering, pointer: str, mask: str) -> None:
    b = lw.b
    old = b.scalar(f"load i32, ptr {pointer}")
    b.line(f"store i32 {b.scalar(f'or i32 {old}, {mask}')}, ptr {pointer}")


def wait_at_barrier(lw: Lowering, index: int, instruction: Instruction) -> None:
    """The active lanes wait at the next block until the driver wakes the warp."""
    b = lw.b
    number, count = lw.isa.arrive(lw, instruction)
    after = lw.kernel.blocks[index].successors[0]
    mask = lw.mask
    rest = ""
    if instruction.guard is not None:
        mask = _guard_mask(lw, instruction)
        rest = _others(lw, mask)
    waiting = b.scalar("load i32, ptr %waiting")
    others_wait = b.scalar(f"icmp ne i32 {waiting}, 0")
    barrier = lw.slot(Slot.BARRIER)
    different = b.scalar(f"icmp ne i64 {barrier}, {number}")
    mixed = b.scalar(f"and i1 {others_wait}, {different}")
    fault, fine = b.fresh("mixed"), b.fresh("go")
    b.line(f"br i1 {mixed}, label %{fault}, label %{fine}")
    b.label(fault)
    lw.fault(Fault.MIXED_BARRIERS)
    b.line("br label %stopped")
    b.label(fine)
    lw.set_slot(Slot.BARRIER, number)
    lw.set_slot(Slot.BARRIER_COUNT, count)
    b.line(f"store i32 {b.scalar(f'or i32 {waiting}, {mask}')}, ptr %waiting")
    _add_lanes(lw, b.scalar(f"getelementptr i32, ptr %state, i64 {after}"), mask)
    if "red" in instruction.modifiers:
        _add_lanes(lw, reduction_pointer(lw, lw.position), mask)
    if rest:
        _go_if_any(lw, after, rest)
    else:
        b.line("br label %dispatch")


def pause(lw: Lowering, index: int, instruction: Instruction) -> None:
    """The turn ends if a lane pauses; all lanes go on where they are when the next one comes."""
    b = lw.b
    _push(lw, lw.kernel.blocks[index].successors[0], lw.mask)
    if instruction.guard is None:
        b.line("br label %pause")
    else:
        none = b.scalar(f"icmp eq i32 {_guard_mask(lw, instruction)}, 0")
        b.line(f"br i1 {none}, label %dispatch, label %pause")
