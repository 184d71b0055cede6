"""Launches of published sets as traces of some of their blocks, beside how far off they were
forecast: what tells, without sources or measurements, whether a set has become worse.

A recording holds what was forecast and its ratio to the measured time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kernelcast.errors import InputError, KernelcastError
from kernelcast.files import write_into
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.runs import head_of, run_of_workload
from kernelcast.forecasting.traced import cases_of_traces
from kernelcast.ir import CacheState
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.models.auto import Auto
from kernelcast.profiling.run import Sampling
from kernelcast.traces.file import write_trace
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.public_launches import (
    Folders,
    KnownLaunch,
    PublishedLaunch,
    SetLaunch,
    drawn_launches,
)
from kernelcast.validation.public_sets import PublicSet

_BLOCKS = Sampling(blocks=32, threads=1)
_LARGEST = 96 << 10
"""Bytes of a trace: those that are larger are not kept."""
_DRAWN = 2
"""Launches are tried for each that is wanted."""
_INDEX = "recorded.json"
_MAKER = "kernelcast"


class RecordedLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A launch of a set: the file of its trace, its GPU, what was forecast of the trace, and that
    over the measured time."""

    set: str
    gpu: str
    settings: tuple[str, ...]
    trace: str
    caches: str
    launch: str
    predicted_s: float
    ratio: float


@dataclass(frozen=True)
class RecordedSet:
    """The launches of a set that were recorded."""

    title: str
    gpu: str
    launches: tuple[RecordedLaunch, ...]


def record_sets(sets: Sequence[PublicSet], folders: Folders, into: Path) -> Iterator[RecordedSet]:
    """Record as many launches of every set as it says (`records`) in a folder, in place of those of
    the same set that are there. KernelcastError where a set cannot be read."""
    known = recorded_launches(into) if (into / _INDEX).is_file() else ()
    kept = {name: tuple(r for r in known if (r.set, r.gpu) == name) for name in _names(known)}
    for one in sets:
        kept[one.title, one.gpu] = found = tuple(_recorded(one, folders, into))
        _write_index([record for records in kept.values() for record in records], into)
        yield RecordedSet(one.title, one.gpu, found)


def _write_index(records: Sequence[RecordedLaunch], into: Path) -> None:
    """The list of all records; traces that none of them names go."""
    write_into(into, {_INDEX: msgspec.json.format(msgspec.json.encode(records)) + b"\n"})
    for file in into.glob("*.kct"):
        if file.name not in {record.trace for record in records}:
            file.unlink()


def recorded_launches(folder: Path) -> tuple[RecordedLaunch, ...]:
    """The launches of a folder of recordings; InputError where it holds none."""
    try:
        return msgspec.json.decode((folder / _INDEX).read_bytes(), type=tuple[RecordedLaunch, ...])
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(folder / _INDEX)) from None
    except msgspec.DecodeError as error:
        raise InputError(f"no recording: {error}", where=str(folder / _INDEX)) from None


def forecast_again(one: RecordedLaunch, folder: Path) -> Comparison:
    """What is forecast of a recorded launch now, beside its measured time."""
    predicted_s = _predicted_s(one, folder)
    return Comparison(one.set, 0, one.launch, predicted_s, one.predicted_s / one.ratio)


def _names(records: Sequence[RecordedLaunch]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((record.set, record.gpu) for record in records))


def _recorded(one: PublicSet, folders: Folders, into: Path) -> Iterator[RecordedLaunch]:
    found = 0
    for launch in drawn_launches(one, folders, _DRAWN * one.records).launches:
        if found == one.records:
            return
        try:
            record = _record_of(one, launch, into)
        except KernelcastError:
            continue
        if record is not None:
            found += 1
            yield record


def _record_of(one: PublicSet, launch: SetLaunch, into: Path) -> RecordedLaunch | None:
    """The record of a launch, whose trace is written; None where that is too large."""
    if not isinstance(launch, PublishedLaunch | KnownLaunch):
        return None
    timed = launch.timed()
    if len(timed.workload.launches) != 1:
        return None
    chip = apply_overrides(load_machine(one.gpu), one.settings)
    run, _ = run_of_workload(timed.workload, 1, chip, timed.build or Build(), _BLOCKS)
    words = "".join(c if c.isalnum() else "-" for c in f"{one.gpu} {timed.kernel}").lower()
    file = into / f"{words}-{timed.configuration}.kct"
    into.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with write_trace(file, head_of(run), _MAKER) as writer:
        run.execute(writer)
    if file.stat().st_size > _LARGEST:
        file.unlink()
        return None
    caches = timed.workload.caches.value
    name = timed.label
    bare = RecordedLaunch(one.title, one.gpu, one.settings, file.name, caches, name, 1.0, 1.0)
    predicted_s = _predicted_s(bare, into)
    ratio = predicted_s / timed.measured_s
    return msgspec.structs.replace(bare, predicted_s=predicted_s, ratio=ratio)


def _predicted_s(one: RecordedLaunch, folder: Path) -> float:
    chip = apply_overrides(load_machine(one.gpu), one.settings)
    (case,) = cases_of_traces(folder / one.trace, [chip], CacheState(one.caches))
    return Auto().predict(case).time_s
