"""The table of measured accuracy: published sets of measurements, each predicted as one row."""

from __future__ import annotations

import multiprocessing
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from kernelcast.errors import InputError, KernelcastError
from kernelcast.forecasting.build import Build
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.measuring.ground_truth_raw import read_ground_truth
from kernelcast.models import default_model_name, load_model
from kernelcast.models.terms.base import Model
from kernelcast.models.terms.parameters import model_label
from kernelcast.toolchain.nvrtc import CompileOptions
from kernelcast.validation.accuracy import Comparison, require_scipy
from kernelcast.validation.ground_truth import timed_launch
from kernelcast.validation.judging import judge
from kernelcast.validation.kept_answers import kept_answer
from kernelcast.validation.measured import Choice, Score, drawn_of, validate_measured


class PublicSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One set: a file of measurements and the workloads that its kernels are.

    `ground_truth` is a file of the kernels with known results, beside the list of sets. Else `data`
    is the file, wherever it lies in the folder of the data. The workload is `workload`, one
    for every kernel of the file that `kernels` translates to the name in the code, or every source
    in `folder` that is named as a kernel, but those `without`. `settings` replace numbers of the
    machine, `nvrtc` names the compiler, and what took less than `longer_than_us` is left out.
    """

    title: str
    gpu: str
    data: str = ""
    workload: str = ""
    kernels: Mapping[str, str] = {}
    folder: str = ""
    without: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    nvrtc: str | None = None
    longer_than_us: float = 0.0
    ground_truth: str = ""


class _Sets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    set: tuple[PublicSet, ...]


@dataclass(frozen=True, slots=True)
class _SetWorkload:
    """Kernels of a set that one workload holds: `only` in the file, `kernel` in the code."""

    workload: Path
    only: tuple[str, ...] = ()
    kernel: str = ""


@dataclass(frozen=True)
class SetAccuracy:
    """What a model's predictions of one set are worth; `score` is None where there are none.

    `tau` and `regret` are means over the kernels of the set that have several launches. `missing`
    says what was not predicted, and why.
    """

    title: str
    gpu: str
    model: str
    score: Score | None
    tau: float | None
    regret: float | None
    missing: tuple[str, ...]


def read_sets(file: Path) -> tuple[PublicSet, ...]:
    """The sets that a TOML file lists; InputError where it cannot be read or says anything else."""
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), _Sets).set
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"no list of sets: {error}", where=str(file)) from None


def accuracy_of_sets(
    sets: Sequence[PublicSet],
    workloads: Path,
    data: Path,
    sources: Path,
    launches: int,
    models: Sequence[Model] = (),
    keep: Path | None = None,
) -> Iterator[tuple[SetAccuracy, ...]]:
    """For every set, in order, a row for every model; sets are predicted side by side.

    `workloads` is the folder that the sets' workloads lie in, `data` that of the measurements, and
    `sources` that of the kernels' sources; at most about `launches` of each set are predicted.
    Without `models`, the default model predicts. Sets that are done are kept in the folder `keep`,
    and taken from there.
    """
    require_scipy()
    row = partial(
        _kept_or_new,
        keep=keep,
        workloads=workloads,
        data=data,
        sources=sources,
        launches=launches,
        models=tuple(models),
    )
    # A forked process would hold the locks of threads that it does not have.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        yield from pool.map(row, sets)


def _kept_or_new(
    one: PublicSet, *, keep: Path | None, launches: int, models: Sequence[Model], **folders: Path
) -> tuple[SetAccuracy, ...]:
    labels = [model_label(model) for model in models]
    return kept_answer(
        keep,
        [one, launches, labels, {name: str(path) for name, path in folders.items()}],
        tuple[SetAccuracy, ...],
        partial(accuracy_of_set, one, launches=launches, models=models, **folders),
    )


def accuracy_of_set(
    one: PublicSet,
    *,
    workloads: Path,
    data: Path,
    sources: Path,
    launches: int,
    models: Sequence[Model] = (),
) -> tuple[SetAccuracy, ...]:
    """What every model's predictions of one set are worth; the default model's without `models`."""
    models = models or (load_model(default_model_name()),)
    if one.ground_truth:
        by_model, gaps = _ground_truth(one, workloads, launches, models)
    else:
        by_model, gaps = _published(one, workloads, data, sources, launches, models)
    return tuple(_row(one, name, by_model.get(name, ()), gaps) for name in map(model_label, models))


_ByModel = tuple[Mapping[str, Sequence[Comparison]], Sequence[str]]
"""Comparisons by the model's label, and what is missing."""


