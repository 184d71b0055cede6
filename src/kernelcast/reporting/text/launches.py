"""Launches of a source as a workload file."""

from __future__ import annotations

from kernelcast.reporting.documents.launches import LaunchesDocument


def render(document: LaunchesDocument, *, brief: bool) -> str:
    """The text of the workload file."""
    return document.workload.removesuffix("\n")
