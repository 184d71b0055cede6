"""Runs of a tuned kernel put together: JSON of a Kernel Tuner cache's parameters, and for every
configuration, by its values with commas between, the median, least and longest time."""

from __future__ import annotations

import json
from collections.abc import Iterable

from kernelcast.measurements.observation import Measurements, Observation
from kernelcast.measurements.rows import usable_rows

_AGGREGATE = "median,min,max"
_MS = {"ms": 1e-3}


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return f'"agg": "{_AGGREGATE}' in head


def read(text: str) -> Measurements:
    """Every configuration, its time the median of its runs.

    The longest stands first, as one in which the GPU may have warmed up, so that
    `repeats_ratio` of a configuration is the median over the least.
    """
    document = json.loads(text)
    names = document["tune_params_keys"]
    unit_s = _MS[document["unit"]]

    def read_row(entry: tuple[str, tuple[float, float, float]]) -> Iterable[Observation]:
        values, (median, least, longest) = entry
        yield Observation(
            kernel=document["kernel_name"],
            parameters=dict(zip(names, map(int, values.split(",")), strict=True)),
            seconds=(longest * unit_s, least * unit_s, median * unit_s),
        )

    rows = ((f"configuration {entry[0]}", entry) for entry in document["cache"].items())
    observations, damaged = usable_rows(rows, read_row)
    return Measurements(document["device_name"], observations, damaged=damaged)
