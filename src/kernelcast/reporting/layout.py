"""How text views are laid out: sections with a heading, plain tables, lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


def spaced(sections: Iterable[RenderableType | None]) -> Group:
    """Sections with an empty line between them; None stands for one that has nothing to say."""
    parts: list[RenderableType] = []
    for section in sections:
        if section is not None:
            parts += [Text(), section] if parts else [section]
    return Group(*parts)


def section(title: str, body: RenderableType) -> Group:
    """A heading with its body indented below."""
    return Group(Text(title, style="bold"), indented(body))


def indented(body: RenderableType) -> Padding:
    """A body two columns to the right."""
    return Padding(body, (0, 0, 0, 2))


def columns(*names: str, left: Collection[str] = ()) -> Table:
    """A table without lines: figures to the right, words, named by `left`, to the left.

    Where there is too little room, words go over several lines, but figures are never cut.
    """
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in names:
        is_words = name in left
        table.add_column(name, justify="left" if is_words else "right", no_wrap=not is_words)
    return table


def facts() -> Table:
    """A table of two columns without a head: a name, and what is said of it."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    return table


def bullets(texts: Iterable[str]) -> Table:
    """A list, one point below the other."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for text in texts:
        table.add_row("-", Text(text))
    return table
