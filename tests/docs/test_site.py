"""The documentation site builds without a warning and loads nothing from a network."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("sphinx", reason="needs the extra docs")
    pytest.importorskip("myst_parser", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    options = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(folder / "trees")]
    command = [sys.executable, "-m", "sphinx", *options, "-c", str(DOCS / "site"), str(DOCS)]
    done = subprocess.run([*command, str(folder / "html")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_every_page_is_in_the_site(site):
    pages = [file.relative_to(DOCS).with_suffix(".html") for file in DOCS.rglob("*.md")]
    assert [str(page) for page in pages if not (site / page).exists()] == []


def test_the_reference_is_made_of_the_docstrings(site):
    text = (site / "reference/python.html").read_text("utf-8")
    for name in ("predict", "occupancy_curve", "Forecast", "KernelcastError"):
        assert f">{name}<" in text


def test_nothing_is_loaded_from_elsewhere(site):
    loaded = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?:[^"]*)"')
    for file in site.rglob("*.html"):
        assert loaded.findall(file.read_text("utf-8")) == [], file


def test_the_gallery_page_names_its_kernels():
    found = runpy.run_path(str(DOCS / "site/gallery.py"))
    linked = re.findall(r"\(gallery/(\w+)\.html\)", (DOCS / "gallery.md").read_text("utf-8"))
    assert linked == [*found["EXAMPLES"], *found["SUITE"]]
    assert [name for name, _ in found["workloads"]()] == linked
