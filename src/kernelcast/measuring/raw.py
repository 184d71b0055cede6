"""The raw file of a measured GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelcast.errors import InputError, ParseError
from kernelcast.measuring.harness.measure import SCHEMA, SUITE

_DEVICE_NUMBERS = ("major", "minor", "sm_count", "clock_khz", "memory_bytes", "l2_bytes")


@dataclass(frozen=True)
class Raw:
    """The device's properties, and the benchmarks' entries by name, as the runner writes them.

    `origin` names the benchmarks, in the source of every number.
    """

    device: Mapping[str, Any]
    origin: str
    date: str
    benchmarks: Mapping[str, Mapping[str, Any]]


def read_raw(path: str) -> Raw:
    """Read a raw file; InputError or ParseError where it is none."""
    document, device = read_document(path, SCHEMA)
    if document.get("suite") != SUITE:
        raise InputError(
            f"made by suite {document.get('suite')!r}, this version reads {SUITE!r}",
            where=path,
            hint="measure again with this version",
        )
    benchmarks = entries_of(document, "benchmarks", path)
    origin = f"kernelcast microbenchmarks {SUITE}"
    return Raw(device, origin, str(document.get("date", "")), benchmarks)


def read_document(path: str, schema: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What a runner wrote, and the device in it; InputError or ParseError where it is none."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            error.strerror or "cannot be read", where=path, hint="give a file by kernelcast measure"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not JSON: {error}", where=path, hint="measure again") from None
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise InputError(
            f"no raw file of schema {schema}", where=path, hint="give a file by kernelcast measure"
        )
    device = document.get("device")
    if not isinstance(device, dict) or not isinstance(device.get("name"), str):
        raise InputError("no device", where=path, hint="measure again")
    for key in _DEVICE_NUMBERS:
        if not isinstance(device.get(key), int) or device[key] < 0:
            raise InputError(f"device has no {key}", where=path, hint="measure again")
    return document, device


def entries_of(document: Mapping[str, Any], key: str, path: str) -> Mapping[str, Mapping[str, Any]]:
    """The results in a file, by name; InputError where there are none."""
    entries = document.get(key)
    if not isinstance(entries, dict) or not all(isinstance(e, dict) for e in entries.values()):
        raise InputError(f"no {key}", where=path, hint="measure again")
    return entries
