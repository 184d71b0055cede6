"""A raw file of a chip whose numbers are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.measuring.fake_gpu import Truth, known_chip
from tests.measuring.measured import measured


@pytest.fixture(scope="session")
def truth() -> Truth:
    return known_chip()


@pytest.fixture(scope="session")
def raw_file(truth, tmp_path_factory) -> Path:
    return measured(truth, tmp_path_factory.mktemp("measured"))


@pytest.fixture
def document(raw_file) -> dict:
    """The raw file's content, to be damaged."""
    return json.loads(raw_file.read_text())
