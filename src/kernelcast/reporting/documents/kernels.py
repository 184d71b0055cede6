"""What `kernels` answers: kernels with what a thread and a block of them hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from kernelcast.analysis.spills import least_spills
from kernelcast.execution.arguments import signature
from kernelcast.ir import Kernel, Parameter
from kernelcast.isas.assembly import is_machine_code
from kernelcast.reporting.documents.base import Natural, json_pieces


class ParameterPart(Struct, frozen=True):
    """A kernel's parameter; `pointee` is the type it points to where somebody says it."""

    name: str
    type: str
    size_bytes: Natural
    is_pointer: bool
    pointee: str | None


class LeastSpillsPart(Struct, frozen=True):
    """Stores and reloads in the code by furthest next use, with the assembler's registers."""

    registers: Natural
    stores: Natural
    reloads: Natural


class KernelPart(Struct, frozen=True):
    """A kernel; what nobody has said is null. `least_spills` is there where registers were
    spilled."""

    name: str
    symbol: str
    isa: str
    target: str
    instructions: Natural
    registers: Natural | None
    static_shared_bytes: Natural
    local_bytes: Natural
    constant_bytes: Natural
    spilled_bytes: Natural
    least_spills: LeastSpillsPart | None
    max_threads_per_block: Natural | None
    resources_source: str
    parameters: list[ParameterPart]
    warnings: list[str]
    signature: str


class KernelsDocument(Struct, frozen=True):
    """All that `kernels --json` prints; `is_library` where the code for several architectures may
    be there, as in programs and libraries. `templates` are kernels that nothing instantiates."""

    schema: Literal["kernelcast/kernels/1"]
    kernels: list[KernelPart]
    is_library: bool
    templates: list[str]


def kernels_document(
    kernels: Iterable[Kernel], *, is_library: bool = False, templates: Sequence[str] = ()
) -> KernelsDocument:
    """The document of the kernels of a file."""
    parts = list(_kernels(kernels))
    return KernelsDocument("kernelcast/kernels/1", parts, is_library, list(templates))


def library_json(kernels: Iterable[Kernel]) -> Iterator[bytes]:
    """The JSON text of the kernels of a library, which take much memory all together."""
    return json_pieces(kernels_document((), is_library=True), "kernels", _kernels(kernels))


def _kernels(kernels: Iterable[Kernel]) -> Iterator[KernelPart]:
    # Of a library's kernels, several architectures' have equal texts, which are long.
    texts: dict[str, str] = {}
    return (_kernel(kernel, texts) for kernel in kernels)


def _kernel(kernel: Kernel, texts: dict[str, str]) -> KernelPart:
    held = kernel.resources
    described = signature(kernel)
    return KernelPart(
        name=kernel.shown,
        symbol=kernel.name,
        isa=kernel.isa,
        target=kernel.target,
        instructions=len(kernel.instructions),
        registers=held.registers,
        static_shared_bytes=held.static_shared_bytes,
        local_bytes=held.local_bytes,
        constant_bytes=held.constant_bytes,
        spilled_bytes=held.spilled_bytes,
        least_spills=_least_spills(kernel),
        max_threads_per_block=held.max_threads_per_block,
        resources_source=texts.setdefault(held.source, held.source),
        parameters=list(map(_parameter, kernel.parameters)),
        warnings=list(kernel.warnings),
        signature=texts.setdefault(described, described),
    )


def _least_spills(kernel: Kernel) -> LeastSpillsPart | None:
    registers = kernel.resources.registers
    # Machine code has its registers already; what PTX names are values.
    if is_machine_code(kernel) or registers is None or not kernel.resources.spilled_bytes:
        return None
    found = least_spills(kernel, registers)
    return LeastSpillsPart(found.registers, found.stores, found.reloads)


def _parameter(p: Parameter) -> ParameterPart:
    return _part(p.shown, p.type, p.size_bytes, p.is_pointer, p.pointee or None)


# A library's kernels have few different ones.
_part = lru_cache(1 << 12)(ParameterPart)
