"""The numbers of a synthetic mix on several GPUs."""

from __future__ import annotations

import math

from rich.console import RenderableType

from kernelcast.reporting.documents.mix import MixDocument
from kernelcast.reporting.figures import digits
from kernelcast.reporting.layout import columns, section


def render(document: MixDocument, *, brief: bool) -> RenderableType:
    """A table with a row per GPU."""
    table = columns(
        "GPU", "slow cycles", "slow/cycle", "add cycles", "adds/cycle", "group cycles",
        "groups/cycle", "warps needed", "fit", left=("GPU",),
    )  # fmt: skip
    for row in document.results:
        numbers = (
            row.slow_latency, row.slow_throughput, row.addition_latency, row.addition_throughput,
            row.group_cycles, row.groups_bound, row.needed_warps,
        )  # fmt: skip
        table.add_row(row.gpu, *map(digits, numbers), f"{row.limit_warps:g}")
    ways = f", {document.ways} ways" if document.ways > 1 else ""
    chains = f", {document.ilp} chains" if document.ilp > 1 else ""
    alpha = math.inf if document.alpha is None else document.alpha
    title = f"{alpha:g} additions per slow instruction ({document.kind}{ways}{chains})"
    return section(f"{title}, per SM", table)
