"""The README's table of measured accuracy is the one that the command wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.reporting.documents.public import read_public
from kernelcast.reporting.text.public import with_short_table
from kernelcast.validation.public_sets import read_sets

ROOT = Path(__file__).parents[2]
SUMMARY = ROOT / "measurements/public/accuracy.json"


def test_the_table_holds_the_figures_of_the_summary() -> None:
    pytest.importorskip("scipy", reason="needs the extra validation")
    page = (ROOT / "README.md").read_text("utf-8")
    assert page == with_short_table(page, read_public(SUMMARY), "README.md")


def test_the_summary_is_of_sets_that_there_are() -> None:
    known = {(one.title, one.gpu) for one in read_sets(SUMMARY.parent / "sets.toml")}
    rows = read_public(SUMMARY).sets
    assert rows
    assert {(row.title, row.gpu) for row in rows} <= known
    assert all(not row.compared for row in rows), "single measured times stay where they are"
