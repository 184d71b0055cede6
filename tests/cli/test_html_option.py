"""`--html FILE`: the same figures as text and JSON, and a file that is written whole or not."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from kernelcast.reporting.figures import grouped, seconds

ROOT = Path(__file__).parents[2]
SAXPY = ROOT / "examples/saxpy.cu"
PTX = ("--isa", "ptx", "--sample", "2")


def words_of(file: Path) -> str:
    body = file.read_text("utf-8").partition("</head>")[2]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def numbers_of(text: str) -> set[str]:
    """The numbers of a text as they are written."""
    return set(re.findall(r"\d[\d,.]*\d|\d", text))


def times_of(value: object) -> list[float]:
    """All `time_s` of an answer."""
    if isinstance(value, dict):
        own = [v for k, v in value.items() if k == "time_s" and v is not None]
        return own + [t for v in value.values() for t in times_of(v)]
    return [t for v in value for t in times_of(v)] if isinstance(value, list) else []


def test_text_json_and_page_say_the_same(run, tmp_path):
    file = tmp_path / "page.html"
    text = run("predict", SAXPY, *PTX, "--html", file)
    (found,) = json.loads(run("predict", SAXPY, *PTX, "--json").out)["results"]
    words = words_of(file)
    for figure in (
        seconds(found["time_s"]),
        found["bottleneck"],
        *(grouped(part["cycles"]) for part in found["breakdown"] if part["cycles"] >= 0.5),
    ):
        assert figure in text.out
        assert figure in words
    assert text.out.splitlines()[0] in words


@pytest.mark.parametrize(
    "command",
    [
        ("explain", SAXPY, *PTX),
        ("compare", SAXPY, *PTX, "--gpu", "t4,l4"),
        ("compare", SAXPY, ROOT / "examples/transpose.cu", *PTX),
        ("occupancy-curve", SAXPY, *PTX, "--gpu", "gtx-980"),
        ("occupancy-curve", "--cusp", "--gpu", "t4"),
        ("what-if", SAXPY, "--remove", "dram-bandwidth,tail"),
        ("validate", "latency-hiding", "--gpu", "gtx-280", "--alpha", "0,8,inf"),
        ("models", "volkov"),
        ("gpus", "t4"),
        ("kernels", SAXPY),
        ("disasm", SAXPY, "--sample", "2"),
        ("explore", SAXPY, *PTX, "--gpu", "t4", "--sweep", "sm.count=20,40"),
        ("doctor",),
    ],
    ids=lambda c: c[0],
)
def test_every_command_has_a_page(run, tmp_path, command):
    file = tmp_path / "page.html"
    outcome = run(*command, "--html", file)
    assert outcome.status == 0, outcome.err
    assert file.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert len(words_of(file)) > 100


@pytest.mark.parametrize(
    "command",
    [
        ("compare", SAXPY, *PTX, "--gpu", "t4,l4"),
        ("compare", SAXPY, ROOT / "examples/transpose.cu", *PTX),
        ("occupancy-curve", SAXPY, *PTX, "--gpu", "gtx-980"),
        ("what-if", SAXPY, "--remove", "dram-bandwidth,tail"),
        ("dvfs", SAXPY, *PTX, "--gpu", "t4"),
        ("validate", "latency-hiding", "--gpu", "gtx-280", "--alpha", "0,8,inf"),
    ],
    ids=lambda c: c[0],
)
def test_the_page_has_the_numbers_of_the_text_and_the_times_of_the_json(run, tmp_path, command):
    file = tmp_path / "page.html"
    text = run(*command, "--html", file).out
    words = words_of(file)
    assert numbers_of(text) <= numbers_of(words)
    for time_s in times_of(json.loads(run(*command, "--json").out)):
        assert seconds(time_s) in words


def test_a_page_that_cannot_be_written_is_one_line(run, tmp_path):
    file = tmp_path / "nowhere" / "page.html"
    outcome = run("predict", SAXPY, *PTX, "--html", file)
    assert (outcome.status, outcome.out) == (2, "")
    assert f"{file}: cannot be written" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_source_that_is_not_at_hand_is_said(run, tmp_path):
    page = tmp_path / "page.html"
    kernel = tmp_path / "gone.cu"
    kernel.write_text(SAXPY.read_text())
    run("trace", kernel, "--sample", "2", "--out", tmp_path / "k.kct")
    kernel.unlink()
    outcome = run("predict", tmp_path / "k.kct", "--html", page)
    assert outcome.status == 0, outcome.err
    assert "gone.cu: the file is not at hand" in words_of(page)
