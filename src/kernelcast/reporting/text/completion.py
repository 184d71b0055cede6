"""The script alone, so that a shell can read it."""

from __future__ import annotations

from kernelcast.reporting.documents.completion import CompletionDocument


def render(document: CompletionDocument, *, brief: bool) -> str:
    """The script as it is."""
    return document.script
