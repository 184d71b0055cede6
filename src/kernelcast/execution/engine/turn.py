"""A turn of a warp: how it starts or resumes, picks its next block, and ends.

The state that a waiting warp leaves behind is one mask per basic block (the lanes that wait to run
there), one per reducing barrier (the lanes that wait for its result), and the registers that are
alive after a barrier. One that pauses leaves the pending masks as well, and which barrier its other
lanes have reached.
"""

from __future__ import annotations

from kernelcast.analysis.meetings import TURN_ITERATIONS
from kernelcast.execution.engine import fairness
from kernelcast.execution.engine.context import Slot, WarpResult, WarpStatus
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.registers import (
    ends_in_wait,
    saved_bytes,
    stack_slot,
    waits,
)
from kernelcast.execution.engine.values import Value, vector
from kernelcast.ir import Space


def begin(lw: Lowering) -> None:
    """Start a turn: stack slots, then a fresh warp at block 0 or a resumed one where it waited."""
    b = lw.b
    count = len(lw.kernel.blocks)
    b.label("entry")
    b.line(f"%pending = alloca [{count + 1} x i32], align 4")
    for name in ("%current", "%low", "%waiting"):
        b.line(f"{name} = alloca i32")
    b.line("%log = alloca i64")
    b.line("%addresses = alloca [32 x i64], align 64")
    b.line("%hosts = alloca [32 x i64], align 64")
    b.line("%operands = alloca [32 x i64], align 64")
    b.line("%operands2 = alloca [32 x i64], align 64")
    b.line("%results = alloca [32 x i64], align 64")
    for name, element in lw.on_stack.items():
        b.line(f"{stack_slot(name)} = alloca {vector(element)}, align 64")
    b.line("store i32 0, ptr %waiting")
    b.line(f"store i32 {count}, ptr %low")
    _fill(lw, "%pending", 4 * count)
    sentinel = b.scalar(f"getelementptr i32, ptr %pending, i64 {count}")
    b.line(f"store i32 -1, ptr {sentinel}")
    position = lw.slot(Slot.LOG)
    lw.advance_log(position)
    masks = lw.slot(Slot.MASKS, "ptr")
    mask_pointer = b.scalar(f"getelementptr i32, ptr {masks}, i64 %w")
    mask = b.scalar(f"load i32, ptr {mask_pointer}")
    state = lw.slot(Slot.STATE, "ptr")
    b.line(f"%state_offset = mul i64 %w, {state_bytes(lw)}")
    b.line(f"%state = getelementptr i8, ptr {state}, i64 %state_offset")
    threads = lw.slot(Slot.THREADS, "ptr")
    b.line(f"%threads = getelementptr [3 x [32 x i32]], ptr {threads}, i64 %w")
    if lw.waits.headers:
        fairness.begin(lw, _kept_offset(lw))
    if lw.shared_loops:
        b.line("%iterations = alloca i32")
        b.line("store i32 0, ptr %iterations")
    b.line("%is_fresh = icmp eq i32 %resume, 0")
    b.line("br i1 %is_fresh, label %fresh, label %resumed")
    b.label("fresh")
    for name, element in lw.on_stack.items():
        b.line(f"store {vector(element)} zeroinitializer, ptr {stack_slot(name)}")
    if _has_barriers(lw):
        _fill(lw, "%state", _masks_bytes(lw))
    if lw.waits.headers:
        b.line(f"store i32 {mask}, ptr {fairness.kept(lw, fairness.Word.ALIVE)}")
    if _uses_local_memory(lw):
        local, local_bytes = lw.slot(Slot.LOCAL, "ptr"), lw.slot(Slot.LOCAL_BYTES)
        total = b.scalar(f"shl i64 {local_bytes}, 5")
        b.line(f"call void @llvm.memset.p0.i64(ptr {local}, i8 0, i64 {total}, i1 false)")
    b.line(f"store i32 {mask}, ptr %current")
    b.line("br label %block0")
    b.label("resumed")
    _restore(lw)


def end_after_iterations(lw: Lowering, index: int) -> None:
    """At the header of a loop in which blocks may see each other's work: the turn ends after
    `TURN_ITERATIONS`, unless no other block of the thread runs."""
    b = lw.b
    begun = b.scalar(f"add i32 {b.scalar('load i32, ptr %iterations')}, 1")
    b.line(f"store i32 {begun}, ptr %iterations")
    is_long = b.scalar(f"icmp ugt i32 {begun}, {TURN_ITERATIONS}")
    has_others = b.scalar(f"icmp ugt i64 {lw.slot(Slot.SEATS_TAKEN)}, 1")
    ends = b.scalar(f"and i1 {is_long}, {has_others}")
    end, go_on = b.fresh("end"), b.fresh("go")
    b.line(f"br i1 {ends}, label %{end}, label %{go_on}, !prof !0")
    b.label(end)
    place = b.scalar(f"getelementptr i32, ptr %pending, i64 {index}")
    b.line(f"store i32 {b.scalar('load i32, ptr %current')}, ptr {place}")
    b.line("br label %pause")
    b.label(go_on)


