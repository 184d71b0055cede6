"""Programs whose launches were timed on a GPU: run on a virtual one, launch beside launch."""

from __future__ import annotations

import os
import shlex
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from kernelcast.devices.device import VirtualGpu
from kernelcast.devices.forecasts import Forecasts, LaunchForecast, Prepared
from kernelcast.devices.libraries import libraries
from kernelcast.devices.server import run_program
from kernelcast.errors import InputError, KernelcastError, NotFoundError
from kernelcast.execution.trace import Progress
from kernelcast.ir import CacheState, Launch
from kernelcast.machines.machine import Machine
from kernelcast.measurements.formats.program_times import kernel_name
from kernelcast.measurements.observation import Extent, Observation
from kernelcast.measurements.reading import read_measurements
from kernelcast.models.terms.base import Model, Prediction
from kernelcast.models.terms.parameters import model_label
from kernelcast.models.terms.trust import kind_of
from kernelcast.profiling.run import Sampling
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.clang import compile_with_clang
from kernelcast.toolchain.nvcc import compile_program
from kernelcast.validation.accuracy import Comparison, require_scipy
from kernelcast.validation.bottlenecks import measured_classes, resource_class
from kernelcast.validation.counter_scores import counter_scores
from kernelcast.validation.judging import nothing_compared
from kernelcast.validation.measured import Choice, MeasuredSet, SameCode, Score, drawn_of
from kernelcast.validation.recipes import recipe_of

_WAITED, _COMPUTED = 124, 128 + signal.SIGXCPU
"""How a command ends that `timeout` ends, and one that has had its seconds of a core."""
_LIMITED = 'ulimit -S -t "$0" && exec "$@"'
"""A command of the shell: what follows, for so many seconds of a core."""
_MOST_SAID = 4096
"""Bytes at the end of what a program said, in which its last line stands."""
_COMPILERS = {"nvcc": compile_program, "make": compile_program, "clang": compile_with_clang}
"""What makes a program of its sources, by name: `make` is nvcc with the arithmetic, such as
`-use_fast_math`, that the program's makefile asks for."""


_LaunchShape = tuple[str, Extent, Extent]
"""What tells the launches of a program apart: kernel, grid and block."""


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """When a program has told enough: after so many launches of those that were timed, seconds of a
    core in all, or instructions of one launch. Seconds on the wall would hang on what else the
    machine does."""

    launches: int = 24
    seconds: float = 120.0
    instructions: int = 20_000_000_000


class _EnoughError(Exception):
    """A program has made as many launches as are wanted, or has run for long enough, as it says."""


@dataclass(frozen=True, slots=True)
class _LaunchMade:
    """A launch that a program made on the virtual GPU."""

    launch: Launch
    forecast: LaunchForecast


@dataclass
class _Watched(Forecasts):
    """Forecasts of the `wanted` launches, kept in order; they end the program when there are
    enough."""

    wanted: Set[_LaunchShape] = frozenset()
    limits: ProgramLimits = ProgramLimits()
    made: list[_LaunchMade] = field(default_factory=list)
    started: float = field(default_factory=time.process_time)

    def of(
        self,
        kernel: object,
        launch: Launch,
        arguments: object,
        prepared: Prepared,
        *,
        in_turn: bool = False,
    ) -> LaunchForecast:
        """As any forecast; _EnoughError where none is wanted any more."""
        self.check_time()
        if _shape_of(launch) not in self.wanted:
            return self._none("not timed")
        if len(self.made) >= self.limits.launches:
            raise _EnoughError(f"among the first {self.limits.launches} that were timed")
        found = super().of(kernel, launch, arguments, prepared, in_turn=in_turn)
        self.made.append(_LaunchMade(launch, found))
        return found

    def check_time(self) -> None:
        """_EnoughError where the program has had its seconds."""
        if time.process_time() - self.started > self.limits.seconds:
            raise _EnoughError(_within(self.limits.seconds))

    def kept(self, prediction: Prediction) -> Prediction:
        """All of it: counters are read off the few launches that are compared."""
        return prediction


