import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.calibration import fits

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
