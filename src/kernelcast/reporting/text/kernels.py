"""Kernels with what a thread and a block of them hold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.kernels import KernelPart, KernelsDocument
from kernelcast.reporting.figures import grouped
from kernelcast.reporting.layout import indented


def render(document: KernelsDocument, *, brief: bool) -> RenderableType:
    """A kernel's signature in one line, its resources below; of a library, a line for each."""
    if document.is_library:
        return _library(document.kernels)
    return Group(_kernels(document.kernels), *map(_template, document.templates))


def _template(name: str) -> RenderableType:
    """A template without arguments, and how to give some."""
    text = Text(f"template {name}\n", style="bold")
    text.append(
        f"  nothing instantiates it: name its arguments, --kernel '{name}'", style="not bold"
    )
    return text


def _kernels(kernels: Sequence[KernelPart]) -> RenderableType:
    parts: list[RenderableType] = []
    for kernel in kernels:
        parts += [Text(kernel.signature, style="bold")]
        lines = [_resources(kernel), _code(kernel), *(f"warning: {w}" for w in kernel.warnings)]
        parts += [indented(Text(line)) for line in lines]
    return Group(*parts)


def _library(kernels: Sequence[KernelPart]) -> str:
    """Kernels by name with the registers, shared and local memory of each architecture's code.

    A line for each, however long its name: libraries hold hundreds of thousands.
    """
    lines = [_row("architecture", "registers", "shared B", "local B", "kernel")]
    for kernel in sorted(kernels, key=lambda k: (k.name, k.symbol, len(k.target), k.target)):
        registers = "" if kernel.registers is None else str(kernel.registers)
        shared, local = grouped(kernel.static_shared_bytes), grouped(kernel.local_bytes)
        lines.append(_row(kernel.target, registers, shared, local, kernel.name))
    return "\n".join(lines)


def _row(target: str, registers: str, shared: str, local: str, name: str) -> str:
    return f"{target:<12}  {registers:>9}  {shared:>8}  {local:>7}  {name}"


def _resources(kernel: KernelPart) -> str:
    registers = "unknown" if kernel.registers is None else str(kernel.registers)
    parts = [f"{registers} registers per thread"]
    for value, words in (
        (kernel.static_shared_bytes, "B of shared memory per block"),
        (kernel.local_bytes, "B of local memory per thread"),
        (kernel.spilled_bytes, "B of registers spilled"),
    ):
        if value:
            parts.append(f"{grouped(value)} {words}")
    if (least := kernel.least_spills) is not None:
        parts.append(
            f"by furthest next use within blocks {grouped(least.stores)} stores and "
            f"{grouped(least.reloads)} reloads would do"
        )
    if kernel.max_threads_per_block is not None:
        parts.append(f"at most {kernel.max_threads_per_block} threads per block")
    return ", ".join(parts) + (f" ({kernel.resources_source})" if kernel.resources_source else "")


def _code(kernel: KernelPart) -> str:
    if not kernel.instructions:
        return f"{kernel.isa.upper()} for {kernel.target}"
    return f"{kernel.instructions} {kernel.isa.upper()} instructions for {kernel.target}"
