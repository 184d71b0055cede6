"""A file of measurements, recognised by its content."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

from kernelcast.errors import InputError, ParseError
from kernelcast.files import read_unpacked
from kernelcast.measurements import formats
from kernelcast.measurements.observation import Measurements
from kernelcast.measurements.rows import checked

_HEAD = 4096


class _Format(Protocol):
    """A module of `formats`."""

    def recognises(self, head: str) -> bool:
        """Whether a file that begins so is of this format."""

    def read(self, text: str) -> Measurements:
        """The measurements of a file; LookupError, TypeError or ValueError where it is damaged."""


def read_measurements(path: str | Path) -> Measurements:
    """Read a file, which may be compressed by gzip.

    InputError where it cannot be read or is of no known format, ParseError where it is damaged.
    """
    text = _text(Path(path))
    known = _formats()
    for name, module in known.items():
        if not module.recognises(text[:_HEAD]):
            continue
        try:
            found = module.read(text)
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            what = f"damaged {name} file: {type(error).__name__} {error}"
            raise ParseError(what, where=str(path), hint="fetch it again") from None
        found = checked(found)
        if found.damaged and not found.observations:
            raise ParseError(found.damaged[0], where=str(path), hint="fetch it again")
        if not found.observations:
            raise InputError("holds no times", where=str(path))
        return found
    names = ", ".join(name.replace("_", " ") for name in known)
    raise InputError("no file of measurements", where=str(path), hint=f"known formats: {names}")


def _text(path: Path) -> str:
    try:
        return read_unpacked(path).decode("utf-8-sig", "replace")
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"cannot be read: {why}", where=str(path)) from None


def _formats() -> dict[str, _Format]:
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return {
        name: cast(_Format, importlib.import_module(f"{formats.__name__}.{name}")) for name in names
    }
