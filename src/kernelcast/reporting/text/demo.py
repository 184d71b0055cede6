"""A first look: the comparison of every example kernel."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from kernelcast.reporting.documents.demo import DemoDocument
from kernelcast.reporting.layout import spaced
from kernelcast.reporting.text.predict import render_comparison, verdict


def render(document: DemoDocument, *, brief: bool) -> RenderableType:
    """One comparison below the other; `brief` keeps the answers, with a line between them."""
    return spaced(_comparisons(document, brief))


def _comparisons(document: DemoDocument, brief: bool) -> Iterator[RenderableType]:
    results = (result for one in document.examples for result in one.results)
    for overview in document.overviews:
        own = [next(results) for _ in overview.of_fastest]
        yield verdict(own, overview) if brief else render_comparison(own, overview, [])
