"""Accuracy that was reached is kept: recorded launches of every set, forecast again.

Where a set has become worse on purpose, `scripts/record-accuracy` records it anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.validation.accuracy import mean_error
from kernelcast.validation.measured import Score
from kernelcast.validation.recorded import RecordedLaunch, forecast_again, recorded_launches

FOLDER = Path(__file__).parent / "recorded"
RECORDED = recorded_launches(FOLDER)
SETS = list(dict.fromkeys((one.set, one.gpu) for one in RECORDED))
WORSE = 1.1
"""A set may be off by a tenth more than it was, ..."""
NOTHING = 0.005
"""or by half a percent of the time."""


def test_every_kind_of_set_is_recorded() -> None:
    assert len(SETS) >= 8
    assert len({one.gpu for one in RECORDED}) >= 6


@pytest.mark.parametrize("name", SETS, ids=lambda name: ", ".join(name))
def test_no_set_has_become_worse(name: tuple[str, str]) -> None:
    own = [one for one in RECORDED if (one.set, one.gpu) == name]
    now = [forecast_again(one, FOLDER) for one in own]
    before = sum(abs(one.ratio - 1) for one in own) / len(own)
    worst = ", ".join(f"{c.launch}: {c.ratio:.3f}" for c in Score(tuple(now)).worst)
    assert mean_error(now) <= max(WORSE * before, before + NOTHING), (
        f"the mean error was {before:.1%} and is {mean_error(now):.1%}; predicted over measured of "
        f"the worst: {worst}"
    )


def test_a_forecast_that_is_off_by_more_is_seen() -> None:
    one = RECORDED[0]
    slower = RecordedLaunch(
        one.set,
        one.gpu,
        (*one.settings, "clock.sm=4e8", "clock.memory=2e8"),
        *(one.trace, one.caches, one.launch, one.predicted_s, one.ratio),
    )
    assert forecast_again(slower, FOLDER).ratio > 1.5 * forecast_again(one, FOLDER).ratio
