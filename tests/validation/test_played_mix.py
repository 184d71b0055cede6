"""Volkov's mix in the timing simulation, against the refined model of his section 6.5."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelcast.errors import InputError
from kernelcast.machines.loader import load_machine
from kernelcast.validation.arena import GPUS, agreement, contestants, field, judge
from kernelcast.validation.played_mix import PlayedMixes
from kernelcast.validation.statements import LARGEST, Statement, verdicts

SPREAD = PlayedMixes()
TOGETHER = PlayedMixes(together=True)


def played(gpu: str, alpha: float, warps: int, mixes: PlayedMixes = SPREAD) -> float:
    return float(
        mixes.throughput(load_machine(gpu), np.array([alpha]), np.array([float(warps)]))[0, 0]
    )


@pytest.mark.parametrize(
    ("gpu", "alone"), [("8800-gtx", 444 + 8 * 20), ("gtx-680", 301 + 8 * 9), ("gtx-980", 368 + 48)]
)
def test_few_warps_take_the_latencies_of_a_group(gpu, alone):
    """Table 6.2: one warp on every scheduler, so that nothing waits but for its own results."""
    warps = int(load_machine(gpu).number("sm.schedulers"))
    assert warps / played(gpu, 8, warps) == pytest.approx(alone, rel=0.01)


@pytest.mark.parametrize("gpu", GPUS)
def test_additions_alone_reach_the_peak_with_the_warps_of_little_s_law(gpu):
    machine = load_machine(gpu)
    peak = float(field(machine, (math.inf,)).bound[0, 0])
    enough = math.ceil(machine.number("latency.fp32") * peak / machine.number("sm.schedulers"))
    warps = enough * int(machine.number("sm.schedulers"))
    assert played(gpu, math.inf, warps) == pytest.approx(peak, rel=1e-3)
    assert played(gpu, math.inf, warps // 2) < 0.7 * peak


@pytest.mark.parametrize("gpu", GPUS)
def test_it_is_within_5_percent_of_the_refined_model_near_the_bound(gpu):
    machine = load_machine(gpu)
    most = int(machine.number("occupancy.warps_per_sm"))
    schedulers = int(machine.number("sm.schedulers"))
    warps = [n for n in range(schedulers, most + 1, schedulers) if n * 3 >= most][::3]
    found = agreement(field(machine, (0, 64, 181), warps, SPREAD.throughput))
    assert found.near_points >= 3
    assert found.holds, found


def test_warps_that_begin_together_lose_more_where_two_bounds_meet():
    """As the dissertation's measured ones do at intermediate alpha, by up to 1.09 to 1.2."""
    refined = float(field(load_machine("gtx-480"), (64,), (26,)).refined[0, 0])
    assert refined / played("gtx-480", 64, 26) == pytest.approx(1, abs=0.03)
    assert 1.09 < refined / played("gtx-480", 64, 26, TOGETHER) < 1.2


def test_where_it_is_observed_the_refined_model_is_judged_with_all_others():
    machine = load_machine("gtx-680")
    on = field(machine, (8,), (4, 8), SPREAD.throughput)
    assert [c.name for c in contestants(on)][:2] == ["refined", "volkov"]
    scores = judge([machine], (8,), (4, 8), SPREAD.throughput)
    assert [s.contestant for s in scores][:2] == ["observed", "refined"]
    assert scores[1].extremes == pytest.approx((1, 1), abs=0.06)


def test_a_statement_is_checked_against_what_is_observed():
    says = Statement("refined", "gtx-680", LARGEST, (math.inf,), 1.0, 1.2, "nowhere")
    machine = load_machine("gtx-680")
    assert verdicts([machine], (says,)) == ()
    (verdict,) = verdicts([machine], (says,), SPREAD.throughput)
    assert verdict.found == pytest.approx(1, abs=1e-3)
    assert verdict.holds


@pytest.mark.parametrize("alpha", [0.5, 5000])
def test_additions_that_cannot_be_played(alpha):
    with pytest.raises(InputError, match="additions per load"):
        played("gtx-680", alpha, 4)
