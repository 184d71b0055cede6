"""A forecast beside the time that a GPU took, as every document of measured times has it."""

from __future__ import annotations

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.validation.accuracy import Comparison


class MeasuredLaunch(Struct, frozen=True):
    """One launch; `place` is where the file has it, `ratio` predicted over measured time, `low_s`
    and `high_s` the interval of the forecast, null where the model gives none. `bottleneck` is what
    the forecast says that binds, `measured_bottleneck` what counters say, such as
    `l2 bandwidth or dram bandwidth` where they do not tell the two apart; empty where nobody
    knows."""

    kernel: str
    place: Natural
    launch: str
    predicted_s: NotNegative
    measured_s: NotNegative
    ratio: NotNegative
    low_s: NotNegative | None
    high_s: NotNegative | None
    bottleneck: str = ""
    measured_bottleneck: str = ""


def measured_launch(c: Comparison) -> MeasuredLaunch:
    """A comparison in the published form."""
    return MeasuredLaunch(
        c.kernel,
        c.configuration,
        c.launch,
        c.predicted_s,
        c.measured_s,
        c.ratio,
        c.low_s,
        c.high_s,
        c.bottleneck,
        " or ".join(c.measured_bottlenecks),
    )
