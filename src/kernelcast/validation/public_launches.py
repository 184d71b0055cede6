"""The launches of a published set, each of which is predicted on its own.

A launch says all that its answer follows from, so that an answer can be kept by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from uuid import uuid4

from kernelcast.errors import KernelcastError
from kernelcast.forecasting.build import Build
from kernelcast.frontends.expressions import evaluate
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.machines.machine import Machine
from kernelcast.measurements.observation import Measurements, Observation
from kernelcast.measurements.reading import read_measurements
from kernelcast.measuring.ground_truth_raw import Measured, read_ground_truth
from kernelcast.models.terms.base import Case, Model
from kernelcast.models.terms.parameters import model_label
from kernelcast.profiling.run import Sampling
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.includes import include_fingerprint
from kernelcast.toolchain.nvrtc import CompileOptions
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.bottlenecks import measured_classes
from kernelcast.validation.capacities import validate_capacities
from kernelcast.validation.counted import case_of_source
from kernelcast.validation.counter_scores import counter_scores
from kernelcast.validation.ground_truth import timed_launch
from kernelcast.validation.judging import TimedWorkload, judge
from kernelcast.validation.measured import drawn_of, timed_observation
from kernelcast.validation.programs import (
    ProgramLimits,
    ProgramRunner,
    rows_by_program,
)
from kernelcast.validation.public_sets import PublicSet, RowsBeside
from kernelcast.validation.recipes import DATABASE, folder_of_program

_OTHER_CODE = 1 / 8
"""Registers that differ by more than this share are those of other code."""
_CAPACITY = "bytes that a cache holds"
_LAUNCHES = 8
"""Of a program, after which it has told enough."""
_BUDGET = 3_000_000
"""Warp instructions of a block of a program."""
_NO_WORKLOAD = "of kernels without a workload"
_STEADY = 1.05
"""Repeats of one row that are further apart, as a ratio, ran at more than one clock."""
_UNSTEADY = "repeats more than 5 % apart: the clock changed between them"
_ONE_THREAD = Sampling(threads=1)
"""Launches are predicted side by side, each on one core."""


@dataclass(frozen=True)
class Folders:
    """Where the workloads of the sets lie, the measurements, and the sources of the kernels."""

    workloads: Path
    data: Path
    sources: Path


@dataclass(frozen=True)
class CountPair:
    """One counter after a launch, as expected and as a profiler read it."""

    metric: str
    launch: str
    expected: float
    counted: float


@dataclass(frozen=True)
class LaunchAnswer:
    """What is said of one launch, or of those of one program: comparisons by every model's label,
    counters, and why others are missing.

    `aside` is the rule by which it is not compared; empty where none applies.
    """

    compared: Mapping[str, tuple[Comparison, ...]]
    missing: tuple[str, ...] = ()
    aside: str = ""
    counted: tuple[CountPair, ...] = ()


@dataclass(frozen=True)
class PublishedLaunch:
    """A row of a published file, at `place`; `kernel` is its kernel's name in the code of
    `workload`, empty where that holds one."""

    one: PublicSet
    place: int
    row: Observation
    workload: Path
    kernel: str
    folders: Folders

    @property
    def asked(self) -> tuple[object, ...]:
        """All that the answer follows from, but for the models."""
        text, one = self.workload.read_bytes(), self.one
        included = include_fingerprint(text, str(self.workload), self._build.options.include_dirs)
        if included is None:
            # Nobody can tell what it includes: no other answer is this one.
            included = uuid4().hex
        return *one.basis, self.place, self.row, self.kernel, text, included

    def answer(self, models: Sequence[Model]) -> LaunchAnswer:
        """What every model predicts."""
        chip = _machine_of(self.one, self.row.clock_hz)
        return _answer(self.timed(), chip, models, self.row, self.one.counters)

    def timed(self) -> TimedWorkload:
        """The workload and its time."""
        return timed_observation(self.place, self.row, self.workload, self.kernel, self._build)

    @property
    def _build(self) -> Build:
        return _build_of(self.one, self.folders)


@dataclass(frozen=True)
class KnownLaunch:
    """A launch of one of the kernels with known results."""

    one: PublicSet
    row: Measured

    @property
    def asked(self) -> tuple[object, ...]:
        """All that the answer follows from, but for the models."""
        return self.one.gpu, self.one.settings, repr(self.row)

    def answer(self, models: Sequence[Model]) -> LaunchAnswer:
        """What every model predicts."""
        return _answer(self.timed(), _machine_of(self.one), models)

    def timed(self) -> TimedWorkload:
        """The workload and its time."""
        return timed_launch(self.row, _machine_of(self.one))


@dataclass(frozen=True)
class PublishedCounts:
    """A kernel that a profiler counted, and the workload that launches it."""

    one: PublicSet
    row: Observation
    workload: Path
    folders: Folders

    @property
    def asked(self) -> tuple[object, ...]:
        """All that the answer follows from."""
        launch = PublishedLaunch(self.one, 0, self.row, self.workload, "", self.folders)
        return launch.asked

    def answer(self, models: Sequence[Model]) -> LaunchAnswer:
        """What the profiler should have read."""
        chip, build = _machine_of(self.one), _build_of(self.one, self.folders)
        exact = replace(_ONE_THREAD, exact=True)
        try:
            case = case_of_source(self.workload, self.row.kernel, chip, build, exact)
        except KernelcastError as error:
            return LaunchAnswer({}, (f"{self.row.kernel}: {error}",))
        return LaunchAnswer({}, counted=_counted(self.row, case))


@dataclass(frozen=True)
class PublishedProgram:
    """A program whose launches were timed, which is run."""

    one: PublicSet
    name: str
    rows: tuple[Observation, ...]
    folders: Folders

    @property
    def asked(self) -> tuple[object, ...]:
        """All that the answer follows from, but for the models; how far a program comes in its
        seconds is the machine's."""
        one = self.one
        try:
            folder = folder_of_program(self._sources, self.name)
        except KernelcastError as error:
            return str(error), one.gpu
        texts = [(file.name, file.read_bytes()) for file in sorted(folder.rglob("*.*"))]
        database = self._sources / DATABASE
        commands = database.read_bytes() if database.is_file() else b""
        how = one.gpu, one.settings, one.seconds, one.compiler
        return *how, self.name, self.rows, texts, commands

    def answer(self, models: Sequence[Model]) -> LaunchAnswer:
        """What every model predicts of its launches: one that cannot predict one of them, of
        none."""
        limits = ProgramLimits(_LAUNCHES, self.one.seconds)
        sampling = replace(_ONE_THREAD, budget=_BUDGET)
        chip, cache = _machine_of(self.one), Cache()
        runner = ProgramRunner(
            self._sources, chip, models[0], limits, sampling, cache, self.one.compiler
        )
        found, missing = runner.timed(self.name, self.rows)
        compared: dict[str, tuple[Comparison, ...]] = {}
        for model in models:
            own = None if model is models[0] else model
            try:
                compared[model_label(model)] = tuple(
                    replace(
                        one.comparison(at, own),
                        measured_bottlenecks=measured_classes(one.row, chip),
                    )
                    for at, one in enumerate(found)
                )
            except KernelcastError as error:
                missing.append(f"{self.name}: {error}")
        counted = [pair for one in found for pair in _counted(one.row, one.predictions[0].case)]
        return LaunchAnswer(compared, tuple(dict.fromkeys(missing)), "", tuple(counted))

    @property
    def _sources(self) -> Path:
        return self.folders.sources / self.one.programs


