"""Launches of programs that Nsight Compute timed and counted, as `measurements/data` keeps them.

{"schema": "kernelcast/program-times/1", "device": ..., "programs": {NAME: {"arguments": ...,
 "launches": [{"kernel": ..., "grid": [...], "block": [...], "time_s": ..., ...,
               "counters": {...}}]}}}

`counters` are others of the profiler's, by its names, if any.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kernelcast.measurements.observation import Extent, Measurements, Observation

_SCHEMA = "kernelcast/program-times/1"


class _TimedLaunch(msgspec.Struct, frozen=True):
    kernel: str
    grid: Extent
    block: Extent
    time_s: float
    dram_read_bytes: float
    dram_write_bytes: float
    instructions: float
    registers: int
    counters: Mapping[str, float] = {}


class _TimedProgram(msgspec.Struct, frozen=True):
    arguments: str
    launches: tuple[_TimedLaunch, ...]


class _File(msgspec.Struct, frozen=True):
    device: str
    programs: Mapping[str, _TimedProgram]


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return f'"{_SCHEMA}"' in head


def read(text: str) -> Measurements:
    """Launches by program and kernel, such as `heat/zero`, in the order of the file; those of one
    kernel that were asked for alike are repeats, of which counters are the mean."""
    file = msgspec.json.decode(text, type=_File)
    return Measurements(
        file.device,
        tuple(one for name, program in file.programs.items() for one in _of(name, program)),
    )


def _of(name: str, program: _TimedProgram) -> Iterator[Observation]:
    repeats: dict[tuple[str, Extent, Extent], list[_TimedLaunch]] = {}
    for launch in program.launches:
        repeats.setdefault((launch.kernel, launch.grid, launch.block), []).append(launch)
    for (signature, grid, block), alike in repeats.items():
        yield Observation(
            f"{name}/{kernel_name(signature)}",
            {"arguments": program.arguments} if program.arguments else {},
            tuple(launch.time_s for launch in alike),
            grid=grid,
            block=block,
            registers=alike[0].registers,
            counters=_counters(alike),
            signature=signature,
        )


def _counters(alike: Sequence[_TimedLaunch]) -> dict[str, float]:
    def mean(values: Iterator[float]) -> float:
        return statistics.fmean(values)

    told = set(alike[0].counters).intersection(*(launch.counters for launch in alike))
    others = {name: mean(launch.counters[name] for launch in alike) for name in sorted(told)}
    return others | {
        "smsp__inst_executed.sum": mean(launch.instructions for launch in alike),
        "dram__bytes_read.sum": mean(launch.dram_read_bytes for launch in alike),
        "dram__bytes_write.sum": mean(launch.dram_write_bytes for launch in alike),
    }


def kernel_name(signature: str) -> str:
    """The plain name of a kernel: `f` of `void ns::f<int>(int *)`."""
    plain, depth = [], 0
    for character in signature.replace("(anonymous namespace)", "").replace("<unnamed>", ""):
        if character == "(" and depth == 0:
            break
        depth += (character == "<") - (character == ">")
        plain.append(character if depth == 0 and character != ">" else "")
    return "".join(plain).split()[-1].rpartition("::")[2]
