"""What `launches` answers: the launches that a source makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.frontends.source.skeleton import ready_command, workload_text
from kernelcast.frontends.source.source_launches import SourceLaunch
from kernelcast.reporting.documents.base import Positive


class SourceLaunchPart(Struct, frozen=True):
    """A launch in expressions of a workload.

    `open` are names that stand for what the source does not say, with its words in their place;
    `is_known` where the source says the kernel with its template arguments.
    """

    kernel: str
    is_known: bool
    line: Positive
    place: str
    grid: list[str]
    block: list[str]
    smem: str
    args: dict[str, str]
    open: dict[str, str]
    command: str


class LaunchesDocument(Struct, frozen=True):
    """All that `launches --json` prints; `workload` is the text of the workload file."""

    schema: Literal["kernelcast/launches/1"]
    source: str
    launches: list[SourceLaunchPart]
    workload: str


def launches_document(source: str, launches: Sequence[SourceLaunch]) -> LaunchesDocument:
    """The document of the launches of a source."""
    parts = [_launch(source, launch) for launch in launches]
    return LaunchesDocument("kernelcast/launches/1", source, parts, workload_text(source, launches))


def _launch(source: str, launch: SourceLaunch) -> SourceLaunchPart:
    return SourceLaunchPart(
        kernel=launch.kernel,
        is_known=launch.is_known,
        line=launch.line,
        place=launch.place,
        grid=list(launch.grid),
        block=list(launch.block),
        smem=launch.smem,
        args=dict(launch.arguments),
        open=dict(launch.opened),
        command=ready_command(source, launch),
    )
