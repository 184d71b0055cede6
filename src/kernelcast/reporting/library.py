"""The kernels of a program or library, a line for each and every architecture."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from kernelcast.ir import Kernel
from kernelcast.reporting.figures import grouped
from kernelcast.reporting.layout import columns


def render_library(kernels: Sequence[Kernel]) -> RenderableType:
    """Kernels by name with the registers, shared and local memory of each architecture's code."""
    names = ("architecture", "registers", "shared B", "local B")
    table = columns(*names, "kernel", left=("architecture", "kernel"))
    table.columns[-1].no_wrap = False
    table.columns[-1].overflow = "fold"
    for kernel in sorted(kernels, key=lambda k: (k.label, k.name, len(k.target), k.target)):
        held = kernel.resources
        table.add_row(
            kernel.target,
            "" if held.registers is None else str(held.registers),
            grouped(held.static_shared_bytes),
            grouped(held.local_bytes),
            Text(kernel.label or kernel.name),
        )
    return table
