"""The default model: what it takes from the simulation, from the bounds, and from measurements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelcast import api
from kernelcast.errors import UnsupportedError
from kernelcast.models.teg import Teg
from kernelcast.models.terms import trust
from kernelcast.models.terms.base import Bottleneck, Part

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy.cu"


@pytest.fixture(scope="module")
def cases():
    """The same launch on a chip that was measured, on one of its kin that was not, and others."""
    found = {}
    for gpu in ("h100-sxm", "h100-pcie", "rtx-4090", "gtx-1080"):
        kernel = api.load(SAXPY, gpu=gpu)
        found[gpu] = api.case(kernel, api.workload(SAXPY).launches[0], gpu)
    return found


def test_the_time_is_that_of_the_simulation(cases):
    case = cases["h100-sxm"]
    auto, teg, volkov = (api.predict(case, model) for model in ("auto", "teg", "volkov"))
    assert (auto.cycles, auto.breakdown, auto.bounds) == (teg.cycles, teg.breakdown, teg.bounds)
    assert auto.needed_warps == volkov.needed_warps
    assert auto.simulated is not None


def test_the_interval_is_that_of_the_sample_times_what_measurements_left_open(cases):
    for gpu in ("h100-sxm", "rtx-4090"):
        auto, teg = (api.predict(cases[gpu], model) for model in ("auto", "teg"))
        kind = trust.kind_of(teg)
        factors = trust.FITTED[kind]
        low, high = (teg.time_s if end is None else end for end in (teg.low_s, teg.high_s))
        assert auto.low_s == pytest.approx(low * factors.low)
        assert auto.high_s == pytest.approx(high * factors.high)


@pytest.fixture
def bound():
    """A forecast whose resources are busy for shares of its time."""

    def make(case, *shares, bottleneck=Bottleneck.DRAM_BANDWIDTH):
        forecast = api.predict(case, "teg")
        bounds = tuple(Part(str(at), share * forecast.cycles) for at, share in enumerate(shares))
        return replace(forecast, bounds=bounds, bottleneck=bottleneck)

    return make


def test_there_is_no_doubt_where_one_resource_binds_alone(cases, bound):
    case = cases["rtx-4090"]
    assert not trust.has_doubt(bound(case, 0.9, 0.5))
    assert trust.has_doubt(bound(case, 0.7, 0.5))
    assert trust.has_doubt(bound(case, 0.9, 0.85))
    assert trust.has_doubt(bound(case, 0.9, bottleneck=Bottleneck.ATOMICS))


def test_there_is_a_doubt_where_caches_are_not_simulated_in_whole_waves(cases, bound):
    case = cases["rtx-4090"]
    counts = case.cache_counts
    in_part = replace(counts, simulated=replace(counts.simulated, in_whole_waves=False))
    forecast = bound(case, 0.9)
    for seen in (in_part, None):
        other = SimpleNamespace(cache_counts=seen, traffic=case.traffic)
        assert trust.has_doubt(replace(forecast, case=other))


def test_of_launches_one_after_the_other_the_widest_interval_counts(cases, bound):
    case = cases["rtx-4090"]
    sure, doubtful, bounds = bound(case, 0.9), bound(case, 0.7), api.predict(case, "volkov")
    assert trust.kind_of(sure, sure) == trust.Kind("teg", has_doubt=False)
    assert trust.kind_of(sure, doubtful) == trust.Kind("teg", has_doubt=True)
    assert trust.kind_of(doubtful, bounds) == trust.Kind("volkov", has_doubt=True)


def test_a_doubt_widens_the_interval():
    sure, doubtful = (trust.FITTED[trust.Kind("teg", doubt)] for doubt in (False, True))
    assert doubtful.low < sure.low
    assert doubtful.high > sure.high


@pytest.mark.parametrize("doubt", [False, True])
def test_bounds_leave_more_open_than_the_simulation(doubt: bool) -> None:
    played, bounds = (trust.FITTED[trust.Kind(model, doubt)] for model in ("teg", "volkov"))
    assert bounds.high / bounds.low > played.high / played.low


def test_chips_that_nobody_compared_are_named(cases):
    def remarks(gpu: str) -> list[str]:
        forecast = api.predict(cases[gpu])
        return [text for text in forecast.assumptions if "outside what was validated" in text]

    assert not remarks("h100-sxm")
    assert "compute capability 8.9" in remarks("rtx-4090")[0]


def test_chips_before_those_that_were_compared_have_the_bounds(cases):
    auto, volkov = (api.predict(cases["gtx-1080"], model) for model in ("auto", "volkov"))
    assert (auto.cycles, auto.breakdown) == (volkov.cycles, volkov.breakdown)
    assert auto.simulated is None


def test_what_cannot_be_played_has_the_bounds_and_says_why(cases, monkeypatch):
    def refuses(*_):
        raise UnsupportedError("no such thing")

    monkeypatch.setattr(Teg, "predict", refuses)
    case = cases["h100-sxm"]
    auto, volkov = (api.predict(case, model) for model in ("auto", "volkov"))
    assert auto.cycles == volkov.cycles
    assert "no such thing" in auto.assumptions[0]
    assert volkov.high_s
    factors = trust.FITTED[trust.kind_of(volkov)]
    assert auto.high_s == pytest.approx(volkov.high_s * factors.high)


def test_sweeps_take_the_fast_model(cases):
    case = cases["h100-sxm"]
    explored, clocks = api.explore([case], ["sm.count=132"]), api.dvfs(case, sm_hz=[1e9])
    assert {row.model.name for row in explored.sweep.rows} == {"volkov"}
    assert clocks.nominal.model.name == "volkov"
