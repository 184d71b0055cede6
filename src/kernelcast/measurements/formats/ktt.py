"""The output of the Kernel Tuning Toolkit (KTT 2): JSON with `Metadata` and `Results`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kernelcast.measurements.observation import Extent, Measurements, Observation
from kernelcast.measurements.rows import usable_rows

_SECONDS = {"Nanoseconds": 1e-9, "Microseconds": 1e-6, "Milliseconds": 1e-3, "Seconds": 1.0}


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return '"KttVersion"' in head


def read(text: str) -> Measurements:
    """The configurations that ran; those that did not are counted as failed."""
    document = json.loads(text)
    unit_s = _SECONDS[document["Metadata"]["TimeUnit"]]
    results = document["Results"]
    good = [
        (f"result {n}", result) for n, result in enumerate(results, 1) if result["Status"] == "Ok"
    ]
    observations, damaged = usable_rows(good, lambda result: [_observation(result, unit_s)])
    failed = len(results) - len(good)
    return Measurements(document["Metadata"]["Device"], observations, failed, damaged)


def _observation(result: Mapping[str, Any], unit_s: float) -> Observation:
    """A result is of one kernel function: its time is that one's, without the tuner's overhead."""
    (computation,) = result["ComputationResults"]
    counters = computation.get("ProfilingData", {}).get("Counters", [])
    return Observation(
        kernel=result["KernelName"],
        parameters={p["Name"]: p["Value"] for p in result["Configuration"]},
        seconds=(computation["Duration"] * unit_s,),
        grid=_extent(computation["GlobalSize"]),
        block=_extent(computation["LocalSize"]),
        registers=computation["CompilationData"]["RegistersCount"],
        counters={c["Name"]: float(c["Value"]) for c in counters},
    )


def _extent(size: Mapping[str, int]) -> Extent:
    return size["X"], size["Y"], size["Z"]
