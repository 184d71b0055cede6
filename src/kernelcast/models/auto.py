"""The default: the timing simulation where the launch can be played, the bounds where it cannot.

Either is given the interval that comparisons with measurements have earned it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from kernelcast.errors import MissingNumberError, UnsupportedError
from kernelcast.machines.compared import is_before_compared
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Case, Prediction
from kernelcast.models.terms.trust import trusted
from kernelcast.models.volkov import Volkov


@dataclass(frozen=True)
class Auto:
    """The timing simulation, with the warps that would hide latency and an interval.

    Parameters
    ----------
    instructions:
        Warp instructions to simulate at the most; what is left out is extrapolated.
    """

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "Timing simulation with an interval from measurements"
    source: ClassVar[str] = "docs/models/auto.md, from docs/models/teg.md and docs/models/volkov.md"
    not_modelled: ClassVar[tuple[str, ...]] = Teg.not_modelled

    instructions: int = Teg.instructions

    def predict(self, case: Case) -> Prediction:
        """The time of a case.

        Raises
        ------
        MissingNumberError
            If the machine lacks what the bounds need.
        """
        bounds = Volkov().predict(case)
        if is_before_compared(case.machine):
            return replace(trusted(bounds), model=self)
        try:
            played = Teg(self.instructions).predict(case)
        except (MissingNumberError, UnsupportedError) as error:
            why = f"the launch is not simulated, the time is that of the bounds: {error}"
            return replace(trusted(_noting(bounds, why)), model=self)
        return replace(trusted(played), model=self, needed_warps=bounds.needed_warps)


def _noting(prediction: Prediction, note: str) -> Prediction:
    return replace(prediction, assumptions=(note, *prediction.assumptions))
