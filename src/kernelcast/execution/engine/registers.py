"""Where the registers of a kernel live while the engine runs it."""

from __future__ import annotations

from kernelcast.analysis.liveness import live_in
from kernelcast.execution.engine.values import element_bits, ptx_type
from kernelcast.ir import Instruction, Kernel, OpClass
from kernelcast.ir.sizes import WARP_LANES

CARRY = "cc"
"""The condition-code register that `add.cc` writes and `addc` reads, one bit per lane."""


PAUSES = frozenset(("pause", "nanosleep"))
"""Steps that end the turn of a warp."""


def waits(instruction: Instruction) -> bool:
    """Whether a step makes its lanes wait for other warps: at a barrier of the block, or for their
    next turn."""
    if instruction.opcode in PAUSES:
        return True
    return instruction.op_class is OpClass.BARRIER and not (
        "arrive" in instruction.modifiers or "warp" in instruction.modifiers
    )


def ends_in_wait(kernel: Kernel, position: int) -> bool:
    """Whether an instruction of a kernel makes its lanes wait for other warps."""
    return any(map(waits, kernel.steps(position)))


def pauses(kernel: Kernel) -> bool:
    """Whether a step may end a turn while lanes of the warp are on their way."""
    return any(s.opcode in PAUSES for i in kernel.instructions for s in kernel.steps(i.index))


def _block_local_registers(kernel: Kernel) -> frozenset[str]:
    """Registers used in one block only, and first by an unguarded write: SSA values will do."""
    home: dict[str, int] = {}
    crossing: set[str] = set()
    for block in kernel.blocks:
        for instruction in kernel.instructions[block.start : block.end]:
            for register in instruction.reads:
                if home.get(register.name) != block.index:
                    crossing.add(register.name)
            for register in instruction.writes:
                first = register.name not in home
                owner = home.setdefault(register.name, block.index)
                if owner != block.index or (first and instruction.guard is not None):
                    crossing.add(register.name)
    return frozenset(home) - crossing


def stack_registers(kernel: Kernel) -> dict[str, str]:
    """All other registers, with their element types: each has a stack slot."""
    local = _block_local_registers(kernel)
    registers: dict[str, str] = {}
    for instruction in kernel.instructions:
        for register in (*instruction.reads, *instruction.writes):
            if register.name not in local:
                registers[register.name] = ptx_type(register.type).llvm
        if any(map(_uses_carry, kernel.steps(instruction.index))):
            registers[CARRY] = "i1"
    return registers


def _uses_carry(instruction: Instruction) -> bool:
    return "cc" in instruction.modifiers or instruction.opcode in ("addc", "subc", "madc")


def saved_registers(
    kernel: Kernel, on_stack: dict[str, str], *, everywhere: bool
) -> dict[str, str]:
    """Those that may be read in a later turn, which a waiting warp has to keep.

    `everywhere` says that a turn may end in any block.
    """
    if everywhere:
        return on_stack
    ends = [b for b in kernel.blocks if b.end and ends_in_wait(kernel, b.end - 1)]
    if not ends:
        return {}
    alive = live_in(kernel)
    kept = {r.name for block in ends for after in block.successors for r in alive[after]}
    return {name: element for name, element in on_stack.items() if name in kept | {CARRY}}


def saved_bytes(element: str) -> int:
    """Room for one saved register of a warp, a predicate as a mask, in steps of 64 bytes."""
    return max(64, WARP_LANES * element_bits(element) // 8)


def stack_slot(register: str) -> str:
    """The name of a register's stack slot."""
    return f'%"r.{register}"'
