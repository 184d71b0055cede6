"""Pages of measured times: every launch is a point, and the first line says how near they are."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest

from kernelcast.errors import InputError
from kernelcast.models.terms.trust import FITTED, Kind
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.public import (
    PublicDocument,
    public_document,
    read_public,
    summary_with,
)
from kernelcast.reporting.html import page
from kernelcast.reporting.html.clouds import Cloud, TimePair, clouds, verdict
from kernelcast.reporting.html.times_picture import errors_chart, times_picture
from kernelcast.reporting.text import view
from kernelcast.reporting.text.public import with_short_table
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.measured import Score
from kernelcast.validation.public import CountAccuracy, SetAccuracy
from kernelcast.validation.public_launches import CountPair

EVIL = "k<script>alert(1)</script>"


def comparison(number: int, ratio: float) -> Comparison:
    measured = 1e-5 * 2**number
    return Comparison("k", number, f"<<<{number}>>>", ratio * measured, measured)


def row(title: str, ratios: list[float]) -> SetAccuracy:
    score = Score(tuple(comparison(at, ratio) for at, ratio in enumerate(ratios)))
    return SetAccuracy(title, "h100-sxm", "volkov", score, None, None, ("one: no source",))


@pytest.fixture
def document() -> PublicDocument:
    pytest.importorskip("scipy", reason="needs the extra validation")
    return public_document([row("near", [1.0, 1.1, 0.9]), row("far", [3.0, 0.5])])


def test_the_first_line_is_of_all_launches(document):
    # Errors 0, 10, 10, 50 and 200 %.
    line = (
        "Half of the 5 predictions are off by 10 % or less, nine of ten by 200 % or less, by the "
        "volkov model"
    )
    assert verdict(document) == line
    assert f"<h1>{line}</h1>" in page(document)


def test_sets_without_times_have_no_table_of_them():
    pair = CountPair("bytes that a cache holds", "cache 1", 90.0, 100.0)
    counted = (CountAccuracy(pair.metric, (pair,)),)
    text = view(
        public_document([SetAccuracy("knees", "a40", "", None, None, None, (), {}, counted)])
    )
    assert "median error | within 5 %" in str(text)
    assert "predicted / measured" not in str(text)


def test_either_half_judges_the_intervals_of_the_other(document):
    kind = Kind("teg", has_doubt=False)
    compared = tuple(replace(comparison(at, 1.0), kind=kind) for at in range(40))
    sets = [SetAccuracy("sure", "h100-sxm", "auto", Score(compared), None, None, ())]
    text = str(view(public_document(sets)))
    factors = FITTED[kind]
    rows = re.findall(r"\| teg \| none \| (\d+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \| 100 % ", text)
    assert [int(row[0]) + int(row[3]) for row in rows] == [40, 40]
    for _, low, high, _ in rows:
        assert float(low) == pytest.approx(factors.low, abs=1e-3)
        assert float(high) == pytest.approx(factors.high, abs=1e-3)
    assert "Of all 40 that were judged so, 100 % are held." in text
    assert "judged so" not in str(view(document))


def test_every_launch_is_a_point(document):
    markup = page(document)
    points = re.findall(r'<circle class="launch" cx="([\d.]+)" cy="([\d.]+)"', markup)
    assert len(points) == 5
    (near, far) = clouds(document)
    picture = times_picture(near)
    (x, y), *_ = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', picture)
    # The first is predicted as it was measured: it lies on the diagonal of two axes that are alike.
    left, bottom = 82, 380 - 50
    across, up = 380 - 82 - 30, 380 - 12 - 50
    assert (float(x) - left) / across == pytest.approx((bottom - float(y)) / up, abs=1e-3)
    assert far.name == "far, h100-sxm"


def test_the_curve_of_errors_ends_where_the_picture_does(document):
    near, far = errors_chart(clouds(document)).lines
    assert near.points[0] == (0.0, 0.0)
    assert near.points[1] == pytest.approx((0.0, 100 / 3))
    assert near.points[-1] == pytest.approx((100.0, 100.0))
    assert far.points[-1] == pytest.approx((100.0, 50.0)), "one of two is off by more"
    assert all(math.isfinite(v) for line in (near, far) for point in line.points for v in point)


def test_names_of_launches_are_text():
    pytest.importorskip("scipy", reason="needs the extra validation")
    one = Comparison(EVIL, 0, EVIL, 1e-5, 2e-5)
    found = SetAccuracy(EVIL, "t4", "volkov", Score((one,)), None, None, (EVIL,))
    assert "<script" not in page(public_document([found]))


def test_what_is_missing_is_on_the_page(document):
    assert "one: no source" in page(document)


def test_a_baseline_is_compared_on_the_launches_of_both(document, tmp_path):
    file = tmp_path / "before.json"
    file.write_text(json.dumps(as_json(document)))
    rows = [row("near", [1.2, 1.1, 0.9, 9.0]), row("far", [3.0, 0.5]), row("new", [1.0])]
    now = public_document(rows, read_public(file))
    near, far = now.changes
    # Errors 0, 10, 10 % became 20, 10, 10 %; the launch that is new does not count.
    assert (near.launches, near.is_worse) == (3, False)
    assert (near.error_90_before, near.error_90) == pytest.approx((0.1, 0.2))
    (moved,) = near.moved
    assert (moved.ratio_before, moved.ratio) == pytest.approx((1.0, 1.2))
    assert (far.moved, far.is_worse) == ([], False)
    worse = public_document([row("near", [1.5, 1.5, 0.9])], read_public(file))
    assert [change.is_worse for change in worse.changes] == [True]
    assert "Beside the earlier run" in page(worse)
    assert "| near | h100-sxm | volkov | 3 | 10 % | 50 % | 10 % | 50 % | worse |" in str(
        view(worse)
    )


def test_a_summary_keeps_the_sets_that_were_not_predicted_again(document):
    first = summary_with(None, document)
    assert [(r.title, r.compared, r.worst) for r in first.sets] == [
        ("far", [], []),
        ("near", [], []),
    ]
    again = summary_with(first, public_document([row("near", [2.0]), row("new", [1.0])]))
    assert {r.title: r.median_error for r in again.sets} == {"far": 0.5, "near": 1.0, "new": 0.0}


def test_a_page_gets_the_table_in_its_place(document):
    page = "before\n<!-- accuracy -->\nold\n<!-- end of accuracy -->\nafter\n"
    written = with_short_table(page, document, "README.md")
    assert written == with_short_table(written, document, "README.md")
    assert written.startswith("before\n<!-- accuracy -->\n| kernels | GPU |")
    assert written.endswith("|\n<!-- end of accuracy -->\nafter\n")
    assert "| near | h100-sxm | 3 | 10 % | 10 % | - | - |" in written
    assert "old" not in written
    with pytest.raises(InputError, match=r"README\.md: has no lines"):
        with_short_table("before", document, "README.md")


def test_a_baseline_that_is_none(tmp_path):
    file = tmp_path / "before.json"
    with pytest.raises(InputError, match="cannot be read"):
        read_public(file)
    file.write_text('{"schema": "kernelcast/validate/2"}')
    with pytest.raises(InputError, match="is no answer of validate public"):
        read_public(file)


def test_a_legend_has_room_for_its_names():
    pair = TimePair("k", 1.0, 2.0)
    short, long = Cloud("by auto", "", (pair,)), Cloud("streams at every occupancy", "", (pair,))
    assert [line.label for line in errors_chart([short]).lines] == ["by auto"]
    assert [line.label for line in errors_chart([short, long]).lines] == ["set 1", "set 2"]
