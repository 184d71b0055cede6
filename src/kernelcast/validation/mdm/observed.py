"""What the models are held to: an IPC for an application on a machine, where one is known.

Any function of an application's name and the machine's settings is an observed side, such as a
timing simulation. A file of IPCs is another:

    application,ipc,noc.bandwidth,sm.count
    CFD,11.3,,
    CFD,9.8,350e9,

A row holds the IPC of the whole chip in warp instructions per cycle, and the numbers that replace
those of Table III; an empty cell leaves one as it is.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from kernelcast.errors import InputError, NotFoundError
from kernelcast.machines.schema import ENTRIES
from kernelcast.validation.mdm.applications import APPLICATIONS
from kernelcast.validation.mdm.points import Settings

ObservedIpc = Callable[[str, Settings], float | None]
"""The IPC of an application on Table III with these settings; None where nothing was observed."""

_NAME, _IPC = "application", "ipc"


def read_observed(path: str) -> ObservedIpc:
    """The IPCs of a file.

    InputError where it cannot be read, holds none, or holds one that is no positive number;
    NotFoundError for an application or a machine number that there is not.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
            known = _ipcs(rows, path)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", where=path) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"no table of IPCs: {error}", where=path) from None
    return observed_ipc(known)


def observed_ipc(known: Mapping[tuple[str, Settings], float]) -> ObservedIpc:
    """Those that are known, by application and settings."""
    return lambda application, settings: known.get((application, settings))


def _ipcs(rows: Iterable[Mapping[str, str]], path: str) -> dict[tuple[str, Settings], float]:
    found: dict[tuple[str, Settings], float] = {}
    names = [application.name for application in APPLICATIONS]
    for line, row in enumerate(rows, 2):
        where = f"{path}:{line}"
        if _NAME not in row or _IPC not in row or None in row:
            raise InputError(
                "not a row of IPCs", where=where, hint=f"begin the file with {_NAME},{_IPC}"
            )
        if row[_NAME] not in names:
            raise NotFoundError("application", row[_NAME], names, where=where)
        key = row[_NAME], _settings(row, where)
        if key in found:
            raise InputError("the same application and machine as above", where=where)
        found[key] = _positive(row[_IPC], _IPC, where)
    if not found:
        raise InputError("holds no IPC", where=path, hint=f"write rows of {_NAME},{_IPC}")
    return found


def _settings(row: Mapping[str, str], where: str) -> Settings:
    settings = []
    for path in sorted(row.keys() - {_NAME, _IPC}):
        if path not in ENTRIES:
            raise NotFoundError("machine number", path, ENTRIES, where=where)
        if row[path] and row[path].strip():
            settings.append((path, _positive(row[path], path, where)))
    return tuple(settings)


def _positive(text: str | None, name: str, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(f"{name} is {text!r}, not a positive number", where=where)
    return value
