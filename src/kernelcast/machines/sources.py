"""Sources that many numbers cite, written once.

In the source of a number, `{key}` stands for the text of that key in the `[sources]` table of its
own file, else in `sources.toml`, which all files share.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from kernelcast.errors import InputError, NotFoundError

_SHARED = Path(__file__).parent / "sources.toml"
_REFERENCE = re.compile(r"\{([^{}]*)\}")


def file_sources(table: object, where: str) -> Mapping[str, str]:
    """The texts that a file may refer to: of its `[sources]` table, and the shared ones.

    Raises InputError where the table holds anything but texts.
    """
    if not isinstance(table, dict):
        raise InputError("sources is not a table", where=where, hint="write [sources]")
    for key, text in table.items():
        if not isinstance(text, str) or not text.strip():
            raise InputError("no text", where=f"{where}: sources.{key}", hint='write key = "..."')
    return {**_shared(), **table}


def full_source(source: str, known: Mapping[str, str], where: str) -> str:
    """The source with every `{key}` replaced; NotFoundError where a key is not known."""
    if "{" not in source:
        return source

    def text(reference: re.Match[str]) -> str:
        if reference[1] not in known:
            raise NotFoundError("source", reference[1], known, where=where)
        return known[reference[1]]

    return _REFERENCE.sub(text, source)


@cache
def _shared() -> dict[str, str]:
    return tomllib.loads(_SHARED.read_text(encoding="utf-8"))
