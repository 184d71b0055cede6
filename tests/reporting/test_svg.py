"""Line charts: valid XML, lines where their numbers say, files whole or not at all."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.reporting.svg import Chart, Mark, Polyline, svg, ticks, write_svg

NAMESPACE = "{http://www.w3.org/2000/svg}"
CHART = Chart(
    "a<b> & c",
    "warps",
    "rate",
    (
        Polyline("x<y>", ((0.0, 0.0), (10.0, 5.0), (20.0, 10.0))),
        Polyline("bound", ((0.0, 10.0),), True),
    ),
    (Mark("here", 10.0),),
)


def coordinates(text: str) -> list[list[tuple[float, float]]]:
    found = []
    for line in ElementTree.fromstring(text).iter(f"{NAMESPACE}polyline"):
        pairs = (point.split(",") for point in line.attrib["points"].split())
        found.append([(float(x), float(y)) for x, y in pairs])
    return found


def test_names_with_markup_stay_text():
    texts = [t.text for t in ElementTree.fromstring(svg([CHART])).iter(f"{NAMESPACE}text")]
    assert {"a<b> & c", "x<y>", "warps", "rate", "1  here"} <= set(texts)


def test_a_straight_line_is_drawn_straight_and_upwards():
    first, middle, last = coordinates(svg([CHART]))[0]
    assert middle[0] == pytest.approx((first[0] + last[0]) / 2, abs=0.1)
    assert middle[1] == pytest.approx((first[1] + last[1]) / 2, abs=0.1)
    assert last[1] < first[1]


def test_equal_factors_are_equal_steps_on_a_logarithmic_axis():
    line = Polyline("a", tuple((2.0**k, 1.0) for k in range(5)))
    (points,) = coordinates(svg([Chart("t", "x", "y", (line,), logarithmic=True)]))
    steps = [b[0] - a[0] for a, b in pairwise(points)]
    assert steps == pytest.approx([steps[0]] * 4, abs=0.11)


def test_everything_lies_within_the_picture():
    root = ElementTree.fromstring(svg([CHART, CHART]))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for text in root.iter(f"{NAMESPACE}text"):
        if "x" in text.attrib:
            assert 0 <= float(text.attrib["x"]) <= width
            assert 0 <= float(text.attrib["y"]) <= height / 2


def test_both_colour_schemes_set_ground_and_text():
    style = ElementTree.fromstring(svg([CHART])).findtext(f"{NAMESPACE}style")
    assert style is not None
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for scheme in (light, dark):
        assert ".ground { fill:" in scheme
        assert "text { fill:" in scheme


@given(st.floats(1e-9, 1e12))
def test_ticks_are_few_and_cover_the_highest(highest):
    found = ticks(highest)
    assert found[0] == 0
    assert found[-1] >= highest * (1 - 1e-6)
    assert 3 <= len(found) <= 8


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_cannot_be_drawn_is_refused(value):
    with pytest.raises(AssertionError):
        Chart("t", "x", "y", (Polyline("a", ((0.0, value),)),))


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "out.svg"
    path.write_text("old")
    write_svg(path, [CHART])
    assert path.read_text(encoding="utf-8") == svg([CHART])
    assert [p.name for p in tmp_path.iterdir()] == ["out.svg"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "out.svg"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(InputError, match="No space left"):
        write_svg(path, [CHART])
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.svg"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        write_svg(tmp_path / "nowhere" / "out.svg", [CHART])
