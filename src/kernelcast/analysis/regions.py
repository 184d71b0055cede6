"""Which arrays code reads and writes, and how large they are: what a program must copy.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 6.1: an array whose size is not known is left out, and named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernelcast.analysis.arrays import arrays_of_accesses
from kernelcast.analysis.coalescing import StaticAccess
from kernelcast.analysis.warp_values import array_labels
from kernelcast.ir import Kernel, Launch, OpClass, Space, arrays_in


@dataclass(frozen=True, slots=True)
class ArrayRegions:
    """Bytes of the arrays that code may read and write, by label.

    `left_out` are arrays of unknown size, and `anywhere` says that some access may lead into any
    array.
    """

    read: Mapping[str, int]
    written: Mapping[str, int]
    left_out: tuple[str, ...]
    anywhere: bool


def array_regions(kernel: Kernel, launch: Launch, accesses: Iterable[StaticAccess]) -> ArrayRegions:
    """The arrays that the accesses of a kernel may lead into, with the sizes of a launch.

    `accesses` are what `static_accesses` tells of both.
    """
    sizes = {
        label: array.size_bytes
        for name, value in launch.args.items()
        for label, array in arrays_in(name, value)
    }
    labels = array_labels(launch)
    pointers = {
        p.offset_bytes: labels.get(at, p.shown)
        for at, p in enumerate(kernel.parameters)
        if p.is_pointer
    }
    known = dict(arrays_of_accesses(kernel, pointers))
    for access in accesses:
        # Of pointers in halves, and behind calls, the address may still be known.
        if access.array:
            known.setdefault(access.instruction, frozenset({access.array}))
    read: dict[str, int] = {}
    written: dict[str, int] = {}
    unknown: dict[str, None] = {}
    anywhere = False
    for instruction in kernel.instructions:
        if not instruction.op_class.is_memory or instruction.space is not Space.GLOBAL:
            continue
        arrays = known.get(instruction.index)
        anywhere |= arrays is None
        for label in sorted(arrays or ()):
            if label not in sizes:
                unknown[label] = None
                continue
            if instruction.op_class is not OpClass.STORE:
                read[label] = sizes[label]
            if instruction.op_class is not OpClass.LOAD:
                written[label] = sizes[label]
    return ArrayRegions(read, written, tuple(unknown), anywhere)
