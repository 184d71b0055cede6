"""The page of a forecast: what `predict`, `compare` or `explain` answers, every result in depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.execution.trace import Progress
from kernelcast.exploration.what_if import ranking
from kernelcast.forecasting.consulted import consulted_numbers
from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.documents.compare import CompareDocument
from kernelcast.reporting.documents.end_to_end import EndToEndTime
from kernelcast.reporting.documents.explain import ExplainDocument, explain_document
from kernelcast.reporting.documents.gpu import QuantityPart, quantity_part
from kernelcast.reporting.documents.predict import PredictDocument
from kernelcast.reporting.documents.what_if import WhatIfResult, what_if_result
from kernelcast.version import VERSION

_SCHEMA: Literal["kernelcast/report/1"] = "kernelcast/report/1"


class Background(Struct, frozen=True):
    """What a page tells beside a result: the numbers of the machine that its model read, by path,
    and what its bottlenecks cost, null where it was not simulated."""

    numbers: dict[str, QuantityPart]
    costs: WhatIfResult | None


class ReportDocument(Struct, frozen=True, omit_defaults=True):
    """All that a page shows: what the command answers of several results or files, null where it
    is one, every result as `explain` gives it, in their order, programs with their copies, and the
    background of every result, or of none where there are many."""

    schema: Literal["kernelcast/report/1"]
    kernelcast: str
    together: PredictDocument | None
    versions: CompareDocument | None
    explained: list[ExplainDocument]
    end_to_end: list[EndToEndTime] = []
    backgrounds: list[Background] = []


def report_document(
    predictions: Sequence[Prediction],
    answer: PredictDocument | CompareDocument,
    backgrounds: Sequence[Background] = (),
) -> ReportDocument:
    """Predictions in depth below what a command says of them together."""
    return page_of([explain_document(p) for p in predictions], answer, backgrounds)


def page_of(
    explained: list[ExplainDocument],
    answer: PredictDocument | CompareDocument | None = None,
    backgrounds: Sequence[Background] = (),
) -> ReportDocument:
    """What is explained already, as a page; the backgrounds are of the same results, or none."""
    return ReportDocument(
        schema=_SCHEMA,
        kernelcast=VERSION,
        together=answer if isinstance(answer, PredictDocument) and answer.overview else None,
        versions=answer if isinstance(answer, CompareDocument) else None,
        explained=explained,
        end_to_end=_programs(explained, answer),
        backgrounds=list(backgrounds),
    )


def _programs(
    explained: list[ExplainDocument], answer: PredictDocument | CompareDocument | None
) -> list[EndToEndTime]:
    """Programs with their copies, of what answers."""
    match answer:
        case PredictDocument():
            return answer.end_to_end
        case CompareDocument():
            return [whole for version in answer.versions for whole in version.end_to_end]
    return [one.end_to_end for one in explained if one.end_to_end is not None]


def background(prediction: Prediction, progress: Progress | None = None) -> Background:
    """The background of a result, for which it is forecast and simulated again, a few seconds."""
    numbers = consulted_numbers(prediction)
    found = ranking(prediction, progress)
    return Background(
        numbers={path: quantity_part(one) for path, one in numbers.items()},
        costs=None if found is None else what_if_result(found),
    )