def _ground_truth(one: PublicSet, folder: Path, launches: int, models: Sequence[Model]) -> _ByModel:
    """Launches of the kernels with known results, drawn at random."""
    found = read_ground_truth(str(folder / one.ground_truth))
    chip = apply_overrides(load_machine(one.gpu), one.settings)
    drawn = drawn_of(found.measured, launches)
    judged = judge([timed_launch(launch, chip) for launch in drawn], chip, models)
    return judged.compared, judged.missing


def _published(
    one: PublicSet,
    workloads: Path,
    data: Path,
    sources: Path,
    launches: int,
    models: Sequence[Model],
) -> _ByModel:
    """Launches of a published file, as many of each of its workloads."""
    files = sorted(data.glob(f"**/{one.data}"))
    if not files:
        return {}, (f"no {one.data} in {data}",)
    runs = list(_runs(one, workloads))
    build = _build(one, sources, workloads)
    by_model: dict[str, list[Comparison]] = {}
    gaps: list[str] = []
    for run in runs:
        try:
            count = max(1, launches // len(runs))
            scores, left = _compared(files[0], one, run, build, count, models)
        except KernelcastError as error:
            gaps.append(str(error))
            continue
        gaps += left
        for name, score in scores.items():
            by_model.setdefault(name, []).extend(score.comparisons)
    return by_model, gaps


def _runs(one: PublicSet, workloads: Path) -> Iterator[_SetWorkload]:
    if one.folder:
        folder = workloads / one.folder
        for workload in sorted(folder.rglob("*.cu")):
            kernel = workload.relative_to(folder).with_suffix("").as_posix()
            if kernel not in one.without:
                yield _SetWorkload(workload, (kernel,))
    elif one.kernels:
        for name, kernel in one.kernels.items():
            yield _SetWorkload(workloads / one.workload, (name,), kernel)
    else:
        yield _SetWorkload(workloads / one.workload)


def _build(one: PublicSet, sources: Path, workloads: Path) -> Build:
    inner = (folder for folder in sorted(sources.iterdir()) if folder.is_dir())
    folders = (sources, *inner, workloads / "host")
    return Build(CompileOptions(include_dirs=folders, nvrtc=one.nvrtc))


def _compared(
    file: Path,
    one: PublicSet,
    run: _SetWorkload,
    build: Build,
    count: int,
    models: Sequence[Model],
) -> tuple[Mapping[str, Score], tuple[str, ...]]:
    """The comparisons of a run by model, and what is missing."""
    answer = validate_measured(
        file,
        run.workload,
        apply_overrides(load_machine(one.gpu), one.settings),
        models,
        Choice(count, one.longer_than_us * 1e-6, run.only),
        kernel=run.kernel,
        build=build,
    )
    return answer.scores, answer.missing


def _row(
    one: PublicSet, model: str, comparisons: Sequence[Comparison], gaps: Sequence[str]
) -> SetAccuracy:
    if not comparisons:
        return SetAccuracy(one.title, one.gpu, model, None, None, None, tuple(gaps))
    by_kernel: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        by_kernel.setdefault(comparison.kernel, []).append(comparison)
    scores = [Score(tuple(part)) for part in by_kernel.values() if len(part) > 1]
    taus = [score.tau for score in scores if score.tau is not None]
    return SetAccuracy(
        title=one.title,
        gpu=one.gpu,
        model=model,
        score=Score(tuple(comparisons)),
        tau=sum(taus) / len(taus) if taus else None,
        regret=sum(score.regret for score in scores) / len(scores) if scores else None,
        missing=tuple(gaps),
    )
