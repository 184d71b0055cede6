"""Machines as a list."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.documents.gpus import GpusDocument


def render(document: GpusDocument, *, brief: bool) -> RenderableType:
    """One line per machine."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("name", "GPU", "architecture"):
        table.add_column(name, no_wrap=True)
    for name in ("cc", "SMs", "GHz", "GB/s", "GiB"):
        table.add_column(name, justify="right", no_wrap=True)
    for gpu in document.gpus:
        table.add_row(
            gpu.name,
            Text(gpu.title),
            gpu.architecture,
            gpu.compute_capability,
            _scaled(gpu.sm_count, 1),
            _scaled(gpu.clock_hz, 1e9),
            _scaled(gpu.dram_bandwidth, 1e9),
            _scaled(gpu.dram_bytes, 2**30),
        )
    return table


def _scaled(value: float | None, unit: float) -> str:
    return "" if value is None else f"{value / unit:.4g}"
