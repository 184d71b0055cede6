"""What notebooks show of answers: fragments that load nothing and style themselves alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.reporting.test_pages import read, words_of

import kernelcast as kc
from kernelcast.reporting.printed import Forecast, SideBySide

SAXPY = Path(__file__).parents[2] / "examples/saxpy.cu"


@pytest.fixture(scope="module")
def on_t4():
    (found,) = kc.cases(kc.workload(SAXPY), [kc.machine("t4")])
    return found


def shown(value: object) -> str:
    markup = value._repr_html_()  # type: ignore[attr-defined]
    reader = read(markup)
    assert reader.tags[0] == ("div", {"class": "kernelcast"})
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in reader.tags}
    style = markup[markup.index("<style>") + 7 : markup.index("</style>")]
    # Every rule stands within the fragment's own, so that the notebook keeps its looks.
    assert re.fullmatch(r"\s*\.kernelcast \{(.*)\}\s*", style, re.DOTALL)
    assert style.count("{") == style.count("}")
    return words_of(markup)


def test_a_forecast(on_t4):
    forecast = kc.predict(on_t4, "volkov")
    words = shown(forecast)
    assert str(forecast).splitlines()[0] in words
    assert "dram bandwidth" in words


def test_an_explanation_and_a_curve(on_t4):
    assert "where the time goes" in shown(kc.explain(on_t4, "volkov"))
    assert "of 32 warps per SM" in shown(kc.occupancy_curve(on_t4))
    assert "<svg" in kc.occupancy_curve(on_t4)._repr_html_()


def test_a_comparison(on_t4, prediction, elsewhere):
    found = kc.compare(Forecast.of(prediction), Forecast.of(elsewhere))
    assert isinstance(found, SideBySide)
    assert [f.time_s for f in found] == [5e-6, 1e-5]
    assert str(found).startswith("saxpy<<<4096, 256>>> is fastest on h100-sxm: 5.00 us")
    assert "is fastest on h100-sxm" in shown(found)
    assert len(found.as_dict()["results"]) == 2
    assert isinstance(kc.predict_all(on_t4), SideBySide)


def test_nothing_to_compare():
    with pytest.raises(kc.KernelcastError, match="no forecast to compare"):
        kc.compare()


def test_what_bottlenecks_cost_and_clocks(on_t4):
    assert "dram" in shown(kc.what_if(on_t4, "dram-bandwidth"))
    assert "clock" in shown(kc.dvfs(on_t4, "volkov"))
