"""What `validate resios` answers: the numbers of the thesis, and its experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.reporting.documents.paper_numbers import PaperNumberPart, paper_number_parts
from kernelcast.validation.paper_numbers import PaperNumber
from kernelcast.validation.resios.experiments import ExperimentResult


class ThesisExperimentPart(Struct, frozen=True):
    """An experiment of chapter 7.

    `thesis_ratio` is its prediction over what it measured, `ratio` our prediction by its model over
    that of the timing simulation, both without the launch; `differs` says why they do.
    """

    name: str
    block: str
    predicted_s: NotNegative
    simulated_s: NotNegative
    ratio: NotNegative
    thesis_ratio: NotNegative
    hot_spots: list[str]
    thesis_hot_spots: str
    differs: str


class ResiosDocument(Struct, frozen=True):
    """All that `validate resios --json` prints; `met` of `stated` numbers hold."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["resios"]
    machine: str
    holds: bool
    met: Natural
    stated: Natural
    numbers: list[PaperNumberPart]
    experiments: list[ThesisExperimentPart]


def resios_document(
    machine: str, numbers: Sequence[PaperNumber], experiments: Sequence[ExperimentResult]
) -> ResiosDocument:
    """What was found, beside what the thesis says."""
    met = sum(n.holds for n in numbers)
    return ResiosDocument(
        schema="kernelcast/validate/1",
        set="resios",
        machine=machine,
        holds=met == len(numbers),
        met=met,
        stated=len(numbers),
        numbers=paper_number_parts(numbers),
        experiments=[_experiment(e) for e in experiments],
    )


def _experiment(found: ExperimentResult) -> ThesisExperimentPart:
    given = found.experiment
    return ThesisExperimentPart(
        name=given.name,
        block=given.block,
        predicted_s=found.predicted.time_s,
        simulated_s=found.simulated.time_s,
        ratio=found.ratio,
        thesis_ratio=given.ratio,
        hot_spots=list(found.hot_spots),
        thesis_hot_spots=given.hot_spots,
        differs=given.differs,
    )
