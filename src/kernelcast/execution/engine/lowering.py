"""Lowers a kernel's control flow to LLVM: one function that runs a warp until it exits or waits.

Each basic block keeps a *pending mask*: the lanes that wait to run in it. `low` is the lowest block
with pending lanes. A branch whose target lies below `low` jumps straight to it, carrying its mask
in `current`; any other adds to the pending masks and dispatches to `low`. Registers that live in
one block only are SSA values; the others are stack slots, blended by the mask, which LLVM promotes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kernelcast.errors import UnsupportedError
from kernelcast.execution.address_map import WARP_LANES
from kernelcast.execution.engine.builder import Builder
from kernelcast.execution.engine.context import Fault, Slot, WarpResult
from kernelcast.execution.engine.driver import DECLARATIONS, driver_ir, slot_pointer
from kernelcast.execution.engine.values import Value, element_bits, ptx_type, vector
from kernelcast.execution.trace import KIND_SHIFT, RECORD_WORDS, RecordKind
from kernelcast.ir import (
    BlockRef,
    Instruction,
    Kernel,
    OpClass,
    Register,
    Space,
    Symbol,
)

CARRY = "cc"
"""The condition-code register that `add.cc` writes and `addc` reads, one bit per lane."""


@dataclass(frozen=True)
class LoweredKernel:
    """LLVM IR of a kernel, and what its host must provide."""

    ir: str
    state_bytes: int
    symbols: tuple[str, ...]
    headroom_bytes: int


class InstructionSet(Protocol):
    """What an ISA adds to the control flow."""

    @property
    def opcodes(self) -> Mapping[str, Callable[[Lowering, Instruction], None]]:
        """How to lower each opcode that neither branches nor waits."""
        ...

    def arrive(self, lowering: Lowering, barrier: Instruction) -> tuple[str, str]:
        """Lower the arrival at a barrier; its number and thread count (0: all) as i64 text."""
        ...

    def deliver(self, lowering: Lowering, barrier: Instruction) -> None:
        """Write the result of a reducing barrier, after it, in the active lanes."""
        ...


class Lowering:
    """State of lowering one kernel. Opcode modules see its reads, writes and current mask."""

    def __init__(self, kernel: Kernel, isa: InstructionSet) -> None:
        self.kernel = kernel
        self.isa = isa
        self.b = Builder()
        self.mask = ""  # scalar text of the current block's mask
        self.active = Value("", "i1")  # the same per lane
        self.position = 0  # index of the instruction being lowered
        self.symbols = tuple(v.name for v in kernel.variables)
        self._parameters = {p.name: p for p in kernel.parameters}
        self._values: dict[str, Value] = {}
        self._local = _block_local_registers(kernel)
        self._shared_registers = _shared_registers(kernel, self._local)
        self._reductions = [
            i.index for i in kernel.instructions if _waits(i) and "red" in i.modifiers
        ]
        self._saved = _saved_registers(kernel, self._shared_registers)

    def slot(self, slot: Slot, kind: str = "i64") -> str:
        """Load a slot of the context."""
        pointer = self.b.scalar(slot_pointer(slot))
        return self.b.scalar(f"load {kind}, ptr {pointer}")

    def set_slot(self, slot: Slot, value: str) -> None:
        """Store to a slot of the context."""
        pointer = self.b.scalar(slot_pointer(slot))
        self.b.line(f"store i64 {value}, ptr {pointer}")

    def register(self, register: Register) -> Value:
        """The current value of a register."""
        known = self._values.get(register.name)
        if known is not None:
            return known
        element = ptx_type(register.type).llvm
        if register.name in self._local:
            return self.b.constant(element, 0)
        value = self.b.value(element, f"load {vector(element)}, ptr {_home(register.name)}")
        self._values[register.name] = value
        return value

    def set_register(self, register: Register, value: Value, guard: Value | None = None) -> None:
        """Write a register in the active lanes, or those of `guard`; the type must fit."""
        if register.name in self._local:
            if guard is not None:
                value = self.b.select(guard, value, self.register(register))
            self._values[register.name] = value
            return
        value = self.b.select(guard or self.active, value, self.register(register))
        self._values[register.name] = value
        kind = vector(value.type)
        self.b.line(f"store {kind} {value.text}, ptr {_home(register.name)}")

    def carry(self) -> Value:
        """The condition code."""
        return self.register(Register(CARRY, "pred"))

    def set_carry(self, value: Value) -> None:
        """Write the condition code."""
        self.set_register(Register(CARRY, "pred"), value)

    def symbol_address(self, symbol: Symbol) -> Value:
        """The address of a variable, or the offset of a parameter, as i64."""
        if symbol.name in self._parameters:
            offset = self._parameters[symbol.name].offset_bytes + symbol.offset
            return self.b.constant("i64", offset)
        if symbol.name not in self.symbols:
            raise self.unsupported(f"variable {symbol.name}")
        table = self.slot(Slot.SYMBOLS, "ptr")
        index = self.symbols.index(symbol.name)
        pointer = self.b.scalar(f"getelementptr inbounds i64, ptr {table}, i64 {index}")
        address = self.b.scalar(f"load i64, ptr {pointer}")
        value = self.b.splat(address, "i64")
        if symbol.offset:
            value = self.b.binary("add", value, self.b.constant("i64", symbol.offset))
        return value

    def parameter_offset(self, name: str) -> int | None:
        """Byte offset of a kernel parameter, None for other names."""
        parameter = self._parameters.get(name)
        return None if parameter is None else parameter.offset_bytes

    def unsupported(self, what: str) -> UnsupportedError:
        """An error that names the instruction being lowered."""
        instruction = self.kernel.instructions[self.position]
        return UnsupportedError(
            f"{what} ({instruction.name}) is not supported by the engine",
            where=f"kernel {self.kernel.name}, PTX line {instruction.line}",
        )

    def stop_if(self, condition: str) -> None:
        """End the run where a scalar condition holds; the fault is already in the context."""
        go_on = self.b.fresh("go")
        self.b.line(f"br i1 {condition}, label %stopped, label %{go_on}")
        self.b.label(go_on)

    def log_position(self) -> str:
        """Where the next record goes, as an integer."""
        return self.b.scalar("load i64, ptr %log")

    def advance_log(self, position: str) -> None:
        """The next record goes there."""
        self.b.line(f"store i64 {position}, ptr %log")

    def lower(self) -> LoweredKernel:
        """The whole module: driver, address checks, and this kernel's warp function."""
        self._prologue()
        for index in range(len(self.kernel.blocks)):
            self._block(index)
        self._dispatch()
        entry, *rest = self.b.lines
        body = "\n".join((entry, *self.b.slots, *rest))
        declarations = "\n".join(sorted({*DECLARATIONS, *self.b.declarations}))
        ir = (
            f"{driver_ir()}\n{declarations}\n"
            f"define internal i32 @warp(ptr noalias %ctx, i64 %w, i32 %resume) {{\n{body}\n}}\n"
            '!0 = !{!"branch_weights", i32 1, i32 1000}\n'
        )
        return LoweredKernel(ir, self._state_bytes(), self.symbols, self._headroom_bytes())

    def _prologue(self) -> None:
        b = self.b
        count = len(self.kernel.blocks)
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
        for name, element in self._shared_registers.items():
            b.line(f"{_home(name)} = alloca {vector(element)}, align 64")
        b.line("store i32 0, ptr %waiting")
        b.line(f"store i32 {count}, ptr %low")
        self._fill("%pending", 4 * count)
        sentinel = b.scalar(f"getelementptr i32, ptr %pending, i64 {count}")
        b.line(f"store i32 -1, ptr {sentinel}")
        position = self.slot(Slot.LOG)
        self.advance_log(position)
        masks = self.slot(Slot.MASKS, "ptr")
        mask_pointer = b.scalar(f"getelementptr i32, ptr {masks}, i64 %w")
        mask = b.scalar(f"load i32, ptr {mask_pointer}")
        state = self.slot(Slot.STATE, "ptr")
        b.line(f"%state_offset = mul i64 %w, {self._state_bytes()}")
        b.line(f"%state = getelementptr i8, ptr {state}, i64 %state_offset")
        threads = self.slot(Slot.THREADS, "ptr")
        b.line(f"%threads = getelementptr [3 x [32 x i32]], ptr {threads}, i64 %w")
        b.line("%is_fresh = icmp eq i32 %resume, 0")
        b.line("br i1 %is_fresh, label %fresh, label %resumed")
        b.label("fresh")
        for name, element in self._shared_registers.items():
            b.line(f"store {vector(element)} zeroinitializer, ptr {_home(name)}")
        if self._has_barriers():
            self._fill("%state", self._masks_bytes())
        if any(v.space is Space.LOCAL for v in self.kernel.variables):
            local, local_bytes = self.slot(Slot.LOCAL, "ptr"), self.slot(Slot.LOCAL_BYTES)
            total = b.scalar(f"shl i64 {local_bytes}, 5")
            b.line(f"call void @llvm.memset.p0.i64(ptr {local}, i8 0, i64 {total}, i1 false)")
        b.line(f"store i32 {mask}, ptr %current")
        b.line("br label %block0")
        b.label("resumed")
        self._restore()

    def _fill(self, pointer: str, size_bytes: int) -> None:
        self.b.line(
            f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size_bytes}, i1 false)"
        )

    def _has_barriers(self) -> bool:
        return any(_waits(i) for i in self.kernel.instructions)

    def _state_bytes(self) -> int:
        """Waiting masks first, then the saved registers, 64 bytes aligned."""
        return self._masks_bytes() + sum(_register_bytes(e) for e in self._saved.values())

    def _saved_pointers(self) -> list[tuple[str, str, str]]:
        offset = self._masks_bytes()
        pointers = []
        for name, element in self._saved.items():
            pointer = self.b.scalar(f"getelementptr i8, ptr %state, i64 {offset}")
            pointers.append((name, element, pointer))
            offset += _register_bytes(element)
        return pointers

    def _restore(self) -> None:
        b = self.b
        if not self._has_barriers():
            b.line("unreachable")
            return
        for name, element in self._shared_registers.items():
            if name not in self._saved:
                b.line(f"store {vector(element)} zeroinitializer, ptr {_home(name)}")
        for name, element, pointer in self._saved_pointers():
            if element == "i1":
                mask = b.scalar(f"load i32, ptr {pointer}")
                value = b.predicate_of(mask)
            else:
                value = b.value(element, f"load {vector(element)}, ptr {pointer}, align 64")
            b.line(f"store {vector(element)} {value.text}, ptr {_home(name)}")
        self._deliver_reductions()
        size = 4 * len(self.kernel.blocks)
        b.declarations.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        b.line(f"call void @llvm.memcpy.p0.p0.i64(ptr %pending, ptr %state, i64 {size}, i1 false)")
        self._fill("%state", size)
        b.line("br label %scan_from_start")

    def _deliver_reductions(self) -> None:
        """Write the results of `bar.red` in the lanes that waited for them."""
        for position in self._reductions:
            self.position = position
            pointer = self._reduction_pointer(self.position)
            self.mask = self.b.scalar(f"load i32, ptr {pointer}")
            self.b.line(f"store i32 0, ptr {pointer}")
            self.active = self.b.predicate_of(self.mask)
            self._values = {}
            self.isa.deliver(self, self.kernel.instructions[self.position])

    def _reduction_pointer(self, position: int) -> str:
        offset = 4 * (len(self.kernel.blocks) + 1 + self._reductions.index(position))
        return self.b.scalar(f"getelementptr i8, ptr %state, i64 {offset}")

    def _masks_bytes(self) -> int:
        """Room for the waiting masks and those of `bar.red`."""
        return -(-4 * (len(self.kernel.blocks) + 1 + len(self._reductions)) // 64) * 64

    def _save(self) -> None:
        for name, element, pointer in self._saved_pointers():
            kind = vector(element)
            value = Value(self.b.scalar(f"load {kind}, ptr {_home(name)}"), element)
            if element == "i1":
                self.b.line(f"store i32 {self.b.mask_of(value)}, ptr {pointer}")
            else:
                self.b.line(f"store {kind} {value.text}, ptr {pointer}, align 64")

    def _dispatch(self) -> None:
        """Run the lowest pending block; where there is none, the turn of the warp ends."""
        b = self.b
        count = len(self.kernel.blocks)
        b.label("scan_from_start")
        b.line("store i32 -1, ptr %low")
        b.line("br label %scan")
        b.label("dispatch")
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
        b.line(f"switch i32 %s.low, label %stopped [ {targets} ]")
        b.label("idle")
        b.line("%i.log = load i64, ptr %log")
        self.set_slot(Slot.LOG, "%i.log")
        if self._has_barriers():
            b.line("%i.waiting = load i32, ptr %waiting")
            b.line("%i.done = icmp eq i32 %i.waiting, 0")
            b.line("br i1 %i.done, label %exited, label %wait")
            b.label("wait")
            self._save()
            b.line(f"ret i32 {WarpResult.WAITING}")
        else:
            b.line("br label %exited")
        b.label("exited")
        b.line(f"ret i32 {WarpResult.DONE}")
        b.label("stopped")
        b.line("%x.log = load i64, ptr %log")
        self.set_slot(Slot.LOG, "%x.log")
        b.line(f"ret i32 {WarpResult.STOPPED}")

    def _block(self, index: int) -> None:
        b = self.b
        block = self.kernel.blocks[index]
        self._values = {}
        b.label(f"block{index}")
        if index in _loop_headers(self.kernel):
            self._drain_if_full()
        self.mask = b.scalar("load i32, ptr %current")
        self.active = b.predicate_of(self.mask)
        self._record_block(index)
        self._count(block.end - block.start)
        for self.position in range(block.start, block.end):
            instruction = self.kernel.instructions[self.position]
            if instruction.op_class is OpClass.BRANCH:
                self._branch(index, instruction)
                return
            if _waits(instruction):
                self._barrier(index, instruction)
                return
            lower = self.isa.opcodes.get(instruction.opcode)
            if lower is None:
                raise self.unsupported("this instruction")
            lower(self, instruction)
        self._go(block.successors[0], self.mask)

    def _drain_if_full(self) -> None:
        b = self.b
        position = self.log_position()
        limit = self.slot(Slot.LOG_LIMIT)
        full = b.scalar(f"icmp ugt i64 {position}, {limit}")
        drain, drained, go_on = b.fresh("drain"), b.fresh("drained"), b.fresh("go")
        b.line(f"br i1 {full}, label %{drain}, label %{go_on}, !prof !0")
        b.label(drain)
        self.set_slot(Slot.LOG, position)
        result = b.scalar("call i32 @drain(ptr %ctx)")
        self.advance_log(self.slot(Slot.LOG))
        failed = b.scalar(f"icmp ne i32 {result}, 0")
        b.line(f"br i1 {failed}, label %stopped, label %{drained}")
        b.label(drained)
        b.line(f"br label %{go_on}")
        b.label(go_on)

    def _record_block(self, index: int) -> None:
        b = self.b
        wide = b.scalar(f"zext i32 {self.mask} to i64")
        header = b.scalar(f"or i64 {wide}, {record_header(RecordKind.BLOCK, index)}")
        position = self.log_position()
        pointer = b.scalar(f"inttoptr i64 {position} to ptr")
        b.line(f"store i64 {header}, ptr {pointer}")
        self.advance_log(b.scalar(f"add i64 {position}, 8"))

    def _count(self, instructions: int) -> None:
        b = self.b
        lanes = b.call("llvm.ctpop.i32", "i32", [("i32", self.mask)])
        wide = b.scalar(f"zext i32 {lanes} to i64")
        threads = b.scalar(f"mul i64 {wide}, {instructions}")
        for slot, added in (
            (Slot.WARP_INSTRUCTIONS, str(instructions)),
            (Slot.THREAD_INSTRUCTIONS, threads),
        ):
            pointer = b.scalar(slot_pointer(slot))
            old = b.scalar(f"load i64, ptr {pointer}")
            b.line(f"store i64 {b.scalar(f'add i64 {old}, {added}')}, ptr {pointer}")

    def _guard_mask(self, instruction: Instruction) -> str:
        """Scalar mask of the active lanes in which the guard holds."""
        assert instruction.guard is not None
        holds = self.b.mask_of(self.register(instruction.guard.register))
        if instruction.guard.negated:
            holds = self.b.scalar(f"xor i32 {holds}, -1")
        return self.b.scalar(f"and i32 {holds}, {self.mask}")

    def _branch(self, index: int, instruction: Instruction) -> None:
        block = self.kernel.blocks[index]
        if instruction.opcode == "trap":
            self._trap(block.successors, instruction)
        elif instruction.opcode == "brx":
            self._indexed_branch(instruction)
        elif instruction.opcode in ("ret", "exit"):
            if instruction.guard is None:
                self.b.line("br label %dispatch")
            else:
                self._go_if_any(block.successors[0], self._others(self._guard_mask(instruction)))
        elif instruction.guard is None:
            self._go(block.successors[-1], self.mask)
        else:
            self._conditional(block.successors, self._guard_mask(instruction))

    def _others(self, mask: str) -> str:
        return self.b.scalar(f"xor i32 {mask}, {self.mask}")

    def _conditional(self, successors: tuple[int, ...], taken: str) -> None:
        fall_through, target = successors[0], successors[-1]
        if fall_through == target:
            self._go(target, self.mask)
            return
        b = self.b
        sides = sorted([(fall_through, self._others(taken)), (target, taken)])
        (low, low_mask), (high, high_mask) = sides
        only_high, some_low = b.fresh("high"), b.fresh("low")
        both, only_low = b.fresh("both"), b.fresh("low")
        none_low = b.scalar(f"icmp eq i32 {low_mask}, 0")
        b.line(f"br i1 {none_low}, label %{only_high}, label %{some_low}")
        b.label(only_high)
        self._go(high, high_mask)
        b.label(some_low)
        none_high = b.scalar(f"icmp eq i32 {high_mask}, 0")
        b.line(f"br i1 {none_high}, label %{only_low}, label %{both}")
        b.label(both)
        self._push(high, high_mask)
        b.line(f"br label %{only_low}")
        b.label(only_low)
        self._go(low, low_mask)

    def _push(self, target: int, mask: str) -> None:
        """Add lanes to the pending mask of a block."""
        b = self.b
        pointer = b.scalar(f"getelementptr i32, ptr %pending, i64 {target}")
        old = b.scalar(f"load i32, ptr {pointer}")
        b.line(f"store i32 {b.scalar(f'or i32 {old}, {mask}')}, ptr {pointer}")
        low = b.scalar("load i32, ptr %low")
        below = b.scalar(f"icmp ult i32 {low}, {target}")
        b.line(f"store i32 {b.scalar(f'select i1 {below}, i32 {low}, i32 {target}')}, ptr %low")

    def _go(self, target: int, mask: str) -> None:
        """Run lanes at a block next, or add them to it where lower blocks come first."""
        b = self.b
        direct, later = b.fresh("direct"), b.fresh("later")
        low = b.scalar("load i32, ptr %low")
        first = b.scalar(f"icmp ugt i32 {low}, {target}")
        b.line(f"br i1 {first}, label %{direct}, label %{later}")
        b.label(direct)
        b.line(f"store i32 {mask}, ptr %current")
        b.line(f"br label %block{target}")
        b.label(later)
        self._push(target, mask)
        b.line("br label %dispatch")

    def _go_if_any(self, target: int, mask: str) -> None:
        b = self.b
        some = b.fresh("some")
        none = b.scalar(f"icmp eq i32 {mask}, 0")
        b.line(f"br i1 {none}, label %dispatch, label %{some}")
        b.label(some)
        self._go(target, mask)

    def _indexed_branch(self, instruction: Instruction) -> None:
        b = self.b
        index = instruction.operands[0]
        assert isinstance(index, Register)
        chosen = self.register(index)
        targets = [o.index for o in instruction.operands[1:] if isinstance(o, BlockRef)]
        for number, target in enumerate(targets):
            here = b.compare("eq", chosen, b.constant(chosen.type, number))
            mask = b.scalar(f"and i32 {b.mask_of(here)}, {self.mask}")
            push, go_on = b.fresh("push"), b.fresh("go")
            none = b.scalar(f"icmp eq i32 {mask}, 0")
            b.line(f"br i1 {none}, label %{go_on}, label %{push}")
            b.label(push)
            self._push(target, mask)
            b.line(f"br label %{go_on}")
            b.label(go_on)
        b.line("br label %dispatch")

    def _trap(self, successors: tuple[int, ...], instruction: Instruction) -> None:
        b = self.b
        mask = self.mask if instruction.guard is None else self._guard_mask(instruction)
        if instruction.guard is not None:
            trapped, fine = b.fresh("trap"), b.fresh("go")
            none = b.scalar(f"icmp eq i32 {mask}, 0")
            b.line(f"br i1 {none}, label %{fine}, label %{trapped}")
            b.label(fine)
            self._go(successors[0], self.mask)
            b.label(trapped)
        lane = b.call("llvm.cttz.i32", "i32", [("i32", mask), ("i1", "false")])
        self.set_slot(Slot.FAULT_LANE, b.scalar(f"zext i32 {lane} to i64"))
        self.fault(Fault.TRAP)
        b.line("br label %stopped")

    def fault(self, fault: Fault) -> None:
        """Note a fault at the instruction being lowered."""
        self.set_slot(Slot.FAULT, str(int(fault)))
        self.set_slot(Slot.FAULT_INSTRUCTION, str(self.position))

    def _barrier(self, index: int, instruction: Instruction) -> None:
        """The active lanes wait at the next block until the driver wakes the warp."""
        b = self.b
        number, count = self.isa.arrive(self, instruction)
        after = self.kernel.blocks[index].successors[0]
        mask = self.mask
        rest = ""
        if instruction.guard is not None:
            mask = self._guard_mask(instruction)
            rest = self._others(mask)
        waiting = b.scalar("load i32, ptr %waiting")
        others_wait = b.scalar(f"icmp ne i32 {waiting}, 0")
        barrier = self.slot(Slot.BARRIER)
        different = b.scalar(f"icmp ne i64 {barrier}, {number}")
        mixed = b.scalar(f"and i1 {others_wait}, {different}")
        fault, fine = b.fresh("mixed"), b.fresh("go")
        b.line(f"br i1 {mixed}, label %{fault}, label %{fine}")
        b.label(fault)
        self.fault(Fault.MIXED_BARRIERS)
        b.line("br label %stopped")
        b.label(fine)
        self.set_slot(Slot.BARRIER, number)
        self.set_slot(Slot.BARRIER_COUNT, count)
        b.line(f"store i32 {b.scalar(f'or i32 {waiting}, {mask}')}, ptr %waiting")
        pointer = b.scalar(f"getelementptr i32, ptr %state, i64 {after}")
        old = b.scalar(f"load i32, ptr {pointer}")
        b.line(f"store i32 {b.scalar(f'or i32 {old}, {mask}')}, ptr {pointer}")
        if self.position in self._reductions:
            b.line(f"store i32 {mask}, ptr {self._reduction_pointer(self.position)}")
        if rest:
            self._go_if_any(after, rest)
        else:
            b.line("br label %dispatch")

    def _headroom_bytes(self) -> int:
        """Bytes that a warp may log between two checks: every block once, and a warp header."""
        words = 2 + len(self.kernel.blocks)
        words += sum(
            RECORD_WORDS[RecordKind.ADDRESSES]
            for i in self.kernel.instructions
            if i.op_class.is_memory
        )
        return 8 * words


def record_header(kind: RecordKind, ident: int) -> int:
    """A header word without its mask."""
    return kind << KIND_SHIFT | ident << 32


def _home(register: str) -> str:
    """The stack slot of a register."""
    return f'%"r.{register}"'


def _register_bytes(element: str) -> int:
    """Room for a warp of it, a predicate as a mask, in steps of 64 bytes."""
    return max(64, WARP_LANES * element_bits(element) // 8)


def _waits(instruction: Instruction) -> bool:
    return instruction.op_class is OpClass.BARRIER and not (
        "arrive" in instruction.modifiers or "warp" in instruction.modifiers
    )


def _loop_headers(kernel: Kernel) -> frozenset[int]:
    return frozenset(
        target for block in kernel.blocks for target in block.successors if target <= block.index
    )


def _block_local_registers(kernel: Kernel) -> frozenset[str]:
    """Registers used in one block only, and first by an unguarded write."""
    home: dict[str, int] = {}
    shared: set[str] = set()
    for block in kernel.blocks:
        for instruction in kernel.instructions[block.start : block.end]:
            for register in instruction.reads:
                if home.get(register.name) != block.index:
                    shared.add(register.name)
            for register in instruction.writes:
                first = register.name not in home
                owner = home.setdefault(register.name, block.index)
                if owner != block.index or (first and instruction.guard is not None):
                    shared.add(register.name)
    return frozenset(home) - shared


def _shared_registers(kernel: Kernel, local: frozenset[str]) -> dict[str, str]:
    registers: dict[str, str] = {}
    for instruction in kernel.instructions:
        for register in (*instruction.reads, *instruction.writes):
            if register.name not in local:
                registers[register.name] = ptx_type(register.type).llvm
        if _uses_carry(instruction):
            registers[CARRY] = "i1"
    return registers


def _uses_carry(instruction: Instruction) -> bool:
    return "cc" in instruction.modifiers or instruction.opcode in ("addc", "subc", "madc")


def _saved_registers(kernel: Kernel, shared: dict[str, str]) -> dict[str, str]:
    """Registers that may be read after a barrier."""
    return shared
