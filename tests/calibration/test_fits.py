import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.calibration import fits
from kernelcast.errors import ToolError

POSITIVE = st.floats(0.5, 1000.0)


@given(intercept=POSITIVE, slope=POSITIVE)
def test_a_line_is_found_exactly(intercept, slope):
    x = [64.0, 192.0, 256.0]
    found = fits.line(x, [intercept + slope * v for v in x])
    assert found.slope == pytest.approx(slope, rel=1e-6)
    assert found.intercept == pytest.approx(intercept, rel=1e-3, abs=1e-3)
    assert found.residual < 1e-9


def test_a_bent_line_has_a_residual():
    assert fits.line([1, 2, 3, 4], [1, 4, 9, 16]).residual > 0.1


@given(floor=st.floats(5, 120), intercept=POSITIVE, slope=POSITIVE)
def test_a_line_is_found_above_what_something_else_takes(floor, intercept, slope):
    """The floor shows where it is met at two points; else it is the line alone."""
    xs = [8.0, 16.0, 32.0, 64.0, 128.0]
    line = [intercept + slope * x for x in xs]
    met = sum(y < floor for y in line)
    found = fits.floored_line(xs, [max(floor, y) for y in line])
    if met in (0, 2, 3):
        assert found.line.slope == pytest.approx(slope, rel=1e-6)
        assert found.line.intercept == pytest.approx(intercept, rel=1e-6)
        assert found.floor == (pytest.approx(floor) if met else 0.0)
        assert found.at(256.0) == found.line.at(256.0)


def test_a_curve_is_no_line_above_a_floor():
    assert fits.floored_line([1, 2, 3, 4, 5, 6], [1, 4, 9, 16, 25, 36]).residual > 0.05


def test_the_error_of_a_slope_grows_as_it_sinks_in_the_noise():
    """A line may fit well and its slope be unknown: 700 cycles that grow by half a cycle each."""
    x = np.arange(32.0)
    noise = np.random.default_rng(1).standard_normal(32)
    steep, flat = (fits.line(list(x), list(700 + s * x + noise)) for s in (10.0, 0.05))
    assert max(steep.residual, flat.residual) < 0.01
    assert steep.slope_error / steep.slope < 0.01 < 0.1 < flat.slope_error / abs(flat.slope)
    # The standard error of the estimate: noise over the root of the squares about the mean.
    assert steep.slope_error == pytest.approx(noise.std() / np.sqrt(32) / x.std(), rel=0.1)


@pytest.mark.parametrize("points", [([], []), ([1.0], [2.0]), ([1.0, 1.0], [2.0, 3.0])])
def test_a_line_needs_two_points(points):
    with pytest.raises(fits.UnfitError):
        fits.line(*points)


def test_a_plateau_ignores_what_is_still_rising():
    found = fits.best_plateau([10.0, 50.0, 99.0, 100.0, 101.0])
    assert found.level == pytest.approx(100.0)
    assert found.residual == pytest.approx(np.std([99, 100, 101]) / 100)


def test_one_disturbed_run_does_not_count():
    assert fits.level([30.0, 30.0, 30.1, 29.9, 400.0]).level == 30.0
    assert fits.level([30.0, 30.0, 30.1, 29.9, 400.0]).residual < 0.01


def test_two_levels_in_one_plateau_show_in_the_residual():
    assert fits.level([200.0, 201.0, 199.0, 350.0, 351.0, 349.0]).residual > 0.2


def test_two_partitions_are_told_apart():
    random = np.random.default_rng(3)
    near, far = 260 + 12 * random.standard_normal(500), 414 + 15 * random.standard_normal(300)
    found = fits.two_levels([*near, *far])
    assert found.low.level == pytest.approx(260, rel=0.01)
    assert found.high.level == pytest.approx(414, rel=0.01)
    assert found.low.residual == pytest.approx(12 / 260, rel=0.2)


@pytest.mark.parametrize(
    "values",
    [np.linspace(220, 340, 200), np.random.default_rng(5).normal(280, 20, 200), [210.0] * 9],
)
def test_what_is_spread_evenly_or_about_one_mean_is_one_level(values):
    with pytest.raises(fits.UnfitError):
        fits.two_levels(values)


