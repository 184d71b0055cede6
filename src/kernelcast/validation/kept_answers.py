"""Answers that take long, kept in a folder by all that they follow from: what was interrupted goes
on, and what has changed is made anew."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kernelcast.files import write_into

_LongAnswer = TypeVar("_LongAnswer")
_NOT_ASKED = {"__pycache__", "cli", "reporting", "adapters"}
"""Folders that no answer follows from."""


@cache
def _own_content() -> str:
    """A hash of this package: its code, its machine files, its kernels."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(f for f in folder.rglob("*") if f.is_file() and not _NOT_ASKED & {*f.parts}):
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def kept_answer(
    folder: Path | None, asked: Any, kind: type[_LongAnswer], make: Callable[[], _LongAnswer]
) -> _LongAnswer:
    """The answer that the folder has for what is asked, else the one that `make` makes, which is
    kept from now on; without a folder nothing is kept.

    `asked` is all that the answer depends on, beside this package. A damaged answer is made anew.
    InputError where an answer cannot be written.
    """
    if folder is None:
        return make()
    content = msgspec.json.encode([_own_content(), asked])
    name = f"{hashlib.sha256(content).hexdigest()[:24]}.json"
    try:
        return msgspec.json.decode((folder / name).read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        found = make()
    write_into(folder, {name: msgspec.json.encode(found)})
    return found
