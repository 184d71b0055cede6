"""Files about the kernels with known results: what holds for all of them, whatever was recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kernelcast.errors import InputError, KernelcastError
from kernelcast.ir import Launch
from kernelcast.measuring.raw import entries_of, read_document
from kernelcast.suite.registry import kernels
from kernelcast.suite.table import Scale, argument_text

Record = TypeVar("Record")
Entry = Mapping[str, Any]


class MissingError(KernelcastError):
    """A sample that says nothing of this version's suite."""


@dataclass(frozen=True)
class Samples(Generic[Record]):
    """One record per configuration, and why others are missing: one line each."""

    device: Mapping[str, Any]
    date: str
    records: tuple[Record, ...]
    missing: tuple[str, ...]


def read_samples(
    path: str, schema: str, record_of: Callable[[str, Entry, Entry], Record]
) -> Samples[Record]:
    """Read a file of a schema; InputError or ParseError where it is none.

    `record_of` makes a record of a kernel's name, its entry and one of its samples. It raises
    MissingError for a sample that is to be left out, and what Python raises for a damaged one.
    """
    document, device = read_document(path, schema)
    records: list[Record] = []
    missing: list[str] = []
    for name, entry in entries_of(document, "kernels", path).items():
        samples = entry.get("samples")
        if not isinstance(samples, list) or not samples:
            missing.append(f"{name}: {entry.get('error', 'no samples')}")
            continue
        for sample in samples:
            try:
                records.append(record_of(name, entry, sample))
            except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise InputError(
                    f"samples of {name} are damaged: {type(error).__name__} {error}",
                    where=path,
                    hint="measure again",
                ) from None
            except MissingError as error:
                missing.append(f"{name}, configuration {sample['configuration']}: {error.what}")
    return Samples(device, str(document.get("date", "")), tuple(records), tuple(missing))


def launch_of(name: str, number: int, sample: Entry) -> Launch:
    """The launch of a configuration; MissingError where this version's suite has another."""
    kernel = kernels().get(name)
    launches = kernel.launches(Scale.FULL) if kernel else ()
    if 0 <= number < len(launches):
        recorded = _described(launches[number])
        if recorded == {key: sample[key] for key in recorded}:
            return launches[number]
    raise MissingError("launched otherwise by this version")


def _described(launch: Launch) -> dict[str, Any]:
    """The launch as the runner records it."""
    return {
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "smem_bytes": launch.smem_bytes,
        "args": {label: argument_text(value) for label, value in launch.args.items()},
    }
