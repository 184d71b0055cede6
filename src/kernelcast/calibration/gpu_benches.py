"""A GPU's numbers from tables that the programs of RRZE-HPC/gpu-benches have printed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from kernelcast.calibration.calibrate import Calibration, fitted
from kernelcast.calibration.rules.gpu_benches import rules
from kernelcast.errors import InputError
from kernelcast.machines.machine import Machine
from kernelcast.measurements.gpu_benches import (
    BenchmarkTable,
    ChaseRow,
    ShortStreams,
    Streams,
    read_table,
)
from kernelcast.measuring.raw import Raw, RawEntry

_ORIGIN = "RRZE gpu-benches"


def calibrate_tables(paths: Sequence[str], machine: Machine) -> Calibration:
    """Fit every number that the tables tell of a GPU.

    They do not name it, nor say how large its L2 is and, most of them, its clock and how many SMs
    it has: these are the machine's. InputError where a table says other SMs, or two are of one
    program.
    """
    tables: dict[str, BenchmarkTable[object]] = {}
    for path in paths:
        table = read_table(path)
        if table.program in tables:
            first = tables[table.program].file
            raise InputError(
                f"a table of {table.program}, as {first} is", where=path, hint="give one of each"
            )
        _check_sms(table, path, machine)
        tables[table.program] = table
    clocks_hz = {name: hz for name, t in tables.items() if (hz := _clock_hz(t)) is not None}
    raw = Raw(_device(machine, clocks_hz.values()), _ORIGIN, "", _entries(tables, clocks_hz))
    return fitted(raw, rules(tables))


def _check_sms(table: BenchmarkTable[object], path: str, machine: Machine) -> None:
    first = next(iter(table.rows), None)
    known = int(_number(machine, "sm.count"))
    if isinstance(first, (Streams, ShortStreams)) and first.sms != known:
        raise InputError(
            f"of a GPU with {first.sms} SMs, and {machine.name} has {known}",
            where=path,
            hint="name the GPU that it is of",
        )


def _number(machine: Machine, path: str) -> float:
    value = machine.get(path)
    if value is None:
        raise InputError(f"{machine.name} has no {path}", where="--gpu", hint="name another GPU")
    return value


def _clock_hz(table: BenchmarkTable[object]) -> float | None:
    """The clock that a table says; a chase has it in every row."""
    first = next(iter(table.rows), None)
    return first.clock_hz if isinstance(first, ChaseRow) else table.clock_hz


def _device(machine: Machine, clocks_hz: Iterable[float]) -> Mapping[str, object]:
    """The machine as the driver would describe it, at the clock that the tables say."""
    seen = list(clocks_hz)
    clock_hz = statistics.median(seen) if seen else _number(machine, "clock.sm")
    return {
        "name": machine.title,
        "major": machine.compute_capability[0],
        "minor": machine.compute_capability[1],
        "sm_count": int(_number(machine, "sm.count")),
        "l2_bytes": int(_number(machine, "l2.size")),
        "clock_khz": clock_hz / 1e3,
    }


def _entries(
    tables: Mapping[str, BenchmarkTable[object]], clocks_hz: Mapping[str, float]
) -> Mapping[str, RawEntry[object]]:
    return {
        name: RawEntry(
            status="done",
            file=table.file,
            samples=table.rows,
            clock_before_hz=clocks_hz.get(name),
            is_cut=table.is_cut,
        )
        for name, table in tables.items()
    }
