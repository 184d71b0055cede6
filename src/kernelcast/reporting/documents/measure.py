"""What `measure` answers: the files that were made, and what became of every measurement."""

from __future__ import annotations

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural


class MeasureDocument(Struct, frozen=True, omit_defaults=True):
    """All that `measure --json` prints: what became of every benchmark or, with --ground-truth, of
    every kernel; `failed` counts those that are not done."""

    out: str
    benchmarks: dict[str, str] | None = None
    kernels: dict[str, str] | None = None
    failed: Natural = 0


class PackDocument(Struct, frozen=True):
    """All that `measure --pack DIR --json` prints; `command` runs the pack on the machine with the
    GPU."""

    pack: str
    files: list[str]
    targets: list[str]
    command: str


class KeepDocument(Struct, frozen=True):
    """All that `measure --keep DIR --json` prints."""

    directory: str
    files: list[str]
