"""A cache of Kernel Tuner: JSON with the tuned parameters, and under `cache` an entry for each try.

The tuner closes the file when it ends: one that was stopped lacks the last braces.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kernelcast.measurements.observation import Measurements, Observation, ParameterValue

_MS = 1e-3


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return '"tune_params_keys"' in head and '"agg"' not in head


def read(text: str) -> Measurements:
    """The configurations with a time; the tuner writes the name of an error in its place.

    A parameter that an entry does not repeat stands in its key, in the order of the names.
    """
    document = _document(text)
    names = document["tune_params_keys"]
    entries = document["cache"]
    good = {key: entry for key, entry in entries.items() if _has_time(entry)}
    kernel = document["kernel_name"]
    observations = tuple(
        _observation(kernel, {**_parameters(names, key), **entry}, names, entry)
        for key, entry in good.items()
    )
    return Measurements(document["device_name"], observations, len(entries) - len(good))


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


def _document(text: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        document = json.loads(text.rstrip().removesuffix(",") + "}}")
    if not isinstance(document, dict):
        raise TypeError("no object")
    return document


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
    )
