"""Files about the kernels with known results: what holds for all of them, whatever was recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from kernelcast.errors import InputError, KernelcastError
from kernelcast.ir import Launch
from kernelcast.measuring.raw import RawCount, decoded, device_of, read_document
from kernelcast.suite.registry import kernels
from kernelcast.suite.table import Scale, argument_text

GridExtents = tuple[int, int, int]
Record = TypeVar("Record")
Held = TypeVar("Held", bound="KernelEntry[Any]")


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """The launch of a sample: its configuration's number, and how the suite writes it."""

    configuration: RawCount
    kernel: str
    grid: GridExtents
    block: GridExtents
    smem_bytes: int
    args: dict[str, str]


LaunchedSample = TypeVar("LaunchedSample", bound=Launched)


class KernelEntry(msgspec.Struct, Generic[LaunchedSample], frozen=True, kw_only=True):
    """What was recorded of one kernel."""

    status: str = ""
    error: str = "no samples"
    samples: Sequence[LaunchedSample] = ()


class MissingError(KernelcastError):
    """A sample that says nothing of this version's suite."""


@dataclass(frozen=True)
class GroundTruthSamples(Generic[Record]):
    """One record per configuration, and why others are missing: one line each."""

    device: Mapping[str, Any]
    date: str
    records: tuple[Record, ...]
    missing: tuple[str, ...]


def read_samples(
    path: str,
    schema: str,
    entry_type: type[Held],
    record_of: Callable[[str, Held, Any], Record],
) -> GroundTruthSamples[Record]:
    """Read a file of a schema; InputError or ParseError where it is none.

    `record_of` makes a record of a kernel's name, its entry and one of its samples. It raises
    MissingError for a sample that is to be left out.
    """
    document = read_document(path, schema)
    if document.kernels is None:
        raise InputError("no kernels", where=path, hint="measure again")
    records: list[Record] = []
    missing: list[str] = []
    for name, data in document.kernels.items():
        entry = decoded(data, entry_type, f"kernels.{name}", path)
        if not entry.samples:
            missing.append(f"{name}: {entry.error}")
        for sample in entry.samples:
            try:
                records.append(record_of(name, entry, sample))
            except MissingError as error:
                missing.append(f"{name}, configuration {sample.configuration}: {error.what}")
    return GroundTruthSamples(
        device_of(document, path), document.date, tuple(records), tuple(missing)
    )


def launch_of(name: str, sample: Launched) -> Launch:
    """The launch of a configuration; MissingError where this version's suite has another."""
    kernel = kernels().get(name)
    launches = kernel.launches(Scale.FULL) if kernel else ()
    if sample.configuration < len(launches):
        launch = launches[sample.configuration]
        args = {label: argument_text(value) for label, value in launch.args.items()}
        ours = (launch.kernel, launch.grid, launch.block, launch.smem_bytes, args)
        if ours == (sample.kernel, sample.grid, sample.block, sample.smem_bytes, sample.args):
            return launch
    raise MissingError("launched otherwise by this version")
