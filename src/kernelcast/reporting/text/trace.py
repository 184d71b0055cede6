"""A trace in a few lines."""

from __future__ import annotations

from kernelcast.reporting.documents.trace import TraceDocument
from kernelcast.reporting.figures import digits, grouped, percent, size


def render(document: TraceDocument, *, brief: bool) -> str:
    """The kernel and its traced blocks, instructions by class, and the file that was written."""
    lines = [
        f"{document.kernel} ({document.isa}, {document.target}): "
        f"{grouped(document.traced_blocks)} of {grouped(document.blocks)} blocks "
        f"of {document.launch.threads} threads"
    ]
    if not brief:
        lines.append(
            f"{grouped(document.warp_instructions)} warp instructions, "
            f"{percent(document.simt_efficiency)} of lanes active"
        )
        by_count = sorted(document.counts.items(), key=lambda item: -item[1])
        lines += [f"  {grouped(count):>15}  {op_class}" for op_class, count in by_count]
        lines += [f"warning: {warning}" for warning in document.warnings]
    if document.out and document.bytes is not None:
        each = document.bytes_per_instruction
        words = f", {digits(each)} bytes per warp instruction" if each is not None else ""
        lines.append(f"{document.out}: {size(document.bytes)}{words}")
    return "\n".join(lines)