@given(size=st.floats(20_000, 400_000), share=st.floats(0.05, 0.6))
def test_a_knee_is_found_between_its_neighbours(size, share):
    sizes = [8192 * 2 ** (i / 8) for i in range(57)]
    found = fits.knee(sizes, [33.0 if s <= size else 210.0 for s in sizes], share)
    assert found.size == pytest.approx(size, rel=2 ** (1 / 8) - 1)
    assert found.residual == pytest.approx(2 ** (1 / 16) - 1, rel=0.05)
    assert (found.low, found.high) == (33.0, 210.0)


@given(disturbed=st.integers(0, 24))
def test_a_point_that_was_disturbed_is_no_knee(disturbed):
    sizes = [8192 * 2 ** (i / 8) for i in range(57)]
    latencies = [33.0 if i <= 25 else 210.0 for i in range(57)]
    undisturbed = fits.knee(sizes, latencies, 0.1)
    latencies[disturbed] = 400.0
    assert fits.knee(sizes, latencies, 0.1) == undisturbed


def test_a_gradual_rise_counts_from_where_it_has_gained_the_share():
    sizes = [float(n) for n in range(1, 101)]
    rising = [100.0 if n <= 40 else min(200.0, 100 + 5 * (n - 40)) for n in sizes]
    assert fits.knee(sizes, rising, 0.1).size == pytest.approx(42.5, abs=1)
    assert fits.knee(sizes, rising, 0.5).size == pytest.approx(50.5, abs=1)


@pytest.mark.parametrize(
    ("sizes", "latencies"),
    [
        ([1, 2, 4, 8, 16, 32], [30] * 6),
        ([1, 2, 4, 8, 16, 32], [30, 30, 30, 60, 60, 30]),
        ([1, 2, 4], [30, 30, 60]),
        ([0, 2, 4, 8, 16, 32], [30, 30, 30, 60, 60, 60]),
    ],
)
def test_where_nothing_rises_there_is_no_knee(sizes, latencies):
    with pytest.raises(fits.UnfitError):
        fits.knee(sizes, latencies, 0.1)


@given(base=st.floats(200, 900), slope=st.floats(2, 200), capacity=st.floats(1e10, 4e12))
def test_the_loaded_latency_is_found_again(base, slope, capacity):
    shares = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.85, 0.93, 0.97])
    latencies = base + slope * shares / (1 - shares)
    if latencies.max() < 1.2 * latencies.min():
        return
    found = fits.loaded_latency(list(shares * capacity), list(latencies))
    assert found.residual < 1e-3
    assert found.base == pytest.approx(base, rel=0.01)
    assert found.slope == pytest.approx(slope, rel=0.01)
    assert found.capacity == pytest.approx(capacity, rel=0.01)


def test_a_latency_that_never_grows_has_no_capacity():
    with pytest.raises(fits.UnfitError, match="does not grow"):
        fits.loaded_latency([1e9, 2e9, 3e9, 4e9], [500.0, 500.0, 501.0, 500.0])


def test_without_scipy_the_way_to_install_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ToolError, match=r"SciPy is not installed.*pip install 'kernelcast\[calib"):
        fits.loaded_latency([1e9, 2e9, 3e9, 4e9], [500.0, 510.0, 550.0, 900.0])


def test_departures_show_only_where_the_memory_is_saturated():
    warps = [1, 8, 16, 32, 64]
    saturated = fits.departure_delay(warps, [max(500.0, 25.0 * n) for n in warps])
    assert saturated.level == 25.0
    assert saturated.residual == 0.0
    assert fits.departure_delay(warps, [max(500.0, 5.0 * n) for n in warps]).residual > 0.5


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused(bad):
    for fit in (fits.level, fits.best_plateau):
        with pytest.raises(fits.UnfitError):
            fit([1.0, bad])
    with pytest.raises(fits.UnfitError):
        fits.line([1.0, 2.0], [1.0, bad])
