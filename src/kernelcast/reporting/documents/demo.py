"""What `demo` answers: example kernels, each on several GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.documents.predict import Overview, PredictDocument, overview
from kernelcast.reporting.documents.predict import predict_document as _document


class DemoDocument(Struct, frozen=True):
    """All that `demo --json` prints: a document for every example and GPU, and an overview for
    every example, of as many documents as its `of_fastest` has entries, in their order."""

    examples: list[PredictDocument]
    overviews: list[Overview]


def demo_document(kernels: Sequence[Sequence[Prediction]]) -> DemoDocument:
    """Predictions by example kernel."""
    return DemoDocument(
        examples=[_document([p]) for predictions in kernels for p in predictions],
        overviews=[overview(predictions) for predictions in kernels],
    )
