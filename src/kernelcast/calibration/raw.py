"""The raw file of a measured GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelcast.calibration.measure import SCHEMA, SUITE
from kernelcast.errors import InputError, ParseError

_DEVICE_NUMBERS = ("major", "minor", "sm_count", "clock_khz", "memory_bytes", "l2_bytes")


@dataclass(frozen=True)
class Raw:
    """What the runner wrote: the device's properties, and the benchmarks' entries by name."""

    device: Mapping[str, Any]
    suite: str
    date: str
    benchmarks: Mapping[str, Mapping[str, Any]]


def read_raw(path: str) -> Raw:
    """Read a raw file; InputError or ParseError where it is none."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            error.strerror or "cannot be read", where=path, hint="give a file by kernelcast measure"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not JSON: {error}", where=path, hint="measure again") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(
            f"no raw file of schema {SCHEMA}", where=path, hint="give a file by kernelcast measure"
        )
    if document.get("suite") != SUITE:
        raise InputError(
            f"made by suite {document.get('suite')!r}, this version reads {SUITE!r}",
            where=path,
            hint="measure again with this version",
        )
    device, benchmarks = document.get("device"), document.get("benchmarks")
    if not isinstance(device, dict) or not isinstance(device.get("name"), str):
        raise InputError("no device", where=path, hint="measure again")
    for key in _DEVICE_NUMBERS:
        if not isinstance(device.get(key), int) or device[key] < 0:
            raise InputError(f"device has no {key}", where=path, hint="measure again")
    if not isinstance(benchmarks, dict) or not all(
        isinstance(e, dict) for e in benchmarks.values()
    ):
        raise InputError("no benchmarks", where=path, hint="measure again")
    return Raw(device, SUITE, str(document.get("date", "")), benchmarks)
