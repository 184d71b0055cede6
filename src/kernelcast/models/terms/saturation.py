"""Resources that are busy at the same time, near saturation.

A bound takes all but the busiest resource to be hidden. Where two come near each other, requests
that wait for the one come late to the other, and neither is busy all the time. A norm softer than
the maximum says so with one number:

    T = (t_1^p + t_2^p + ...)^(1/p)

p = 1 is one resource after the other, p without end the largest alone. `docs/models/volkov.md` says
which p the timing simulation shows.
"""

from __future__ import annotations

from collections.abc import Iterable


def softened(times: Iterable[float], norm: float) -> float:
    """T for times at least 0; the largest alone where `norm` is 0."""
    listed = list(times)
    most = max(listed, default=0.0)
    if not norm or not most:
        return most
    return most * float(sum((time / most) ** norm for time in listed) ** (1 / norm))
