"""How much of each unit's most a launch uses: the profiler's "speed of light"."""

from __future__ import annotations

from msgspec import Struct

from kernelcast.errors import MissingNumberError
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.models.terms.base import Bottleneck, Prediction
from kernelcast.models.terms.throughput import worksheet
from kernelcast.reporting.documents.base import NotNegative, Share


class SpeedPart(Struct, frozen=True):
    """One unit: the cycles that its work takes at its highest rate, and their share of the whole
    time. A unit at 1 is what a faster kernel would have to use less of."""

    unit: Bottleneck
    cycles: NotNegative
    share: Share


def speed_of_light(prediction: Prediction) -> list[SpeedPart]:
    """Units by falling share; none where the machine lacks the numbers for it.

    The work is that of the worksheet (Volkov 2016, section 3.6), the time that of the prediction.
    """
    try:
        sheet = worksheet(prediction.case, Estimate.CENTRAL, "speed of light")
    except MissingNumberError:
        return []
    whole = prediction.cycles
    cycles = {use.resource: sheet.even_cycles(use) for use in sheet.uses}
    parts = [
        SpeedPart(unit, c, min(1.0, c / whole) if whole else 0.0) for unit, c in cycles.items()
    ]
    return sorted((p for p in parts if p.cycles), key=lambda part: -part.share)
