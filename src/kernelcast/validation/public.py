"""The table of measured accuracy: published sets of measurements, each predicted as one row."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from kernelcast.errors import ToolError
from kernelcast.execution.trace import Progress
from kernelcast.models import default_model_name, load_model
from kernelcast.models.terms.base import Model
from kernelcast.models.terms.parameters import model_label
from kernelcast.processes import become_worker
from kernelcast.toolchain.nvcc import CHOSEN
from kernelcast.toolchain.wheels import wheel_versions
from kernelcast.validation.accuracy import Comparison, nearest_rank, require_scipy
from kernelcast.validation.kept_answers import kept_answer
from kernelcast.validation.measured import Score
from kernelcast.validation.public_launches import (
    CountPair,
    DrawnLaunches,
    Folders,
    LaunchAnswer,
    SetLaunch,
    drawn_launches,
)
from kernelcast.validation.public_sets import PublicSet


@dataclass(frozen=True)
class CountAccuracy:
    """One counter of a set, as expected and as read."""

    metric: str
    pairs: tuple[CountPair, ...]

    @property
    def errors(self) -> list[float]:
        """|expected - counted| / counted of every launch; 0 where both are."""
        return [
            abs(p.expected / p.counted - 1) if p.counted else math.inf if p.expected else 0.0
            for p in self.pairs
        ]

    @property
    def median_error(self) -> float:
        """The error that half of the launches do not exceed."""
        return nearest_rank(self.errors, 0.5)

    def share_within(self, error: float) -> float:
        """The share of the launches whose counter is no further off."""
        return sum(e <= error for e in self.errors) / len(self.pairs)


@dataclass(frozen=True)
class SetAccuracy:
    """What a model's predictions of one set are worth; `score` is None where there are none.

    `tau` and `regret` are means over the kernels of the set that have several launches; of whole
    programs, `tau` is that of all launches, among which there is nothing to choose. `missing` says
    what was not predicted, and why, `aside` how many rows every rule left out.
    """

    title: str
    gpu: str
    model: str
    score: Score | None
    tau: float | None
    regret: float | None
    missing: tuple[str, ...]
    aside: Mapping[str, int] = field(default_factory=dict)
    counted: tuple[CountAccuracy, ...] = ()


def accuracy_of_sets(
    sets: Sequence[PublicSet],
    folders: Folders,
    count: int,
    models: Sequence[Model] = (),
    *,
    keep: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[SetAccuracy]:
    """For every set, in order, a row for every model; the default model's without `models`.

    At most about `count` launches of each set are predicted, side by side by as many processes as
    `workers` says, else as there are cores. An answer is kept in the folder `keep`, and taken from
    there by all that it follows from. ToolError where a process ends on its own.
    """
    require_scipy()
    models = tuple(models) or (load_model(default_model_name()),)
    drawn = [drawn_launches(one, folders, count) for one in sets]
    asked = [launch for of_set in drawn for launch in of_set.launches]
    answers = iter(answers_of(asked, models, keep, workers or os.cpu_count() or 1, progress))
    rows: list[SetAccuracy] = []
    for one, of_set in zip(sets, drawn, strict=True):
        own = [next(answers) for _ in of_set.launches]
        rows += [_row(one, model_label(model), of_set, own, folders) for model in models]
    return rows


def answers_of(
    launches: Sequence[SetLaunch],
    models: Sequence[Model],
    keep: Path | None,
    workers: int,
    progress: Progress | None,
) -> list[LaunchAnswer]:
    """What is said of launches, in their order; as in `accuracy_of_sets`."""
    answer = partial(_kept_or_new, models=models, keep=keep)
    found: list[LaunchAnswer] = []
    if min(workers, len(launches)) < 2:
        for at, launch in enumerate(launches, 1):
            found.append(answer(launch))
            if progress:
                progress(at / len(launches))
        return found
    # A forked process would hold the locks of threads that it does not have.
    # A worker that is interrupted leaves without a word: what it has done is kept.
    begin = partial(become_worker, ends_on_interrupt=True)
    pool = ProcessPoolExecutor(workers, get_context("spawn"), begin)
    try:
        futures = [pool.submit(answer, launch) for launch in launches]
        for at, _ in enumerate(_done(futures), 1):
            if progress:
                progress(at / len(launches))
        return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _done(futures: Sequence[Future[LaunchAnswer]]) -> Iterator[Future[LaunchAnswer]]:
    done = 0
    try:
        for future in as_completed(futures):
            future.result()
            done += 1
            yield future
    except BrokenProcessPool:
        raise ToolError(
            f"a worker process ended on its own after {done} of {len(futures)} launches",
            hint="most often memory runs out: --threads 1 predicts one launch at a time",
        ) from None


def _kept_or_new(launch: SetLaunch, *, models: Sequence[Model], keep: Path | None) -> LaunchAnswer:
    labels = [model_label(model) for model in models]
    # Another compiler makes other code, and what none is there for may be compiled later.
    asked = [launch.asked, labels, wheel_versions(), os.environ.get(CHOSEN)] if keep else []
    return kept_answer(keep, asked, LaunchAnswer, partial(launch.answer, models))


def _row(
    one: PublicSet,
    model: str,
    drawn: DrawnLaunches,
    answers: Sequence[LaunchAnswer],
    folders: Folders,
) -> SetAccuracy:
    aside = dict(drawn.aside) | Counter(answer.aside for answer in answers if answer.aside)
    missing = (*drawn.missing, *(what for answer in answers for what in answer.missing))
    comparisons = [c for answer in answers for c in answer.compared.get(model, ())]
    tau, regret = _of_programs(comparisons) if one.programs else _of_order(comparisons)
    return SetAccuracy(
        title=one.title,
        gpu=one.gpu,
        model=model,
        score=Score(tuple(comparisons)) if comparisons else None,
        tau=tau,
        regret=regret,
        missing=tuple(dict.fromkeys(_named_within(folders, missing))),
        aside=aside,
        counted=_count_scores(answers),
    )


def _named_within(folders: Folders, texts: Iterable[str]) -> Iterator[str]:
    """The same texts with files named as in their folders, wherever on a machine these lie."""
    all_of_them = (folders.sources, folders.data, folders.workloads)
    paths = [path for one in all_of_them for path in (one.absolute(), one.resolve())]
    for text in texts:
        for path in paths:
            text = text.replace(f"{path}/", "")
        yield text


def _count_scores(answers: Sequence[LaunchAnswer]) -> tuple[CountAccuracy, ...]:
    """By counter, over all launches that have it."""
    by_metric: dict[str, list[CountPair]] = {}
    for answer in answers:
        for pair in answer.counted:
            by_metric.setdefault(pair.metric, []).append(pair)
    return tuple(CountAccuracy(metric, tuple(own)) for metric, own in by_metric.items())


def _of_programs(comparisons: Sequence[Comparison]) -> tuple[float | None, None]:
    """Tau of the launches of different programs."""
    return Score(tuple(comparisons)).tau if len(comparisons) > 1 else None, None


def _of_order(comparisons: Sequence[Comparison]) -> tuple[float | None, float | None]:
    """Tau and regret, means over the kernels with several launches; None where there are none."""
    by_kernel: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        by_kernel.setdefault(comparison.kernel, []).append(comparison)
    scores = [Score(tuple(part)) for part in by_kernel.values() if len(part) > 1]
    taus = [score.tau for score in scores if score.tau is not None]
    return (
        sum(taus) / len(taus) if taus else None,
        sum(score.regret for score in scores) / len(scores) if scores else None,
    )