@dataclass(frozen=True)
class PublishedChase:
    """A table of latencies by footprint, and the workload that chases through memory."""

    one: PublicSet
    table: Path
    folders: Folders

    @property
    def asked(self) -> tuple[object, ...]:
        """All that the answer follows from."""
        one, workload = self.one, self._workload
        return *one.basis, self.table.read_bytes(), workload.read_bytes()

    def answer(self, models: Sequence[Model]) -> LaunchAnswer:
        """The footprints that caches no longer hold, as simulated and as measured."""
        chip, build = _machine_of(self.one), _build_of(self.one, self.folders)
        try:
            found = validate_capacities(str(self.table), self._workload, chip, build=build)
        except KernelcastError as error:
            return LaunchAnswer({}, (str(error),))
        pairs = (
            CountPair(_CAPACITY, f"cache {at}", c.simulated_bytes or 0.0, c.measured_bytes)
            for at, c in enumerate(found, 1)
        )
        return LaunchAnswer({}, counted=tuple(pairs))

    @property
    def _workload(self) -> Path:
        return self.folders.workloads / self.one.workload


SetLaunch = PublishedLaunch | KnownLaunch | PublishedCounts | PublishedProgram | PublishedChase
"""What is predicted on its own."""


@dataclass(frozen=True)
class DrawnLaunches:
    """The launches of a set that are predicted, and what is known before: how many rows each rule
    sets aside, and what is missing."""

    launches: Sequence[SetLaunch]
    aside: Mapping[str, int]
    missing: tuple[str, ...]


