"""Versions of a kernel side by side, each from its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.figures import digits, percent, seconds
from kernelcast.reporting.json import document_dict
from kernelcast.reporting.layout import columns, indented
from kernelcast.reporting.titles import launch_title
from kernelcast.reporting.totals import totals

Versions = Mapping[str, Sequence[Prediction]]
"""Predictions by file, of the same GPU and models."""


def render_versions(versions: Versions, *, brief: bool = False) -> RenderableType:
    """Which version is fastest, and their launches; `brief` keeps the first line only."""
    return _verdict(versions) if brief else Group(_verdict(versions), Text(), _table(versions))


def versions_dict(versions: Versions) -> dict[str, Any]:
    """The documents of `predict --json`, one per file."""
    return {
        "schema": "kernelcast/compare/1",
        "versions": [{"file": file, **document_dict(p)} for file, p in versions.items()],
    }


def _verdict(versions: Versions) -> Text:
    times = {file: _time(predictions) for file, predictions in versions.items()}
    fastest, *others = sorted(times, key=times.__getitem__)
    first = versions[fastest][0]
    lead = f"{digits(times[others[-1]] / times[fastest])} times as fast as {Path(others[-1]).name}"
    return Text.assemble(
        (Path(fastest).name, "bold"),
        f" is fastest on {first.case.machine.name}: {seconds(times[fastest])}, {lead}, "
        f"by {first.model}",
    )


def _time(predictions: Sequence[Prediction]) -> float:
    """Seconds of all launches by the first model."""
    return next(iter(totals(predictions).values()))


def _table(versions: Versions) -> RenderableType:
    words = ("file", "launch", "model", "bound by", "occupancy")
    table = columns(*words[:3], "time", *words[3:], left=words)
    for file, predictions in versions.items():
        for p in predictions:
            held = p.case.occupancy
            repeat = p.case.launch.repeat
            table.add_row(
                Text(Path(file).name),
                Text(launch_title(p.case) + (f" x {repeat}" if repeat > 1 else "")),
                Text(p.model),
                seconds(p.time_s),
                str(p.bottleneck),
                f"{held.warps_per_sm} warps ({percent(held.relative)})",
            )
    return indented(table)
