"""The raw file of a measured GPU: typed, and checked field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from kernelcast.errors import InputError, ParseError
from kernelcast.files import read_unpacked
from kernelcast.measuring.harness.measure import SCHEMA, SUITE
from kernelcast.measuring.samples import sample_type

_T = TypeVar("_T")
TypedSample = TypeVar("TypedSample")
RawCount = Annotated[int, msgspec.Meta(ge=0)]
Hz = Annotated[float, msgspec.Meta(ge=0)]


class _RawDevice(msgspec.Struct, frozen=True):
    """What every raw file must say of the GPU; the driver says more."""

    name: str
    major: RawCount
    minor: RawCount
    sm_count: RawCount
    clock_khz: RawCount
    memory_bytes: RawCount
    l2_bytes: RawCount


class Document(msgspec.Struct, frozen=True):
    """A raw file of any kind; `results` hold the entries by name, as they are written."""

    schema: str
    device: msgspec.Raw
    suite: str = ""
    date: str = ""
    code: dict[str, str] = {}
    benchmarks: dict[str, msgspec.Raw] | None = None
    kernels: dict[str, msgspec.Raw] | None = None


class _Schema(msgspec.Struct, frozen=True):
    schema: str = ""


class RawEntry(msgspec.Struct, Generic[TypedSample], frozen=True, kw_only=True):
    """What was measured by one benchmark, and what may have disturbed it.

    `file` and `is_cut` are those of a table that somebody else's program has printed.
    """

    status: str
    samples: Sequence[TypedSample] = ()
    error: str = "no reason recorded"
    date: str = ""
    clock_before_hz: Hz | None = None
    clock_after_hz: Hz | None = None
    held_down: tuple[str, ...] = ()
    other_programs: int | None = None
    late_launches: int = 0
    file: str = ""
    is_cut: bool = False


@dataclass(frozen=True)
class Raw:
    """The device's properties, and the benchmarks' entries by name.

    `origin` names the benchmarks, in the source of every number.
    """

    device: Mapping[str, Any]
    origin: str
    date: str
    benchmarks: Mapping[str, RawEntry[Any]]


def read_raw(path: str) -> Raw:
    """Read a raw file; InputError or ParseError where it is none.

    Benchmarks that this version does not have are left out.
    """
    document = read_document(path, SCHEMA)
    if document.suite != SUITE:
        raise InputError(
            f"made by suite {document.suite!r}, this version reads {SUITE!r}",
            where=path,
            hint="measure again with this version",
        )
    if document.benchmarks is None:
        raise InputError("no benchmarks", where=path, hint="measure again")
    benchmarks = {
        name: decoded(entry, RawEntry[kind], f"benchmarks.{name}", path)  # type: ignore[valid-type]
        for name, entry in document.benchmarks.items()
        if (kind := sample_type(name)) is not None
    }
    origin = f"kernelcast microbenchmarks {SUITE}"
    return Raw(device_of(document, path), origin, document.date, benchmarks)


def read_document(path: str, schema: str) -> Document:
    """What a harness wrote, compressed or not.

    InputError or ParseError where it is none of that schema.
    """
    try:
        data = read_unpacked(Path(path))
    except OSError as error:
        raise InputError(
            error.strerror or str(error), where=path, hint="give a file by kernelcast measure"
        ) from None
    if schema_of(data, path) != schema:
        raise InputError(
            f"no raw file of schema {schema}", where=path, hint="give a file by kernelcast measure"
        )
    return decoded(data, Document, "", path)


def schema_of(data: bytes, path: str) -> str:
    """The schema that a file states; nothing where it is no object with one."""
    try:
        return msgspec.json.decode(data, type=_Schema).schema
    except msgspec.ValidationError:
        return ""
    except (msgspec.DecodeError, RecursionError) as error:
        raise ParseError(f"not JSON: {error}", where=path, hint="measure again") from None


def device_of(document: Document, path: str) -> Mapping[str, Any]:
    """The device as the file describes it; InputError where a property is missing."""
    decoded(document.device, _RawDevice, "device", path)
    found: dict[str, Any] = msgspec.json.decode(document.device)
    return found


def decoded(data: bytes | msgspec.Raw, kind: type[_T], place: str, path: str) -> _T:
    """Decode a part of a file, checked; InputError that names the field. `place` is the part's."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        what, _, at = str(error).partition(" - at `$")
        field = f"{place}{at.rstrip('`')}".lstrip(".")
        raise InputError(
            f"{field}: {what}" if field else what, where=path, hint="measure again"
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ParseError(f"not JSON: {error}", where=path, hint="measure again") from None
