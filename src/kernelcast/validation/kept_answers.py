"""Answers that take minutes, kept in a folder, so that what was interrupted goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kernelcast.files import write_into
from kernelcast.version import VERSION

_LongAnswer = TypeVar("_LongAnswer")


def kept_answer(
    folder: Path | None, asked: Any, kind: type[_LongAnswer], make: Callable[[], _LongAnswer]
) -> _LongAnswer:
    """The answer that the folder has for what is asked, else the one that `make` makes, which is
    kept from now on; without a folder nothing is kept.

    `asked` is all that the answer depends on, beside this version. A damaged answer is made anew.
    InputError where an answer cannot be written.
    """
    if folder is None:
        return make()
    asked_of_version = msgspec.json.encode([VERSION, asked])
    name = f"{hashlib.sha256(asked_of_version).hexdigest()[:16]}.json"
    try:
        return msgspec.json.decode((folder / name).read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        found = make()
    write_into(folder, {name: msgspec.json.encode(found)})
    return found
