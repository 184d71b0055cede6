"""What is said of an access that may not be: one wording for every executor."""

from __future__ import annotations

from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.errors import MemoryFaultError, MisalignedError
from kernelcast.execution.address_map import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
)
from kernelcast.execution.memory import Memory
from kernelcast.ir import Instruction, Kernel, Launch, OpClass, Space, arrays_in
from kernelcast.isas.coordinates import is_by_coordinates

_MISALIGNED = "is not aligned to"
_NOUNS = {OpClass.LOAD: "load", OpClass.STORE: "store", OpClass.ATOMIC: "atomic operation"}

_WINDOWS = {
    Space.SHARED: SHARED_WINDOW,
    Space.LOCAL: LOCAL_WINDOW,
    Space.PARAM: PARAM_WINDOW,
}


def place(kernel: Kernel, launch: Launch, instruction: Instruction, block: int, thread: int) -> str:
    """Where in a kernel something happened: source line, instruction, block and thread.

    `block` is the linear index in the grid, `thread` that in the block.
    """
    source = f"line {instruction.location}, " if instruction.location else ""
    x, y, _ = launch.block
    coordinates = (thread % x, thread // x % y, thread // (x * y))
    return (
        f"kernel {kernel.shown}, {source}"
        f"{kernel.isa.upper()} line {instruction.line} ({instruction.name}), "
        f"block {block}, thread ({','.join(map(str, coordinates))})"
    )


def split_generic(address: int) -> tuple[Space, int]:
    """The space that a generic address lies in, and the address within that space."""
    for space, window in _WINDOWS.items():
        # The shared memory of the blocks of a cluster is side by side, as far as the next window.
        end = LOCAL_WINDOW if space is Space.SHARED else window + WINDOW_BYTES
        if window <= address < end:
            return space, address - window
    return Space.GLOBAL, address


def memory_fault(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    instruction: Instruction,
    block: int,
    thread: int,
    address: int,
) -> MemoryFaultError:
    """The error for a lane's access at `address`, in the instruction's own space.

    The reason is found from the address: misaligned, read-only, or outside.
    """
    space, offset = instruction.space or Space.GENERIC, address
    if space is Space.GENERIC:
        space, offset = split_generic(address)
    size = instruction.access_bytes
    access = f"{_NOUNS.get(instruction.op_class, 'access')} of {size} bytes at {address:#x}"
    if space is Space.SHARED and offset < kernel.cluster_blocks * WINDOW_BYTES:
        offset %= WINDOW_BYTES
    what, hint = _reason(memory, instruction, space, offset, size)
    if what.startswith("is outside") and _goes_by_fills(kernel, launch):
        hint += "; it may follow from what arrays hold, which a launch says as in "
        hint += "'a=s32[n] randint(0, 9, 1)'"
    whole = kernel.instructions[instruction.index : instruction.index + 1]
    if any(is_by_coordinates(i.opcode) for i in whole):
        what = "is outside of every texture and surface"
        hint = "give one, such as f32[h, w] texture(); x of a surface counts bytes"
    kind = MisalignedError if what.startswith(_MISALIGNED) else MemoryFaultError
    return kind(
        f"{access} {what}",
        where=place(kernel, launch, instruction, block, thread),
        hint=hint,
        at=(instruction.index, block, thread),
    )


def _goes_by_fills(kernel: Kernel, launch: Launch) -> bool:
    """Whether a kernel goes by what arrays hold that the launch says, and not a program."""
    arrays = [a for label, value in launch.args.items() for a in arrays_in(label, value)]
    return bool(arrays) and reads_arrays(kernel, needed_for_trace(kernel))


def _reason(
    memory: Memory, instruction: Instruction, space: Space, address: int, size: int
) -> tuple[str, str]:
    limits = {
        Space.SHARED: ("the block's shared memory", memory.shared_bytes),
        Space.LOCAL: ("the thread's local memory", memory.local_bytes),
        Space.PARAM: ("the kernel's parameters", memory.parameters.size),
    }
    if space in limits:
        name, limit = limits[space]
        if address + size > limit:
            hint = "check the index"
            if space is Space.SHARED:
                hint = f"give the launch more shared memory or {hint}"
            elif space is Space.LOCAL:
                hint += ", and how deep functions call themselves"
            return f"is outside {name} ({limit} bytes)", hint
    else:
        region = memory.region_at(address)
        if region is None or address + size > region.end:
            return (
                f"is outside every array; {_nearest(memory, address)}",
                "check the index, or declare the array larger",
            )
        if instruction.op_class is not OpClass.LOAD and not region.writable:
            return f"would change {region.label}, which is constant", "write to another array"
    if address % size:
        return f"{_MISALIGNED} {size} bytes", "check the pointer's type"
    return "is not allowed", "check the pointer"


def _nearest(memory: Memory, address: int) -> str:
    region = memory.nearest(address)
    if region is None:
        return "the launch has none"
    if address < region.address:
        distance = f"{region.address - address} bytes before its start"
    elif address >= region.end:
        distance = f"{address - region.end} bytes past its end"
    else:
        distance = "across its end"
    return f"nearest is {region.label} ({region.size_bytes} bytes), {distance}"
