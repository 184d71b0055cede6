"""A cache of Kernel Tuner: JSON with the tuned parameters, and under `cache` an entry for each try.

The tuner closes the file when it ends: one that was stopped lacks the last braces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kernelcast.measurements.observation import Measurements, Observation

_MS = 1e-3


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return '"tune_params_keys"' in head and '"agg"' not in head


def read(text: str) -> Measurements:
    """The configurations with a time; the tuner writes the name of an error in its place."""
    document = _document(text)
    names = document["tune_params_keys"]
    entries = list(document["cache"].values())
    good = [entry for entry in entries if not isinstance(entry["time"], str)]
    kernel = document["kernel_name"]
    observations = tuple(_observation(kernel, names, entry) for entry in good)
    return Measurements(document["device_name"], observations, len(entries) - len(good))


def _document(text: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        document = json.loads(text.rstrip().removesuffix(",") + "}}")
    if not isinstance(document, dict):
        raise TypeError("no object")
    return document


def _observation(kernel: str, names: Sequence[str], entry: Mapping[str, Any]) -> Observation:
    """`time` is a mean that holds the first, slow run: the repeats come first."""
    times_ms = entry.get("times") or [entry["time"]]
    return Observation(
        kernel=kernel,
        parameters={name: entry[name] for name in names},
        seconds=tuple(float(ms) * _MS for ms in times_ms),
        registers=entry.get("num_regs"),
    )
