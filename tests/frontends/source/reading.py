"""Sources read without files, for tests of what is read of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernelcast.frontends.source.macros import defined_macro
from kernelcast.frontends.source.preprocess import SourceView, source_view


def view_of(text: str, *defines: str, known: Mapping[str, str] | None = None) -> SourceView:
    """The view of a source; `known` are headers that the compiler would find."""
    return source_view(
        text,
        "app.cu",
        find=lambda header, is_quoted, folder: None,
        has_header=lambda header: header in (known or {}),
        macros={macro.name: macro for macro in map(defined_macro, defines)},
    )


def spelled(view: SourceView) -> str:
    return " ".join(word.text for word in view.words)


def folder_view(path: Path) -> SourceView:
    """The view of a file with the files that it includes by quotes."""

    def find(header: str, is_quoted: bool, folder: Path) -> Path | None:
        return folder / header if is_quoted and (folder / header).is_file() else None

    return source_view(
        path.read_text(), str(path), find=find, has_header=lambda header: False, macros={}
    )
