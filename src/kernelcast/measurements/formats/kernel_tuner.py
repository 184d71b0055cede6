"""A cache of Kernel Tuner: JSON with the tuned parameters, and under `cache` an entry for each try.

The tuner closes the file when it ends: one that was stopped lacks the last braces.
"""

from __future__ import annotations

import contextlib
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernelcast.measurements.observation import Measurements, Observation, ParameterValue
from kernelcast.measurements.rows import OTHER_UNIT, usable_rows

_MS, _MHZ = 1e-3, 1e6


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return '"tune_params_keys"' in head and '"agg"' not in head


def read(text: str) -> Measurements:
    """The configurations with a time; the tuner writes the name of an error in its place.

    A parameter that an entry does not repeat stands in its key, in the order of the names.
    """
    document, is_cut = _document(text)
    names = document["tune_params_keys"]
    entries = document["cache"]
    good = {key: entry for key, entry in entries.items() if _has_time(entry)}
    kernel = document["kernel_name"]
    done = [work for entry in good.values() if (work := _operations(entry))]
    operations = statistics.median(done) if done else None

    def read_row(row: tuple[str, Mapping[str, Any]]) -> Iterable[Observation]:
        key, entry = row
        _check_units(entry, operations)
        yield _observation(kernel, {**_parameters(names, key), **entry}, names, entry)

    rows = ((f"configuration {row[0]}", row) for row in good.items())
    observations, damaged = usable_rows(rows, read_row)
    cut = ("the file ends within a configuration, which is left out",) if is_cut else ()
    failed = len(entries) - len(good)
    return Measurements(document["device_name"], observations, failed, (*damaged, *cut))


def _operations(entry: Mapping[str, Any]) -> float | None:
    """Giga-operations of a configuration, 1000 times, where it says its rate: all do as many."""
    time, rate = entry.get("time"), entry.get("GFLOP/s")
    if isinstance(time, int | float) and isinstance(rate, int | float):
        return time * rate
    return None


def _check_units(entry: Mapping[str, Any], operations: float | None) -> None:
    """ValueError where the times or the rate of an entry are in another unit than the others'."""
    time, times, work = entry.get("time"), entry.get("times"), _operations(entry)
    if isinstance(time, int | float) and times and _are_apart(time, statistics.median(times)):
        raise ValueError(f"its time, {time}, and its times are in different units")
    if work and operations and _are_apart(work, operations):
        raise ValueError("its time and its GFLOP/s are not in the units of the other rows")


def _are_apart(one: float, other: float) -> bool:
    return max(one, other) > OTHER_UNIT * min(one, other) > 0


def _has_time(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("times")) or isinstance(entry.get("time"), int | float)


def _parameters(names: Sequence[str], key: str) -> dict[str, ParameterValue]:
    """What the key of an entry says: `16,32,float`."""
    values = key.split(",")
    if len(values) != len(names):
        return {}
    return dict(zip(names, map(_value, values), strict=True))


def _value(text: str) -> ParameterValue:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _document(text: str) -> tuple[Mapping[str, Any], bool]:
    """What the file holds, and whether it ends within an entry."""
    whole = text.rstrip()
    # The last entry that is complete ends where the next one would begin.
    for part in (whole, whole.removesuffix(",") + "}}", whole[: whole.rfind("}") + 1] + "}}"):
        with contextlib.suppress(ValueError):
            document = json.loads(part)
            if not isinstance(document, dict):
                raise TypeError("no object")
            return document, not part.startswith(whole.removesuffix(","))
    return json.loads(text), False


def _observation(
    kernel: str, held: Mapping[str, Any], names: Sequence[str], entry: Mapping[str, Any]
) -> Observation:
    """`time` is a mean that holds the first, slow run: the repeats come first."""
    times_ms = entry.get("times") or [entry["time"]]
    return Observation(
        kernel=kernel,
        parameters={name: held[name] for name in names},
        seconds=tuple(float(ms) * _MS for ms in times_ms),
        registers=entry.get("num_regs"),
        clock_hz=entry["core_freq"] * _MHZ if "core_freq" in entry else None,
    )
