"""Table V: the five models that are compared, all of them settings of the model `mdm`."""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.models import read_model
from kernelcast.models.terms.base import Model

GPUMECH = "GPUMech"
GPUMECH_PLUS = "GPUMech+"
MDM_QUEUE = "MDM-Queue"
MDM_MSHR = "MDM-MSHR"
MDM = "MDM"

SIMULATION = "simulation"
"""What the five are held to, where the timing simulation is the observed side."""

TableFive = Mapping[str, Model]
"""Models by what Table V calls them."""

_SETTINGS = {
    GPUMECH: "mdm:queue=gpumech:registers=gpumech",
    GPUMECH_PLUS: "mdm:queue=gpumech+:registers=gpumech+",
    MDM_QUEUE: "mdm:registers=gpumech+",
    MDM_MSHR: "mdm:queue=gpumech+",
    MDM: "mdm",
}


def table_v() -> TableFive:
    """The five, in the order of the table."""
    return {name: read_model(text) for name, text in _SETTINGS.items()}
