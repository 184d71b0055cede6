"""Occupancy in words: how much, what limits it, and how far each resource may move."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.documents.occupancy import (
    OccupancyDocument,
    OccupancyResult,
    SlackPart,
)
from kernelcast.reporting.figures import grouped, percent


def render(document: OccupancyDocument, *, brief: bool) -> RenderableType:
    """One sentence per machine; unless `brief`, limits and slacks under each."""
    parts: list[RenderableType] = []
    for result in document.results:
        parts.append(_sentence(result))
        if not brief:
            parts.append(Padding(_details(result), (0, 0, 0, 2)))
    return Group(*parts)


def _sentence(o: OccupancyResult) -> Text:
    blocks = "1 block" if o.blocks_per_sm == 1 else f"{o.blocks_per_sm} blocks"
    return Text.assemble(
        (o.machine, "bold"),
        f": {blocks} of {o.threads_per_block} threads per SM, "
        f"{o.warps_per_sm} of {o.limit_warps} warps ({percent(o.relative)}), "
        f"limited by {' and '.join(o.co_limiters)}",
    )


def _details(o: OccupancyResult) -> RenderableType:
    lines: list[RenderableType] = []
    if o.waves is not None and o.tail_blocks is not None and o.tail_share is not None:
        lines.append(
            Text(
                f"{o.waves:.2f} waves; the last has {grouped(o.tail_blocks)} blocks "
                f"({percent(o.tail_share)} of a full one)"
            )
        )
    limits = ", ".join(f"{name} {limit}" for name, limit in o.limits.items())
    lines.append(Text(f"blocks per SM that each resource allows: {limits}"))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("resource")
    for name in ("now", "one more block at", "no block lost up to"):
        table.add_column(name, justify="right")
    for slack in o.slacks:
        table.add_row(slack.resource, *_moves(slack))
    lines.append(table)
    lines.extend(Text(f"assumed: {note}") for note in o.assumptions)
    return Group(*lines)


def _moves(slack: SlackPart) -> tuple[str, str, str]:
    more = "never" if slack.for_one_more is None else grouped(slack.for_one_more)
    return grouped(slack.current), more, grouped(slack.until_one_less)