def _uses_local_memory(lw: Lowering) -> bool:
    return any(v.space is Space.LOCAL for v in lw.kernel.variables) and any(
        step.space in (Space.LOCAL, Space.GENERIC)
        for i in lw.kernel.instructions
        for step in lw.kernel.steps(i.index)
    )


def _fill(lw: Lowering, pointer: str, size_bytes: int) -> None:
    lw.b.line(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size_bytes}, i1 false)")


def _has_barriers(lw: Lowering) -> bool:
    return lw.pauses or any(ends_in_wait(lw.kernel, i.index) for i in lw.kernel.instructions)


def state_bytes(lw: Lowering) -> int:
    """Waiting masks first, then the saved registers, 64 bytes aligned."""
    return _masks_bytes(lw) + sum(saved_bytes(e) for e in lw.saved.values())


def _saved_pointers(lw: Lowering) -> list[tuple[str, str, str]]:
    offset = _masks_bytes(lw)
    pointers = []
    for name, element in lw.saved.items():
        pointer = lw.b.scalar(f"getelementptr i8, ptr %state, i64 {offset}")
        pointers.append((name, element, pointer))
        offset += saved_bytes(element)
    return pointers


def _restore(lw: Lowering) -> None:
    b = lw.b
    if not _has_barriers(lw):
        b.line("unreachable")
        return
    for name, element in lw.on_stack.items():
        if name not in lw.saved:
            b.line(f"store {vector(element)} zeroinitializer, ptr {stack_slot(name)}")
    for name, element, pointer in _saved_pointers(lw):
        if element == "i1":
            mask = b.scalar(f"load i32, ptr {pointer}")
            value = b.predicate_of(mask)
        else:
            value = b.value(element, f"load {vector(element)}, ptr {pointer}, align 64")
        b.line(f"store {vector(element)} {value.text}, ptr {stack_slot(name)}")
    if lw.pauses:
        b.line(f"%was_paused = icmp eq i32 %resume, {WarpStatus.PAUSED}")
        b.line("br i1 %was_paused, label %paused, label %released")
        b.label("paused")
        _go_on(lw)
        b.label("released")
    _deliver_reductions(lw)
    size = 4 * len(lw.kernel.blocks)
    _copy(lw, "%pending", "%state", size)
    _fill(lw, "%state", size)
    b.line("br label %scan_from_start")


def _copy(lw: Lowering, to: str, source: str, size_bytes: int) -> None:
    lw.b.declarations.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    lw.b.line(
        f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size_bytes}, i1 false)"
    )


_KEPT_SLOTS = (Slot.BARRIER, Slot.BARRIER_COUNT)


def _pause_pointers(lw: Lowering) -> tuple[str, list[str]]:
    """Where a pausing warp leaves its mask of waiting lanes, before its pending masks, and what the
    slots of its barrier hold."""
    start = _paused_offset(lw)
    slots = start + 4 * (len(lw.kernel.blocks) + 1)
    offsets = (start, *(slots + 8 * n for n in range(len(_KEPT_SLOTS))))
    first, *rest = (lw.b.scalar(f"getelementptr i8, ptr %state, i64 {o}") for o in offsets)
    return first, rest


def _pause(lw: Lowering) -> None:
    """Leave all lanes where they are."""
    b = lw.b
    _save(lw)
    masks, slots = _pause_pointers(lw)
    b.line(f"store i32 {b.scalar('load i32, ptr %waiting')}, ptr {masks}")
    _copy(lw, b.scalar(f"getelementptr i8, ptr {masks}, i64 4"), "%pending", _pending_bytes(lw))
    for slot, pointer in zip(_KEPT_SLOTS, slots, strict=True):
        b.line(f"store i64 {lw.slot(slot)}, ptr {pointer}, align 4")
    b.line(f"ret i32 {WarpResult.PAUSED}")


def _go_on(lw: Lowering) -> None:
    """Go on after a pause."""
    b = lw.b
    masks, slots = _pause_pointers(lw)
    b.line(f"store i32 {b.scalar(f'load i32, ptr {masks}')}, ptr %waiting")
    _copy(lw, "%pending", b.scalar(f"getelementptr i8, ptr {masks}, i64 4"), _pending_bytes(lw))
    for slot, pointer in zip(_KEPT_SLOTS, slots, strict=True):
        lw.set_slot(slot, b.scalar(f"load i64, ptr {pointer}, align 4"))
    b.line("br label %scan_from_start")


def _pending_bytes(lw: Lowering) -> int:
    return 4 * len(lw.kernel.blocks)


def _paused_offset(lw: Lowering) -> int:
    return 4 * (len(lw.kernel.blocks) + 1 + len(_reductions(lw)))


def _deliver_reductions(lw: Lowering) -> None:
    """Write the results of `bar.red` in the lanes that waited for them."""
    for position in _reductions(lw):
        lw.position = position
        pointer = reduction_pointer(lw, lw.position)
        lw.mask = lw.b.scalar(f"load i32, ptr {pointer}")
        lw.b.line(f"store i32 0, ptr {pointer}")
        lw.active = lw.b.predicate_of(lw.mask)
        lw.forget_values()
        lw.isa.deliver(lw, lw.kernel.steps(position)[-1])
        lw.store_registers(everywhere=True)


