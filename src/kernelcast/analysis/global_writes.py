"""What a kernel changes in global memory, and whether the order of its blocks matters there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernelcast.analysis.arrays import arrays_of_accesses
from kernelcast.analysis.slicing import Needed, may_write, needed_for_trace, reachable_spaces
from kernelcast.ir import Instruction, Kernel, OpClass, Space

_COMMUTING = {"add", "and", "or", "xor", "min", "max"}
_FLOATS = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"}


def _writes_global(kernel: Kernel, needed: Needed | None) -> bool:
    """Whether a kernel, or what is needed of it, may change global memory."""
    return any(True for _ in _global_writes(kernel, needed))


def arrays_written(
    kernel: Kernel, needed: Needed | None, pointers: Mapping[int, str]
) -> frozenset[str] | None:
    """The arrays that a kernel, or what is needed of it, may change; None where it may be any.

    `pointers` is as for `needed_for_trace`; variables are called as `name_of_variable` says.
    """
    arrays = arrays_of_accesses(kernel, pointers)
    found: set[str] = set()
    for instruction in _global_writes(kernel, needed):
        if instruction.index not in arrays:
            return None
        found |= arrays[instruction.index]
    return frozenset(found)


def depends_on_order(
    kernel: Kernel, needed: Needed | None, pointers: Mapping[int, str] | None = None
) -> bool:
    """Whether the trace, or what is left in global memory, may differ with the order of blocks.

    The trace may where it needs what is stored in global memory; `pointers` is as for
    `needed_for_trace`. Memory may where atomics do not commute, or tell what was there before.
    Plain stores of several blocks to one place are no matter of order but a mistake of the kernel.
    """
    if not _writes_global(kernel, needed):
        return False
    read = {r for i in kernel.instructions for s in kernel.steps(i.index) for r in s.reads}
    for instruction in _global_writes(kernel, needed):
        for step in kernel.steps(instruction.index):
            if step.op_class is OpClass.ATOMIC and not (
                _commutes(step) and read.isdisjoint(step.writes)
            ):
                return True
    return _writes_global(kernel, needed_for_trace(kernel, pointers=pointers))


def _global_writes(kernel: Kernel, needed: Needed | None) -> Iterator[Instruction]:
    for instruction in kernel.instructions:
        if (
            (needed is None or instruction.index in needed.in_full)
            and may_write(instruction)
            and Space.GLOBAL in reachable_spaces(instruction)
        ):
            yield instruction


def _commutes(step: Instruction) -> bool:
    """Whether an atomic leaves the same whatever its order among others like it."""
    words = set(step.modifiers)
    return bool(words & _COMMUTING) and not words & _FLOATS
