"""What `validate resios` answers: the numbers of the thesis, and its experiments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative, Positive
from kernelcast.reporting.documents.paper_numbers import PaperNumberPart, paper_number_parts
from kernelcast.validation.paper_numbers import PaperNumber
from kernelcast.validation.resios.experiments import ExperimentResult
from kernelcast.validation.resios.tables import TLPS, ThroughputCurve


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


class ThroughputPart(Struct, frozen=True):
    """Results per cycle of an SM by equation 4.5, at `ilp` independent operations of a warp and
    every number of warps in `tlps` of the document."""

    operation: str
    ilp: Positive
    results_per_cycle: list[NotNegative]


class ResiosDocument(Struct, frozen=True):
    """All that `validate resios --json` prints; `met` of `stated` numbers hold."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["resios"]
    machine: str
    holds: bool
    met: Natural
    stated: Natural
    numbers: list[PaperNumberPart]
    tlps: list[Positive]
    throughputs: list[ThroughputPart]
    experiments: list[ThesisExperimentPart]


def resios_document(
    machine: str,
    numbers: Sequence[PaperNumber],
    throughputs: Iterable[ThroughputCurve],
    experiments: Sequence[ExperimentResult],
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
        tlps=list(TLPS),
        throughputs=[
            ThroughputPart(curve.operation, curve.ilp, list(curve.results_per_cycle))
            for curve in throughputs
        ],
        experiments=[_experiment(e) for e in experiments],
    )


def _experiment(found: ExperimentResult) -> ThesisExperimentPart:
    given = found.experiment
    return ThesisExperimentPart(
        name=given.name,
        block=given.flags.block or "",
        predicted_s=found.predicted.time_s,
        simulated_s=found.simulated.time_s,
        ratio=found.ratio,
        thesis_ratio=given.ratio,
        hot_spots=list(found.hot_spots),
        thesis_hot_spots=given.hot_spots,
        differs=given.differs,
    )
