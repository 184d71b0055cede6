"""What `models` answers: the performance models that there are."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.models.terms.base import Model
from kernelcast.reporting.documents.model import ModelDocument, model_document


class ModelsDocument(Struct, frozen=True):
    """All that `models --json` prints; `default` is used where none is named."""

    default: str
    models: list[ModelDocument]


def models_document(models: Sequence[Model], default: str) -> ModelsDocument:
    """Models in the order given."""
    return ModelsDocument(default, [model_document(model) for model in models])
