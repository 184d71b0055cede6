"""Text views as markup: headings, lists and tables in place of columns of characters."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


def view_markup(view: RenderableType) -> str:
    """What a text view says, as the inside of a page; its text is escaped."""
    return "\n".join(_markup(view))


def _markup(view: Any) -> Iterator[str]:
    match view:
        case Group():
            yield from _group(list(view.renderables))
        case Padding():
            yield from _markup(view.renderable)
        case Table():
            yield from _table(view)
        case Text() | str():
            if text := str(view).strip():
                yield f"<p>{html.escape(text)}</p>" if "\n" not in text else _preformatted(text)
        case _:
            raise TypeError(f"{type(view).__name__} has no markup")


def _group(parts: list[RenderableType]) -> Iterator[str]:
    """A bold line above something indented is a heading."""
    for at, part in enumerate(parts):
        is_title = isinstance(part, Text) and part.style == "bold" and "\n" not in str(part)
        if is_title and at + 1 < len(parts) and isinstance(parts[at + 1], Padding):
            yield f"<h2>{html.escape(str(part))}</h2>"
        else:
            yield from _markup(part)


def _preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def _table(table: Table) -> Iterator[str]:
    rows = list(zip(*(list(column.cells) for column in table.columns), strict=True))
    if table.show_header:
        yield '<div class="scroll" tabindex="0"><table>'
        yield f"<thead>{_row(map(_heading, table.columns))}</thead><tbody>"
        for row in rows:
            cells = zip(table.columns, row, strict=True)
            yield _row(_cell(cell, c.justify == "right") for c, cell in cells)
        yield "</tbody></table></div>"
    elif len(table.columns) == 2 and all(str(row[0]) == "-" for row in rows):
        items = (f"<li>{html.escape(_plain(row[1]))}</li>" for row in rows)
        yield f"<ul>{''.join(items)}</ul>"
    else:
        yield '<div class="scroll" tabindex="0"><table class="facts"><tbody>'
        for row in rows:
            name = f'<th scope="row">{html.escape(_plain(row[0]))}</th>'
            yield _row([name, *(_cell(cell, False) for cell in row[1:])])
        yield "</tbody></table></div>"


def _heading(column: Any) -> str:
    name = html.escape(_plain(column.header).strip())
    kind = ' class="n"' if column.justify == "right" else ""
    # A heading without words would be no heading to who listens.
    return f'<th scope="col"{kind}>{name}</th>' if name else f"<td{kind}></td>"


def _cell(cell: RenderableType, is_figure: bool) -> str:
    kind = ' class="n"' if is_figure else ""
    return f"<td{kind}>{html.escape(_plain(cell))}</td>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _plain(cell: Any) -> str:
    return str(cell) if isinstance(cell, str | Text) else ""
