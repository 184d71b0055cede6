"""What every part of lowering a kernel shares: registers, the current mask, the context, the log.

Within a basic block registers are SSA values. Those that outlive a block also have a stack slot,
which LLVM promotes; what a block wrote is blended into it by the mask where the block ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from kernelcast.analysis.liveness import live_in
from kernelcast.analysis.slicing import Needed
from kernelcast.analysis.spin_loops import waits_of
from kernelcast.errors import UnsupportedError
from kernelcast.execution.address_map import WINDOW_BYTES
from kernelcast.execution.engine.builder import FunctionBuilder
from kernelcast.execution.engine.context import Fault, Slot
from kernelcast.execution.engine.driver import slot_pointer
from kernelcast.execution.engine.registers import (
    CARRY,
    pauses,
    saved_registers,
    stack_registers,
    stack_slot,
)
from kernelcast.execution.engine.values import Value, ptx_type, vector
from kernelcast.execution.trace import ID_SHIFT, KIND_SHIFT, RecordKind
from kernelcast.ir import (
    Instruction,
    Kernel,
    Register,
    Space,
    Symbol,
)


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
    """State of lowering one kernel. Opcode modules see its reads, writes and current mask.

    `shared_loops` are headers of loops in which blocks may see each other's work; in a kernel with
    spin loops turns end without. `logs` is whether the code writes a trace. Where `is_shared`,
    global memory may change at any time by the hand of another thread.
    """

    def __init__(
        self,
        kernel: Kernel,
        isa: InstructionSet,
        needed: Needed | None = None,
        shared_loops: frozenset[int] = frozenset(),
        *,
        logs: bool = True,
        is_shared: bool = False,
    ) -> None:
        self.kernel = kernel
        self.isa = isa
        self.needed = needed
        self.logs, self.is_shared = logs, is_shared
        self.is_address_only = False  # neither what is loaded nor what is stored counts
        self.b = FunctionBuilder()
        self.mask = ""  # scalar text of the current block's mask
        self.active = Value("", "i1")  # the same per lane
        self.position = 0  # index of the instruction being lowered
        self.symbols = tuple(v.name for v in kernel.variables)
        self._parameters = {p.name: p for p in kernel.parameters}
        self._values: dict[str, Value] = {}
        self._written: set[str] = set()
        self._parts: dict[str, tuple[Value, int, int]] = {}
        self._live_out = _live_out(kernel)
        self._seen_across = _seen_across_lanes(kernel)
        self._block = 0
        self.on_stack = stack_registers(kernel)
        self.waits = waits_of(kernel)
        self.is_clustered = kernel.cluster_blocks > 1
        self._shared = frozenset(v.name for v in kernel.variables if v.space is Space.SHARED)
        self.shared_loops = frozenset[int]() if self.waits.headers else shared_loops
        self.pauses = bool(self.waits.headers or self.shared_loops) or pauses(kernel)
        self.saved = saved_registers(kernel, self.on_stack, everywhere=self.pauses)
        self._loop_headers = _loop_headers(kernel)

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
        if register.name not in self.on_stack:
            return self.b.constant(element, 0)
        value = self.b.value(element, f"load {vector(element)}, ptr {stack_slot(register.name)}")
        self._values[register.name] = value
        return value

    def set_register(self, register: Register, value: Value, guard: Value | None = None) -> None:
        """Write a register in the active lanes, or those of `guard`; the type must fit."""
        if guard is None and register.name in self._seen_across:
            guard = self.active
        if guard is not None:
            value = self.b.select(guard, value, self.register(register))
        self._values[register.name] = value
        if register.name in self.on_stack:
            self._written.add(register.name)

    def store_registers(self, *, everywhere: bool = False) -> None:
        """Blend what the block wrote, and other blocks may read, into the stack slots.

        `everywhere` stores all of it, for writes that belong to no block.
        """
        b = self.b
        kept = self._written
        if not everywhere:
            kept &= self._live_out[self._block] | self._seen_across
        for name in sorted(kept):
            value = self._values[name]
            kind = vector(value.type)
            old = b.value(value.type, f"load {kind}, ptr {stack_slot(name)}")
            blended = b.select(self.active, value, old)
            b.line(f"store {kind} {blended.text}, ptr {stack_slot(name)}")
        self._written = set()

    def note_parts(self, whole: Value, parts: list[Value]) -> None:
        """Remember that values are the parts of another, for as long as the block lasts."""
        for number, part in enumerate(parts):
            self._parts[part.text] = (whole, number, len(parts))

    def whole_of(self, parts: list[Value]) -> Value | None:
        """The value that these are the parts of, in order; None where they come from elsewhere."""
        known = [self._parts.get(part.text) for part in parts]
        if known[0] is None:
            return None
        whole = known[0][0]
        is_whole = known == [(whole, number, len(parts)) for number in range(len(parts))]
        return whole if is_whole else None

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
        if self.is_clustered and symbol.name in self._shared:
            value = self.b.binary("or", value, self.b.splat(self.own_window(), "i64"))
        return value

    def own_window(self) -> str:
        """Where the block's shared memory begins among those of its cluster, as i64."""
        return self.b.scalar(f"shl i64 {self.slot(Slot.RANK)}, {WINDOW_BYTES.bit_length() - 1}")

    def parameter_offset(self, name: str) -> int | None:
        """Byte offset of a kernel parameter, None for other names."""
        parameter = self._parameters.get(name)
        return None if parameter is None else parameter.offset_bytes

    def steps(self, position: int) -> tuple[Instruction, ...]:
        """What is to be lowered of an instruction; sets the mode for its accesses."""
        self.position = position
        self.is_address_only = self.needed is not None and position in self.needed.address_only
        if self.needed is None or self.is_address_only or position in self.needed.in_full:
            return self.kernel.steps(position)
        return ()

    def unsupported(self, what: str) -> UnsupportedError:
        """An error that names the instruction being lowered."""
        instruction = self.kernel.instructions[self.position]
        return UnsupportedError(
            f"{what} ({instruction.name}) is not supported by the engine",
            where=f"kernel {self.kernel.name}, {self.kernel.isa.upper()} line {instruction.line}",
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
        """The next record goes there; or, without a log, so many instructions are passed."""
        self.b.line(f"store i64 {position}, ptr %log")

    def fault(self, fault: Fault) -> None:
        """Note a fault at the instruction being lowered."""
        self.set_slot(Slot.FAULT, str(int(fault)))
        self.set_slot(Slot.FAULT_INSTRUCTION, str(self.position))

    def enter_block(self, index: int) -> None:
        """Begin a basic block, before it is settled which lanes run it."""
        self._block = index
        self.forget_values()
        self.b.label(f"block{index}")
        if index in self._loop_headers or index in self.waits.reconvergence:
            # Only here do lanes go on below a block that others have run.
            self._drain_if_full()

    def start_block(self, index: int) -> None:
        """Begin what a basic block does: its mask, its record, and its instructions counted."""
        block = self.kernel.blocks[index]
        self.forget_values()
        self.mask = self.b.scalar("load i32, ptr %current")
        self.active = self.b.predicate_of(self.mask)
        if self.logs:
            self._record_block(index)
        else:
            position = self.log_position()
            self.advance_log(self.b.scalar(f"add i64 {position}, {block.end - block.start}"))
        self._count(block.end - block.start)

    @property
    def left_in_block(self) -> int:
        """Instructions of the basic block from the one being lowered on."""
        return self.kernel.blocks[self._block].end - self.position

    def forget_values(self) -> None:
        """Registers have to be loaded anew: another block or mask begins."""
        self._values = {}
        self._parts = {}

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


def record_header(kind: RecordKind, ident: int) -> int:
    """A header word without its mask."""
    return kind << KIND_SHIFT | ident << ID_SHIFT


def _live_out(kernel: Kernel) -> tuple[frozenset[str], ...]:
    """Names of the registers that may be read after each block."""
    alive = [frozenset(r.name for r in registers) | {CARRY} for registers in live_in(kernel)]
    return tuple(
        frozenset().union(*(alive[target] for target in block.successors))
        for block in kernel.blocks
    )


def _seen_across_lanes(kernel: Kernel) -> frozenset[str]:
    """Names of the registers that other lanes may read: even of a lane that takes no part, they
    hold what it wrote last."""
    return frozenset(
        register.name
        for instruction in kernel.instructions
        for step in kernel.steps(instruction.index)
        if step.opcode == "shfl"
        for register in step.reads
    )


def _loop_headers(kernel: Kernel) -> frozenset[int]:
    return frozenset(
        target for block in kernel.blocks for target in block.successors if target <= block.index
    )
