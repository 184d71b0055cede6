"""Documents as pages: one file that needs no network, no script and no other file.

A document's page is the template of the same name as its module, below `templates`; one without a
template shows its text view, tables as tables. All text is escaped: what a source file says is
never markup, and a page's own policy forbids whatever would be loaded or run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateNotFound
from markupsafe import Markup
from msgspec import Struct

from kernelcast.reporting import figures
from kernelcast.reporting.charts import curve_chart, cusp_chart
from kernelcast.reporting.documents.explain import ExplainDocument
from kernelcast.reporting.html import filters
from kernelcast.reporting.html.clouds import clouds, verdict
from kernelcast.reporting.html.memory_picture import memory_picture
from kernelcast.reporting.html.roofline_picture import roofline_picture
from kernelcast.reporting.html.side_by_side import Listing, listing
from kernelcast.reporting.html.times_picture import errors_chart, times_picture
from kernelcast.reporting.html.words import view_markup
from kernelcast.reporting.svg import STYLE, inline_chart
from kernelcast.reporting.text import view
from kernelcast.version import VERSION

_FOLDER = Path(__file__).parent


def page(document: Struct) -> str:
    """A document as one page of HTML."""
    name = type(document).__module__.rpartition(".")[2]
    environment = _environment()
    try:
        template = environment.get_template(f"{name}.html.j2")
    except TemplateNotFound:
        template = environment.get_template("words.html.j2")
    return template.render(document=document)


def fragment(document: Struct) -> str:
    """A document as a part of somebody else's page, such as a notebook: it styles itself alone."""
    kind = type(document).__module__.rpartition(".")[2]
    return _environment().get_template("notebook.html.j2").render(document=document, kind=kind)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shown: tuple[Callable[..., Any], ...] = (
        figures.digits,
        figures.scaled,
        figures.seconds,
        figures.size,
        figures.grouped,
        figures.percent,
        *filters.FILTERS,
        clouds,
        verdict,
    )
    environment.filters.update({each.__name__: each for each in shown})
    environment.filters.update(_pictures())
    environment.globals.update(
        version=VERSION,
        style=Markup((_FOLDER / "page.css").read_text("utf-8")),
        chart_style=Markup(STYLE),
        profiler_names=filters.PROFILER_NAMES,
        longest=filters.longest,
    )
    return environment


def _pictures() -> Mapping[str, Callable[..., Any]]:
    """Filters that give markup of their own, which escapes what it shows."""
    return {
        "words": lambda document: Markup(view_markup(view(document))),
        "curve_picture": lambda curve: Markup(inline_chart(curve_chart(curve))),
        "cusp_picture": lambda document: Markup(inline_chart(cusp_chart(document))),
        "roofline_picture": lambda part: Markup(roofline_picture(part)),
        "memory_picture": lambda e: Markup(memory_picture(e.result.traffic, e.spaces)),
        "listing": _listing,
        "times_picture": lambda cloud: Markup(times_picture(cloud)),
        "errors_picture": lambda groups: Markup(inline_chart(errors_chart(groups))),
    }


def _listing(document: ExplainDocument, number: int) -> Listing:
    return listing(document, f"r{number}")
