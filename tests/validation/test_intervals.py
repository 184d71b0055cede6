"""Intervals: fitted to one half of the launches, judged by the other."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from kernelcast.models.terms.trust import FITTED, Kind
from kernelcast.validation.accuracy import Comparison, coverage
from kernelcast.validation.intervals import fitted_factors, halves, interval_scores, share_held
from kernelcast.validation.measured import Score
from kernelcast.validation.public import SetAccuracy


def compared(kernel: str, configuration: int, ratio: float, sure: float = 1.0) -> Comparison:
    """A launch that took `ratio` times what was forecast, between 1 / `sure` and `sure` ms."""
    return Comparison(kernel, configuration, "", 1e-3, ratio * 1e-3, 1e-3 / sure, 1e-3 * sure)


def many(count: int, seed: int = 1) -> list[Comparison]:
    """Launches of as many kernels, off by a factor with a standard deviation of a tenth."""
    drawn = random.Random(seed)
    return [compared(f"k{i}", 0, math.exp(drawn.gauss(0, 0.1))) for i in range(count)]


def test_a_twentieth_lies_beyond_either_end():
    ratios = [0.5, *([1.0] * 98), 2.0]
    factors = fitted_factors([compared("k", at, ratio) for at, ratio in enumerate(ratios)])
    assert (factors.low, factors.high) == pytest.approx((1.0, 1.0))
    factors = fitted_factors([compared("k", at, 1 + at / 100) for at in range(1, 101)])
    assert (factors.low, factors.high) == pytest.approx((1.05, 1.95))


def test_factors_come_on_top_of_what_the_sample_leaves_open():
    factors = fitted_factors([compared(f"k{i}", 0, 1.3, sure=1.1) for i in range(20)])
    assert (factors.low, factors.high) == pytest.approx((1.3 * 1.1, 1.3 / 1.1))


def test_the_other_half_is_held_as_well_as_the_first():
    parts = halves([many(2000)])
    factors = fitted_factors(parts.fitted)
    assert share_held(parts.fitted, factors) == pytest.approx(0.9, abs=0.01)
    assert share_held(parts.judged, factors) == pytest.approx(0.9, abs=0.03)


def test_launches_of_a_kernel_are_in_one_half():
    several = [compared(f"k{i}", at, 1.0) for i in range(40) for at in range(6)]
    parts = halves([several])
    kernels = [{c.kernel for c in part} for part in (parts.fitted, parts.judged)]
    assert not kernels[0] & kernels[1]
    assert all(len(own) > 10 for own in kernels)


def test_a_set_of_one_kernel_is_shared_out():
    parts = halves([[compared("convolution", at, 1.0) for at in range(200)]])
    assert 70 < len(parts.fitted) < 130
    assert len(parts.fitted) + len(parts.judged) == 200


def test_all_chips_have_one_interval_and_models_their_own():
    rows = [of_set(many(60, seed), gpu) for seed, gpu in ((1, "h100-sxm"), (2, "rtx-4090"))]
    rows += [of_set(many(60, seed=3), model="volkov"), of_set(many(60, seed=4), model="roofline")]
    found = interval_scores(rows)
    counts = {one.kind: one.fitted + one.judged for one in found}
    assert counts == {Kind("teg", has_doubt=False): 120, Kind("volkov", has_doubt=False): 60}


def test_either_half_is_fitted_to_and_judges_the_other():
    one, other = interval_scores([of_set(many(60))])
    assert (one.fitted, one.judged) == (other.judged, other.fitted)
    parts = halves([many(60)])
    assert one.factors == fitted_factors(parts.fitted)
    assert other.factors == fitted_factors(parts.judged)
    assert other.held == share_held(parts.fitted, other.factors)


def test_launches_with_a_doubt_have_intervals_of_their_own():
    found = interval_scores([of_set(many(60)), of_set(many(60, seed=2), has_doubt=True)])
    assert [one.kind.has_doubt for one in found] == [False, False, True, True]
    assert all(one.fitted + one.judged == 60 for one in found)


@pytest.mark.parametrize("has_doubt", [False, True])
def test_what_the_default_model_widened_fits_the_same_factors(has_doubt: bool) -> None:
    used = FITTED[Kind("teg", has_doubt)]
    said = many(60)
    widened = [replace(c, low_s=used.low * 1e-3, high_s=used.high * 1e-3) for c in said]
    by_simulation = interval_scores([of_set(said, has_doubt=has_doubt)])
    by_default = interval_scores([of_set(widened, model="auto", has_doubt=has_doubt)])
    for simulated, default in zip(by_simulation, by_default, strict=True):
        assert default.kind == simulated.kind
        assert default.factors.low == pytest.approx(simulated.factors.low)
        assert default.factors.high == pytest.approx(simulated.factors.high)
        assert default.held == simulated.held


def of_set(
    comparisons: list[Comparison],
    gpu: str = "rtx-4090",
    model: str = "teg",
    *,
    has_doubt: bool = False,
) -> SetAccuracy:
    """A set whose launches the simulation answers, or the bounds where `model` says so."""
    kind = Kind("volkov" if model == "volkov" else "teg", has_doubt)
    score = Score(tuple(replace(c, kind=kind) for c in comparisons))
    return SetAccuracy("set", gpu, model, score, None, None, ())


def test_coverage_counts_launches_with_an_interval():
    bare = Comparison("k", 0, "", 1.0, 1.0)
    assert coverage([bare]) is None
    assert coverage([bare, compared("k", 1, 1.05, 1.1), compared("k", 2, 1.2, 1.1)]) == 0.5
