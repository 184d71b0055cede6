"""The page of a forecast: what `predict`, `compare` or `explain` answers, every result in depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.documents.compare import CompareDocument
from kernelcast.reporting.documents.end_to_end import EndToEndTime
from kernelcast.reporting.documents.explain import ExplainDocument, explain_document
from kernelcast.reporting.documents.predict import PredictDocument
from kernelcast.version import VERSION

_SCHEMA: Literal["kernelcast/report/1"] = "kernelcast/report/1"


class ReportDocument(Struct, frozen=True, omit_defaults=True):
    """All that a page shows: what the command answers of several results or files, null where it
    is one, every result as `explain` gives it, in their order, and programs with their copies."""

    schema: Literal["kernelcast/report/1"]
    kernelcast: str
    together: PredictDocument | None
    versions: CompareDocument | None
    explained: list[ExplainDocument]
    end_to_end: list[EndToEndTime] = []


def report_document(
    predictions: Sequence[Prediction], answer: PredictDocument | CompareDocument
) -> ReportDocument:
    """Predictions in depth below what a command says of them together."""
    return page_of([explain_document(p) for p in predictions], answer)


def page_of(
    explained: list[ExplainDocument], answer: PredictDocument | CompareDocument | None = None
) -> ReportDocument:
    """What is explained already, as a page."""
    return ReportDocument(
        schema=_SCHEMA,
        kernelcast=VERSION,
        together=answer if isinstance(answer, PredictDocument) and answer.overview else None,
        versions=answer if isinstance(answer, CompareDocument) else None,
        explained=explained,
        end_to_end=answer.end_to_end if isinstance(answer, PredictDocument) else [],
    )