@dataclass(frozen=True)
class ForecastRow:
    """A launch that was timed, beside the forecasts of the launches that are it."""

    row: Observation
    times_s: tuple[float, ...]
    predictions: tuple[Prediction, ...]

    def comparison(self, at: int, model: Model | None = None) -> Comparison:
        """The mean of the forecasts beside the median of the repeats; those of `model` for the same
        cases, where one is given."""
        said, times = self.predictions, self.times_s
        if model is not None:
            said = tuple(model.predict(each.case) for each in said)
            times = tuple(each.time_s for each in said)
        return Comparison(
            self.row.kernel,
            at,
            f"{self.row.signature or self.row.kernel} {self.row.grid} {self.row.block}",
            statistics.fmean(times),
            self.row.time_s,
            _mean([each.low_s for each in said]),
            _mean([each.high_s for each in said]),
            resource_class(said[0].bottleneck),
            measured_classes(self.row, said[0].case.machine),
            kind=kind_of(*said),
        )


def _mean(bounds: Sequence[float | None]) -> float | None:
    """None where a launch has no bound."""
    held = [bound for bound in bounds if bound is not None]
    return statistics.fmean(held) if len(held) == len(bounds) else None


@dataclass(frozen=True)
class ProgramRunner:
    """Runs programs, whose sources lie in folders of `sources`, on `chip`.

    `compiler`, one of `_COMPILERS`, is what made the programs measured.
    """

    sources: Path
    chip: Machine
    model: Model
    limits: ProgramLimits
    sampling: Sampling
    cache: Cache | None
    compiler: str = "nvcc"

    def timed(self, name: str, rows: Sequence[Observation]) -> tuple[list[ForecastRow], list[str]]:
        """The rows of a program whose launches it makes, and why others are missing."""
        missing: list[str] = []
        try:
            made, end = self._launches(name, rows)
        except KernelcastError as error:
            return [], [f"{name}: {error.what}"]
        found: list[ForecastRow] = []
        for row, launches in _matched(rows, made):
            predictions = tuple(p for each in launches for p in each.forecast.predictions[:1])
            if predictions:
                times = tuple(each.forecast.times_s[0] for each in launches)
                found.append(ForecastRow(row, times, predictions))
            else:
                none = f"no such launch was made {end}".strip()
                missing.append(
                    f"{row.kernel}: {launches[0].forecast.why_none if launches else none}"
                )
        return found, missing

    def _launches(self, name: str, rows: Sequence[Observation]) -> tuple[list[_LaunchMade], str]:
        """The launches of the rows that a program makes, until there are enough, and why there are
        no more."""
        arguments = str(rows[0].parameters.get("arguments", ""))
        shim = libraries()
        folder, main, options = recipe_of(self.sources, name, by_make=self.compiler == "make")
        made = _COMPILERS[self.compiler](
            main, [self.chip.compute_capability], shim, options=options, cache=self.cache
        )
        watched = _Watched(
            (self.chip,),
            self.model,
            self.sampling,
            CacheState.FLUSHED,
            self.cache,
            wanted=frozenset(map(_shape_timed, rows)),
            limits=self.limits,
        )
        device = VirtualGpu(
            (self.chip,),
            watched,
            self.cache,
            self.sampling.threads,
            self.limits.instructions,
            say=lambda text: None,
            watch=watched.check_time,
        )
        with _as_file(made, name) as path, tempfile.TemporaryFile() as said:
            # What a program does between its launches may take longer than they do, and it waits
            # for these, on a busy machine for longer than they compute.
            most_s = round(2 * self.limits.seconds)
            ends = {_COMPUTED: most_s, _WAITED: most_s * 5 // 2}
            limits = ["timeout", str(ends[_WAITED]), "sh", "-c", _LIMITED, str(ends[_COMPUTED])]
            command = [*limits, str(path), *shlex.split(arguments)]
            try:
                status = run_program(device, command, shim, folder=folder, output=said, errors=said)
            except _EnoughError as enough:
                return watched.made, str(enough)
            if status in ends:
                return watched.made, _within(ends[status])
            return watched.made, _end(status, said).replace(str(path), path.name)


def _within(seconds: float) -> str:
    return f"within {seconds:g} s"


def _end(status: int, said: IO[bytes]) -> str:
    """How a program ended that failed, with the last line that it said; empty where it did not."""
    if not status:
        return ""
    said.seek(max(0, said.seek(0, os.SEEK_END) - _MOST_SAID))
    *_, last = ["nothing", *filter(str.strip, said.read().decode("utf-8", "replace").splitlines())]
    return f"before it ended with exit status {status}, saying: {last.strip()}"


def validate_programs(
    file: str | Path,
    sources: Path,
    chip: Machine,
    model: Model,
    choice: Choice,
    *,
    limits: ProgramLimits | None = None,
    sampling: Sampling | None = None,
    cache: Cache | None = None,
    compiler: str = "nvcc",
    progress: Progress | None = None,
) -> MeasuredSet:
    """Run the programs of a file of measurements, and compare their launches.

    A profiler timed each launch with cold caches, and so it is forecast. `choice` draws programs,
    not launches. Raises InputError where nothing can be compared.
    """
    require_scipy()
    found = read_measurements(file)
    known = rows_by_program(found.observations, choice.least_s, str(file))
    for name in choice.only:
        if name not in known:
            raise NotFoundError("program", name, known, where=str(file))
    names = choice.only or drawn_of([*known], choice.count)
    runner = ProgramRunner(
        sources, chip, model, limits or ProgramLimits(), sampling or Sampling(), cache, compiler
    )
    every: list[ForecastRow] = []
    missing: list[str] = [*found.damaged]
    for at, name in enumerate(sorted(names)):
        found_here, missing_here = runner.timed(name, known[name])
        every += found_here
        missing += missing_here
        if progress:
            progress((at + 1) / len(names))
    comparisons = [one.comparison(at) for at, one in enumerate(every)]
    pairs = [(one.row, one.predictions[0].case) for one in every]
    if not comparisons:
        raise nothing_compared(str(file), missing)
    registers = [
        one.registers == case.kernel.resources.registers
        for one, case in pairs
        if one.registers is not None
    ]
    return MeasuredSet(
        found=found,
        scores={model_label(model): Score(tuple(comparisons))},
        code=SameCode(len(registers), sum(registers)),
        counted=counter_scores(pairs),
        missing=tuple(dict.fromkeys(missing)),
    )


def rows_by_program(
    observations: Sequence[Observation], least_s: float, file: str
) -> Mapping[str, list[Observation]]:
    """By program the launches to be compared: their shape is known, and they took long enough."""
    found: dict[str, list[Observation]] = {}
    for one in observations:
        if one.grid and one.block and one.seconds and one.time_s >= least_s:
            found.setdefault(one.kernel.partition("/")[0], []).append(one)
    if not found:
        raise InputError(
            "holds no launch of a program with its grid and block, and a time that is long enough",
            where=file,
        )
    return found


@contextmanager
def _as_file(made: bytes, name: str) -> Iterator[Path]:
    """A program that was compiled, as a file for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as scratch:
        path = Path(scratch) / name
        path.write_bytes(made)
        path.chmod(0o700)
        yield path


def _matched(
    wanted: Sequence[Observation], made: Sequence[_LaunchMade]
) -> Iterator[tuple[Observation, list[_LaunchMade]]]:
    """Every observation with the launches that are it: of the same kernel, grid and block.

    They are the first such launches, as many as were timed: later ones may have other data to work
    on. Instances of a template that are launched alike are told apart by their order.
    """
    instances: dict[_LaunchShape, dict[str, list[_LaunchMade]]] = {}
    for each in made:
        launch = each.launch
        instances.setdefault(_shape_of(launch), {}).setdefault(launch.kernel, []).append(each)
    taken: dict[_LaunchShape, int] = {}
    for one in wanted:
        key = _shape_timed(one)
        own = list(instances.get(key, {}).values())
        at = taken[key] = taken.get(key, -1) + 1
        yield one, own[at][: len(one.seconds)] if at < len(own) else []


def _shape_of(launch: Launch) -> _LaunchShape:
    return kernel_name(launch.kernel), launch.grid, launch.block


def _shape_timed(row: Observation) -> _LaunchShape:
    assert row.grid and row.block
    return kernel_name(row.signature or row.kernel.rpartition("/")[2]), row.grid, row.block
