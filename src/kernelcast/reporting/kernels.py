"""Kernels with what a thread and a block of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.execution.arguments import signature
from kernelcast.ir import Kernel
from kernelcast.reporting.figures import grouped
from kernelcast.reporting.layout import indented


def render_kernels(kernels: Sequence[Kernel]) -> RenderableType:
    """A kernel's signature in one line, its resources below."""
    parts: list[RenderableType] = []
    for kernel in kernels:
        parts += [Text(signature(kernel), style="bold")]
        lines = [_resources(kernel), _code(kernel), *(f"warning: {w}" for w in kernel.warnings)]
        parts += [indented(Text(line)) for line in lines]
    return Group(*parts)


def kernels_dict(kernels: Sequence[Kernel]) -> dict[str, Any]:
    """The kernels as plain dictionaries; what nobody has said is null."""
    return {
        "schema": "kernelcast/kernels/1",
        "kernels": [
            {
                "name": kernel.label or kernel.name,
                "symbol": kernel.name,
                "isa": kernel.isa,
                "target": kernel.target,
                "instructions": len(kernel.instructions),
                "registers": kernel.resources.registers,
                "static_shared_bytes": kernel.resources.static_shared_bytes,
                "local_bytes": kernel.resources.local_bytes,
                "constant_bytes": kernel.resources.constant_bytes,
                "spilled_bytes": kernel.resources.spilled_bytes,
                "max_threads_per_block": kernel.resources.max_threads_per_block,
                "resources_source": kernel.resources.source,
                "parameters": [
                    {
                        "name": p.label or p.name,
                        "type": p.type,
                        "size_bytes": p.size_bytes,
                        "is_pointer": p.is_pointer,
                        "pointee": p.pointee or None,
                    }
                    for p in kernel.parameters
                ],
                "warnings": list(kernel.warnings),
            }
            for kernel in kernels
        ],
    }


def _resources(kernel: Kernel) -> str:
    held = kernel.resources
    registers = "unknown" if held.registers is None else str(held.registers)
    parts = [f"{registers} registers per thread"]
    for value, words in (
        (held.static_shared_bytes, "B of shared memory per block"),
        (held.local_bytes, "B of local memory per thread"),
        (held.spilled_bytes, "B of registers spilled"),
    ):
        if value:
            parts.append(f"{grouped(value)} {words}")
    if held.max_threads_per_block is not None:
        parts.append(f"at most {held.max_threads_per_block} threads per block")
    return ", ".join(parts) + (f" ({held.source})" if held.source else "")


def _code(kernel: Kernel) -> str:
    if not kernel.instructions:
        return f"{kernel.isa.upper()} for {kernel.target}"
    return f"{len(kernel.instructions)} {kernel.isa.upper()} instructions for {kernel.target}"
