"""Where a warp waits for what it has loaded, and other warps go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelcast.ir import Instruction, Kernel, OpClass, Register, Space

_FAR = (Space.GLOBAL, Space.LOCAL, Space.GENERIC)
_NOTHING: frozenset[Register] = frozenset()


@dataclass(frozen=True, slots=True)
class _Issued:
    """What a warp has asked memory for since it last waited, and whether it has waited since."""

    pending: frozenset[Register] = _NOTHING
    has_waited: bool = False

    def joined(self, other: _Issued) -> _Issued:
        return _Issued(self.pending | other.pending, self.has_waited or other.has_waited)


def after_waits(kernel: Kernel) -> frozenset[int]:
    """Accesses to global and local memory before which a warp may wait, since its last such access.

    A warp issues in order, and waits where an instruction needs what a load has not brought yet, or
    at a barrier. Loads that nothing between them waits for are on their way together.
    """
    known: dict[int, _Issued] = {0: _Issued()}
    found: set[int] = set()
    changed = [0] if kernel.blocks else []
    while changed:
        block = kernel.blocks[changed.pop()]
        body = kernel.instructions[block.start : block.end]
        left = _walk(body, known[block.index], found)
        for successor in block.successors:
            before = known.get(successor)
            joined = left if before is None else before.joined(left)
            if joined != before:
                known[successor] = joined
                changed.append(successor)
    return frozenset(found)


def _walk(body: Iterable[Instruction], issued: _Issued, found: set[int]) -> _Issued:
    pending, has_waited = issued.pending, issued.has_waited
    for i in body:
        if i.op_class is OpClass.BARRIER or (pending and not pending.isdisjoint(i.reads)):
            pending, has_waited = _NOTHING, True
        if i.op_class.is_memory and i.space in _FAR:
            if has_waited:
                found.add(i.index)
            pending, has_waited = pending.union(i.writes), False
    return _Issued(pending, has_waited)
