"""What `models NAME` answers: a model's source, parameters and gaps."""

from __future__ import annotations

from msgspec import Struct

from kernelcast.models.terms.base import Model
from kernelcast.models.terms.parameters import parameters
from kernelcast.reporting.documents.result import parameter_value

FieldValue = bool | int | float | str | None


class ParameterDescription(Struct, frozen=True):
    """A parameter of a model: its type in words, its default, and what it means."""

    name: str
    type: str
    default: FieldValue
    meaning: str


class ModelDocument(Struct, frozen=True):
    """All that `models NAME --json` prints; `parameters` have their values by name."""

    name: str
    title: str
    source: str
    parameters: dict[str, FieldValue]
    not_modelled: list[str]
    parameter_descriptions: list[ParameterDescription]


def model_document(model: Model) -> ModelDocument:
    """A model as it is described to users."""
    found = parameters(model)
    return ModelDocument(
        name=model.name,
        title=model.title,
        source=model.source,
        parameters={p.name: parameter_value(p.value) for p in found},
        not_modelled=list(model.not_modelled),
        parameter_descriptions=[
            ParameterDescription(p.name, p.type, parameter_value(p.default), p.meaning)
            for p in found
        ],
    )