def reduction_pointer(lw: Lowering, position: int) -> str:
    """Where the lanes that wait for the result of a reducing barrier are kept."""
    offset = 4 * (len(lw.kernel.blocks) + 1 + _reductions(lw).index(position))
    return lw.b.scalar(f"getelementptr i8, ptr %state, i64 {offset}")


def _masks_bytes(lw: Lowering) -> int:
    """Room for the waiting masks, those of `bar.red`, and what a pause leaves."""
    size = _kept_offset(lw)
    if lw.waits.headers:
        size += 4 * len(fairness.Word)
    return -(-size // 64) * 64


def _kept_offset(lw: Lowering) -> int:
    size = _paused_offset(lw)
    if lw.pauses:
        size += 4 * (len(lw.kernel.blocks) + 1) + 8 * len(_KEPT_SLOTS)
    return size


def _save(lw: Lowering) -> None:
    for name, element, pointer in _saved_pointers(lw):
        kind = vector(element)
        value = Value(lw.b.scalar(f"load {kind}, ptr {stack_slot(name)}"), element)
        if element == "i1":
            lw.b.line(f"store i32 {lw.b.mask_of(value)}, ptr {pointer}")
        else:
            lw.b.line(f"store {kind} {value.text}, ptr {pointer}, align 64")


def dispatch_and_end(lw: Lowering) -> None:
    """Run the lowest pending block; where there is none, the turn of the warp ends."""
    b = lw.b
    count = len(lw.kernel.blocks)
    b.label("scan_from_start")
    b.line("store i32 -1, ptr %low")
    b.line("br label %scan")
    b.label("dispatch")
    if lw.waits.headers:
        fairness.move_on(lw)
    b.line("%d.low = load i32, ptr %low")
    b.line(f"%d.none = icmp uge i32 %d.low, {count}")
    b.line("br i1 %d.none, label %idle, label %take")
    b.label("take")
    b.line("%d.p = getelementptr i32, ptr %pending, i32 %d.low")
    b.line("%d.mask = load i32, ptr %d.p")
    b.line("store i32 0, ptr %d.p")
    b.line("store i32 %d.mask, ptr %current")
    b.line("br label %scan")
    b.label("scan")
    b.line("%s.low = load i32, ptr %low")
    b.line("br label %scan_next")
    b.label("scan_next")
    b.line("%s.at = phi i32 [ %s.low, %scan ], [ %s.next, %scan_next ]")
    b.line("%s.next = add i32 %s.at, 1")
    b.line("%s.p = getelementptr i32, ptr %pending, i32 %s.next")
    b.line("%s.mask = load i32, ptr %s.p")
    b.line("%s.empty = icmp eq i32 %s.mask, 0")
    b.line("br i1 %s.empty, label %scan_next, label %scanned")
    b.label("scanned")
    b.line("store i32 %s.next, ptr %low")
    b.line("%s.started = icmp eq i32 %s.low, -1")
    b.line("br i1 %s.started, label %dispatch, label %jump")
    b.label("jump")
    targets = " ".join(f"i32 {i}, label %block{i}" for i in range(count))
    if lw.waits.headers:
        b.line("%j.block = phi i32 [ %s.low, %scanned ], [ %m.block, %sweep_move ]")
        b.line(f"switch i32 %j.block, label %stopped [ {targets} ]")
        fairness.sweep(lw)
    else:
        b.line(f"switch i32 %s.low, label %stopped [ {targets} ]")
    b.label("idle")
    b.line("%i.log = load i64, ptr %log")
    lw.set_slot(Slot.LOG, "%i.log")
    if lw.waits.headers:
        fairness.force(lw)
    if _has_barriers(lw):
        b.line("%i.waiting = load i32, ptr %waiting")
        b.line("%i.done = icmp eq i32 %i.waiting, 0")
        b.line("br i1 %i.done, label %exited, label %wait")
        b.label("wait")
        _save(lw)
        b.line(f"ret i32 {WarpResult.WAITING}")
    else:
        b.line("br label %exited")
    if lw.pauses:
        b.label("pause")
        if lw.waits.headers:
            fairness.move_on(lw)
        b.line("%p.log = load i64, ptr %log")
        lw.set_slot(Slot.LOG, "%p.log")
        _pause(lw)
    b.label("exited")
    b.line(f"ret i32 {WarpResult.DONE}")
    b.label("stopped")
    b.line("%x.log = load i64, ptr %log")
    lw.set_slot(Slot.LOG, "%x.log")
    b.line(f"ret i32 {WarpResult.STOPPED}")


def _reductions(lw: Lowering) -> list[int]:
    return [
        i.index
        for i in lw.kernel.instructions
        if any(waits(step) and "red" in step.modifiers for step in lw.kernel.steps(i.index))
    ]
