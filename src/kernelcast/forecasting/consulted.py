"""The numbers of a machine that a forecast rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernelcast.machines.consulted import watched
from kernelcast.machines.machine import Quantity
from kernelcast.machines.schema import ENTRIES
from kernelcast.models.terms.base import Prediction


def consulted_numbers(prediction: Prediction) -> Mapping[str, Quantity]:
    """The numbers that the model reads for the case, by path, in the order of the schema.

    It is asked once more, which takes as long as the first time.
    """
    case = prediction.case
    machine, read = watched(case.machine)
    prediction.model.predict(replace(case, machine=machine))
    numbers = case.machine.quantities
    return {path: numbers[path] for path in ENTRIES if path in read}
