"""Text views of documents. They lay out and put into words; what they say is in the document.

The view of a document is `render` in the module of the same name as the document's.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from msgspec import Struct
from rich.console import RenderableType


def view(document: Struct, *, brief: bool = False) -> RenderableType:
    """A document as text, a string or a view; `brief` keeps the answer alone."""
    name = type(document).__module__.rpartition(".")[2]
    module: Any = import_module(f"{__name__}.{name}")
    rendered: RenderableType = module.render(document, brief=brief)
    return rendered
