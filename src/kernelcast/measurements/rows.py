"""Rows of a file of measurements, each read alone: one that is damaged is named, the rest used."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from kernelcast.measurements.observation import Measurements, Observation

_FileRow = TypeVar("_FileRow")
_FACTOR = 3.0
"""Times of one launch that are this far apart contradict each other."""
OTHER_UNIT = 300.0
"""From this factor on another unit is likelier than another time: units lie a thousand apart."""


def usable_rows(
    rows: Iterable[tuple[str, _FileRow]], read: Callable[[_FileRow], Iterable[Observation]]
) -> tuple[tuple[Observation, ...], tuple[str, ...]]:
    """What can be read of rows, each with where it stands, and a line for every damaged one.

    Raises the first row's error, a LookupError, TypeError or ValueError, where none can be read.
    """
    found: list[Observation] = []
    damaged: list[str] = []
    first: Exception | None = None
    for place, row in rows:
        try:
            found += read(row)
        except (LookupError, TypeError, ValueError) as error:
            first = first or error
            damaged.append(f"{place} is damaged and left out: {_why(error)}")
    if first and not found:
        raise first
    return tuple(found), tuple(damaged)


def squeezed_rows(text: str, between: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The lines of a table with single blanks, each with where it stands.

    Empty lines, and those that begin as what stands `between` rows, are left out.
    """
    for number, line in enumerate(text.splitlines(), 1):
        squeezed = " ".join(line.split())
        if squeezed and not between.match(squeezed):
            yield f"line {number}", squeezed


def begins_with(head: str, row: re.Pattern[str], between: re.Pattern[str]) -> bool:
    """Whether the first line of a text that is not `between` rows is a row."""
    _, first = next(squeezed_rows(head, between), ("", ""))
    return row.fullmatch(first) is not None


def _why(error: Exception) -> str:
    return f"no {error}" if isinstance(error, LookupError) else str(error)


def checked(found: Measurements) -> Measurements:
    """The measurements without rows whose times cannot be or contradict each other; each is named.

    One launch may stand in a file several times, as its author repeated it.
    """
    damaged: list[str] = list(found.damaged)
    good: list[Observation] = []
    alike: dict[tuple[object, ...], list[Observation]] = {}
    for at, one in enumerate(found.observations, 1):
        if why := _impossible(one.seconds):
            damaged.append(f"row {at} ({one}) is left out: {why}")
            continue
        good.append(one)
        if one.seconds:
            key = one.kernel, one.signature, tuple(one.parameters.items()), one.grid, one.block
            alike.setdefault(key, []).append(one)
    bad = {id(one) for rows in alike.values() for one in _contradicting(rows, damaged)}
    return replace(
        found,
        observations=tuple(one for one in good if id(one) not in bad),
        damaged=tuple(damaged),
    )


def _impossible(seconds: Sequence[float]) -> str:
    """Why times cannot be; empty where they can."""
    if not all(math.isfinite(time) and time > 0 for time in seconds):
        return "its time is no number above 0"
    return ""


def _contradicting(rows: Sequence[Observation], damaged: list[str]) -> Sequence[Observation]:
    """Rows of one launch whose times are far apart: nobody can say which is right."""
    times = [row.time_s for row in rows]
    if max(times) <= _FACTOR * min(times):
        return ()
    said = ", ".join(f"{time:.3g} s" for time in times[:4])
    units = "; units may be mixed up" if max(times) > OTHER_UNIT * min(times) else ""
    damaged.append(f"rows of {rows[0]} contradict each other and are left out: {said}{units}")
    return rows