def _machine_of(one: PublicSet, clock_hz: float | None = None) -> Machine:
    """The GPU of a set with its settings, at the clock of a row where that says its own."""
    own = () if clock_hz is None else (f"clock.sm={clock_hz!r}",)
    return apply_overrides(load_machine(one.gpu), (*own, *one.settings))


def drawn_launches(one: PublicSet, folders: Folders, count: int) -> DrawnLaunches:
    """About `count` launches of a set, of each of its kernels as many, the fastest among them."""
    if one.ground_truth:
        found = read_ground_truth(str(folders.workloads / one.ground_truth))
        drawn = drawn_of(found.measured, count)
        return DrawnLaunches([KnownLaunch(one, row) for row in drawn], {}, ())
    files = sorted(folders.data.glob(f"**/{one.data}"))
    if not files:
        return DrawnLaunches((), {}, (f"no {one.data} in {folders.data}",))
    if one.capacities:
        return DrawnLaunches([PublishedChase(one, file, folders) for file in files], {}, ())
    try:
        by_file = {file: read_measurements(file) for file in files}
    except KernelcastError as error:
        return DrawnLaunches((), {}, (str(error),))
    damaged = tuple(f"{file.name}: {what}" for file, f in by_file.items() for what in f.damaged)
    steady = [_steady(file) for file in by_file.values()]
    chosen = _drawn_published(one, folders, _merged(steady), count)
    rows, left = (sum(len(file.observations) for file in of) for of in (by_file.values(), steady))
    aside = {_UNSTEADY: rows - left} if rows > left else {}
    return replace(chosen, aside={**aside, **chosen.aside}, missing=(*damaged, *chosen.missing))


def _steady(file: Measurements) -> Measurements:
    """A file without rows whose clock changed from repeat to repeat."""
    steady = (row for row in file.observations if not row.seconds or row.repeats_ratio <= _STEADY)
    return replace(file, observations=tuple(steady))


