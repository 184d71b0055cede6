"""The source lines that cost most."""

from __future__ import annotations

import linecache
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from kernelcast.ir import Location
from kernelcast.models.terms.base import Bottleneck, Prediction
from kernelcast.profiling.profile import LineProfile, Profile
from kernelcast.reporting.figures import digits, percent
from kernelcast.reporting.layout import columns, section
from kernelcast.reporting.plain_words import MEMORY_BOUND


def render_lines(prediction: Prediction, most: int) -> RenderableType | None:
    """The lines that ask most of what binds: memory sectors, shared passes or instructions."""
    profile = prediction.case.profile
    ranked = ranked_lines(profile, prediction.bottleneck)
    if not ranked:
        return None
    instructions = profile.total.warp
    sectors = sum(line.sectors for line in profile.lines)
    table = columns(
        "line", "instructions", "sectors", "per request", "bank conflicts", left=["line"]
    )
    table.add_column("source")
    for line in ranked[:most]:
        place = line.location
        table.add_row(
            Text(f"{Path(place.file).name}:{place.line}"),
            percent(line.instructions.warp / instructions) if instructions else "",
            percent(line.sectors / sectors) if line.sectors else "",
            digits(line.sectors / line.requests) if line.sectors and line.requests else "",
            _conflicts(line),
            Text(source_text(place), no_wrap=True, overflow="ellipsis"),
        )
    return section("Source lines that cost most", table)


def ranked_lines(profile: Profile, bottleneck: Bottleneck) -> list[LineProfile]:
    """Lines in falling order of their share in what binds; instructions break ties."""

    def cost(line: LineProfile) -> tuple[float, float]:
        if bottleneck is Bottleneck.SHARED_BANDWIDTH:
            return line.shared_passes, line.instructions.warp
        if bottleneck in MEMORY_BOUND:
            return line.sectors, line.instructions.warp
        return line.instructions.warp, line.sectors

    return sorted(profile.lines, key=cost, reverse=True)


def source_text(place: Location) -> str:
    """The line itself where its file can be read, else nothing."""
    return linecache.getline(place.file, place.line).strip()


def _conflicts(line: LineProfile) -> str:
    if not line.shared_ideal_passes:
        return ""
    ratio = line.shared_passes / line.shared_ideal_passes
    return "none" if ratio < 1.005 else f"{digits(ratio)}-fold"
