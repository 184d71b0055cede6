"""Answers that are kept in a folder: made once, made anew where they are damaged."""

from __future__ import annotations

import pytest

from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.kept_answers import kept_answer
from kernelcast.validation.measured import Score
from kernelcast.validation.public import SetAccuracy

ONE = Comparison("k", 0, "<<<1, 32>>>", 1e-5, 2e-5, 0.5e-5, None)
ANSWER = (SetAccuracy("a", "t4", "volkov", Score((ONE,)), 0.5, None, ("one",)),)
KIND = tuple[SetAccuracy, ...]


def test_an_answer_is_made_once(tmp_path):
    made = []

    def make() -> tuple[SetAccuracy, ...]:
        made.append(1)
        return ANSWER

    folder = tmp_path / "kept"
    assert kept_answer(folder, ["a", 3], KIND, make) == ANSWER
    assert kept_answer(folder, ["a", 3], KIND, make) == ANSWER
    assert len(made) == 1
    kept_answer(folder, ["a", 4], KIND, make)
    assert len(made) == 2
    (file, _) = sorted(folder.iterdir())
    for damaged in folder.iterdir():
        damaged.write_bytes(file.read_bytes()[:20])
    assert kept_answer(folder, ["a", 3], KIND, make) == ANSWER
    assert len(made) == 3


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert kept_answer(None, ["a"], KIND, lambda: ANSWER) == ANSWER
    assert list(tmp_path.iterdir()) == []


def test_what_fails_is_not_kept(tmp_path):
    def fail() -> tuple[SetAccuracy, ...]:
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        kept_answer(tmp_path, ["a"], KIND, fail)
    assert list(tmp_path.iterdir()) == []
