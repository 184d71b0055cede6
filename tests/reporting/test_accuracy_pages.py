"""Pages of measured times: every launch is a point, and the first line says how near they are."""

from __future__ import annotations

import math
import re

import pytest

from kernelcast.reporting.documents.public import PublicDocument, public_document
from kernelcast.reporting.html import page
from kernelcast.reporting.html.clouds import clouds, verdict
from kernelcast.reporting.html.times_picture import errors_chart, times_picture
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.measured import Score
from kernelcast.validation.public import SetAccuracy

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


def test_every_launch_is_a_point(document):
    markup = page(document)
    points = re.findall(r'<circle class="launch" cx="([\d.]+)" cy="([\d.]+)"', markup)
    assert len(points) == 5
    (near, far) = clouds(document)
    picture = times_picture(near)
    (x, y), *_ = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', picture)
    # The first is predicted as it was measured: it lies on the diagonal of two axes that are alike.
    left, bottom = 82, 380 - 50
    across, up = 380 - 82 - 14, 380 - 12 - 50
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