def _drawn_published(
    one: PublicSet, folders: Folders, found: Measurements, count: int
) -> DrawnLaunches:
    if one.counters and not any(row.seconds for row in found.observations):
        return _drawn_counted(one, folders, found, count)
    timed = [(at, row) for at, row in enumerate(found.observations) if row.seconds]
    rows = [(at, row) for at, row in timed if _fits(one, row)]
    aside = {"failed when it was measured": found.failed} if found.failed else {}
    if other := len(timed) - len(rows):
        aside[f"outside {one.where}"] = other
    if one.beside:
        try:
            rows, why = _of_one_clock(rows, one.beside, folders)
        except KernelcastError as error:
            return DrawnLaunches((), aside, (str(error),))
        aside |= why
    if one.aside:
        return DrawnLaunches((), aside | {one.aside: len(rows)}, ())
    if one.names:
        rows = [(at, replace(r, parameters={**r.parameters, **one.names})) for at, r in rows]
    if one.programs:
        return _drawn_programs(one, folders, found, count, aside)
    runs = list(_runs(one, folders.workloads))
    least_s = one.longer_than_us * 1e-6
    long = [(at, row) for at, row in rows if row.time_s >= least_s]
    launches: list[SetLaunch] = []
    used = 0
    missing: list[str] = []
    for run in runs:
        own = [(at, row) for at, row in long if run.is_of(row.kernel)]
        used += sum(run.is_of(row.kernel) for _, row in rows)
        if not own:
            missing.append(f"{run.name or one.data}: no row that took {least_s:g} s or longer")
            continue
        drawn = spread_of(own, max(1, count // len(runs)))
        launches += [
            PublishedLaunch(one, at, row, run.workload, run.kernel, folders) for at, row in drawn
        ]
    aside |= _too_short(one, len(rows) - len(long))
    if other := len(rows) - used:
        aside[_NO_WORKLOAD] = other
    return DrawnLaunches(launches, aside, tuple(missing))


def _of_one_clock(
    rows: Sequence[tuple[int, Observation]], beside: RowsBeside, folders: Folders
) -> tuple[list[tuple[int, Observation]], Mapping[str, int]]:
    """The rows of the clock that is meant, and how many are not, or have no row beside them.

    InputError where the other file is missing or cannot be read.
    """
    file = next(iter(sorted(folders.data.glob(f"**/{beside.data}"))), folders.data / beside.data)
    times = {_setting(row): row.time_s for row in read_measurements(file).observations}
    known = [(at, row) for at, row in rows if _setting(row) in times]
    kept = [
        (at, row)
        for at, row in known
        if beside.least <= row.time_s / times[_setting(row)] <= beside.most
    ]
    lacking, other = len(rows) - len(known), len(known) - len(kept)
    aside = {
        f"not in {beside.data}, beside which the clock is told": lacking,
        f"another clock: not {beside.least:g} to {beside.most:g} of the time in "
        f"{beside.data}": other,
    }
    return kept, {why: count for why, count in aside.items() if count}


def _setting(row: Observation) -> frozenset[tuple[str, object]]:
    return frozenset(row.parameters.items())


def _drawn_counted(
    one: PublicSet, folders: Folders, found: Measurements, count: int
) -> DrawnLaunches:
    """Kernels that were counted and have a workload of their name."""
    files = {
        row.kernel: folders.workloads / one.folder / f"{row.kernel}.cu"
        for row in found.observations
    }
    known = [row for row in found.observations if files[row.kernel].is_file()]
    left = len(found.observations) - len(known)
    return DrawnLaunches(
        [PublishedCounts(one, row, files[row.kernel], folders) for row in drawn_of(known, count)],
        {_NO_WORKLOAD: left} if left else {},
        (),
    )


def _drawn_programs(
    one: PublicSet, folders: Folders, found: Measurements, count: int, aside: Mapping[str, int]
) -> DrawnLaunches:
    """Whole programs, spread over the times of their first launches."""
    try:
        programs = rows_by_program(found.observations, one.longer_than_us * 1e-6, one.data)
    except KernelcastError as error:
        return DrawnLaunches((), aside, (str(error),))
    firsts = [(at, rows[0]) for at, rows in enumerate(programs.values())]
    chosen = {at for at, _ in spread_of(firsts, count)}
    launches = [
        PublishedProgram(one, name, tuple(rows), folders)
        for at, (name, rows) in enumerate(programs.items())
        if at in chosen
    ]
    short = len(found.observations) - sum(map(len, programs.values()))
    return DrawnLaunches(launches, {**aside, **_too_short(one, short)}, ())


def _too_short(one: PublicSet, rows: int) -> Mapping[str, int]:
    text = f"took less than {one.longer_than_us:g} us, the cost of a launch"
    return {text: rows} if rows else {}


def _merged(files: Sequence[Measurements]) -> Measurements:
    """Several files of one set as one: rows of the same launch are repeats of it."""
    repeats: dict[tuple[object, ...], list[Observation]] = {}
    for found in files:
        for row in found.observations:
            key = row.kernel, row.signature, tuple(row.parameters.items()), row.grid, row.block
            repeats.setdefault(key, []).append(row)
    if len(files) == 1:
        return files[0]
    rows = tuple(_as_repeats(alike) for alike in repeats.values())
    return Measurements(files[0].device, rows, max(found.failed for found in files))


def _as_repeats(alike: Sequence[Observation]) -> Observation:
    return replace(alike[0], seconds=tuple(time for row in alike for time in row.seconds))


def spread_of(
    rows: Sequence[tuple[int, Observation]], count: int
) -> Sequence[tuple[int, Observation]]:
    """At most `count` rows, the same in every run: the fastest, and one drawn at random from every
    part of the others, which are cut by their times into parts as large as each other."""
    if len(rows) <= count:
        return rows
    fastest, *others = sorted(rows, key=lambda two: (two[1].time_s, two[0]))
    parts = count - 1
    drawn = [fastest]
    for part in range(parts):
        start, end = (len(others) * at // parts for at in (part, part + 1))
        drawn += drawn_of(others[start:end], 1)
    return sorted(drawn, key=lambda two: two[0])


@dataclass(frozen=True, slots=True)
class _SetWorkload:
    """Kernels of a set, all of them where there is no name: `name` in the file, a pattern, and
    `kernel` in the code."""

    workload: Path
    name: str = ""
    kernel: str = ""

    def is_of(self, kernel: str) -> bool:
        """Whether it launches a kernel of the file."""
        return not self.name or fnmatchcase(kernel, self.name)


def _runs(one: PublicSet, workloads: Path) -> Iterator[_SetWorkload]:
    if one.workloads:
        for name, file in one.workloads.items():
            yield _SetWorkload(workloads / one.folder / file, name, one.kernels.get(name, ""))
    elif one.folder:
        folder = workloads / one.folder
        for workload in sorted(folder.rglob("*.cu")):
            name = workload.relative_to(folder).with_suffix("").as_posix()
            if name not in one.without:
                yield _SetWorkload(workload, name)
    elif one.kernels:
        for name, kernel in one.kernels.items():
            yield _SetWorkload(workloads / one.workload, name, kernel)
    else:
        yield _SetWorkload(workloads / one.workload)


def _fits(one: PublicSet, row: Observation) -> bool:
    numbers = {name: v for name, v in row.parameters.items() if not isinstance(v, str)}
    return not one.where or bool(evaluate(one.where, numbers, where=f"{one.title}, {one.gpu}"))


def _build_of(one: PublicSet, folders: Folders) -> Build:
    """How the kernels of a set are compiled: with all folders of sources.

    One that is named as a folder of workloads is for these alone.
    """
    inner = (folder for folder in sorted(folders.sources.iterdir()) if folder.is_dir())
    own = (f for f in inner if f.name == one.folder or not (folders.workloads / f.name).is_dir())
    # What a host compiler brings stands there for NVRTC.
    host = () if one.nvcc else (folders.workloads / "host",)
    every = (folders.sources, *own, *host)
    return Build(CompileOptions(include_dirs=every, nvrtc=one.nvrtc, nvcc=one.nvcc))


def _answer(
    timed: TimedWorkload,
    chip: Machine,
    models: Sequence[Model],
    row: Observation | None = None,
    has_counters: bool = False,
) -> LaunchAnswer:
    executed: list[Case] = []
    try:
        judged = judge(
            [timed],
            chip,
            models,
            sampling=_ONE_THREAD,
            executed=lambda _, cases: executed.extend(cases),
        )
    except KernelcastError as error:
        return LaunchAnswer({}, (f"{timed.kernel}: {error}",))
    registers = row.registers if row else None
    if registers and executed:
        own = [known for case in executed if (known := case.kernel.resources.registers)]
        if own and all(abs(known - registers) > _OTHER_CODE * registers for known in own):
            return LaunchAnswer({}, (), "other code: registers differ by more than an eighth")
    counted = _counted(row, executed[0]) if row and has_counters and len(executed) == 1 else ()
    bound_by = measured_classes(row, chip) if row else ()
    found = {
        label: tuple(replace(c, measured_bottlenecks=bound_by) for c in own)
        for label, own in judged.compared.items()
        if own
    }
    return LaunchAnswer(found, judged.missing, "", counted)


def _counted(row: Observation, case: Case) -> tuple[CountPair, ...]:
    return tuple(
        CountPair(score.metric, one.launch, one.expected.value, one.counted)
        for score in counter_scores([(row, case)])
        for one in score.counted
    )
