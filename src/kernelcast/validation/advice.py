"""What advice costs where every configuration was measured: sets of tuned kernels, searched.

Advice is found as `advise` finds it: a fast model ranks the configurations, and of those that it
ranks first the default model chooses one. The regret is what that takes longer than the fastest of
the whole set, which is always among those that are looked at.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernelcast.execution.trace import Progress
from kernelcast.models import default_model_name, load_model
from kernelcast.models.terms.base import Model
from kernelcast.models.terms.parameters import model_label
from kernelcast.validation.accuracy import Comparison, regret
from kernelcast.validation.public import answers_of
from kernelcast.validation.public_launches import (
    Folders,
    LaunchAnswer,
    PublishedLaunch,
    drawn_launches,
)
from kernelcast.validation.public_sets import PublicSet


@dataclass(frozen=True)
class AdvisedSet:
    """The advice for the kernel of one set.

    `ranked` are the configurations as the fast model forecasts them, the fastest first, and
    `judged` the finalists as the default model does. `missing` says what was not predicted.
    """

    title: str
    gpu: str
    searched_by: str
    judged_by: str
    ranked: tuple[Comparison, ...]
    judged: tuple[Comparison, ...]
    missing: tuple[str, ...]

    @property
    def advised(self) -> Comparison:
        """The configuration that is advised, as the default model forecasts it."""
        return min(self.judged, key=lambda c: c.predicted_s)

    @property
    def fastest(self) -> Comparison:
        """The configuration that was measured to be the fastest, as the fast model forecasts it."""
        return min(self.ranked, key=lambda c: c.measured_s)

    @property
    def regret(self) -> float:
        """What the advised configuration takes longer than the fastest, as a share."""
        return self.advised.measured_s / self.fastest.measured_s - 1

    def words(self, configuration: Comparison) -> str:
        """The parameters of a configuration that are not the same in all."""
        every = [set(c.launch.split()[1:]) for c in self.ranked]
        common = set.intersection(*every) if len(every) > 1 else set()
        return " ".join(word for word in configuration.launch.split()[1:] if word not in common)

    @property
    def search_regret(self) -> float:
        """The same of what the fast model alone would advise."""
        return regret(self.ranked)


def advised_sets(
    sets: Sequence[PublicSet],
    folders: Folders,
    count: int,
    model: Model,
    finalists: int,
    *,
    keep: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[AdvisedSet]:
    """Advice for every set of one tuned kernel that can be predicted, out of about `count`.

    Sets of several kernels leave nothing to advise and are passed over. The rest is as in
    `public.accuracy_of_sets`.
    """
    judge = load_model(default_model_name())
    ask = partial(answers_of, keep=keep, workers=workers or os.cpu_count() or 1)
    tuned = [one for one in sets if is_tuned(one)]
    found = []
    for at, one in enumerate(tuned):
        drawn = drawn_launches(one, folders, count)
        launches = {c.place: c for c in drawn.launches if isinstance(c, PublishedLaunch)}

        def told(share: float, done: int = at) -> None:
            if progress:
                progress((done + share) / len(tuned))

        answers = ask(list(launches.values()), [model], progress=told)
        ranked = _compared(answers, model)
        asked = [launches[c.configuration] for c in ranked[:finalists]]
        judged = ask(asked, [judge], progress=None)
        missing = (what for answer in (*answers, *judged) for what in answer.missing)
        found.append(
            AdvisedSet(
                title=one.title,
                gpu=one.gpu,
                searched_by=model_label(model),
                judged_by=model_label(judge),
                ranked=ranked,
                judged=_compared(judged, judge),
                missing=tuple(dict.fromkeys((*drawn.missing, *missing))),
            )
        )
    return found


def is_tuned(one: PublicSet) -> bool:
    """Whether a set holds configurations of one kernel."""
    return bool(one.workload) and not (one.kernels or one.folder or one.aside)


def _compared(answers: Sequence[LaunchAnswer], model: Model) -> tuple[Comparison, ...]:
    label = model_label(model)
    found = (own for answer in answers for own in answer.compared.get(label, ()))
    return tuple(sorted(found, key=lambda c: c.predicted_s))
