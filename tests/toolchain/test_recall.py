"""Results that later processes find again."""

import os
from pathlib import Path

import numpy as np
import pytest

from kernelcast.toolchain import recall as module
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.recall import Recall, recall_in


@pytest.fixture
def recall(tmp_path: Path) -> Recall:
    return Recall(Cache(tmp_path), "")


def test_finds_what_was_kept(recall: Recall) -> None:
    recall.keep("sums", {"of": np.arange(3)})
    found = Recall(Cache(recall.cache.directory), "").find("sums")
    assert isinstance(found, dict)
    assert found["of"].tolist() == [0, 1, 2]


def test_finds_nothing_about_another_subject(recall: Recall) -> None:
    recall.about("saxpy", "sm_80").keep("sums", 1)
    assert recall.about("saxpy", "sm_90").find("sums") is None
    assert recall.about("saxpysm_80").find("sums") is None
    assert recall.about("saxpy", "sm_80").find("products") is None


def test_finds_nothing_of_other_code(recall: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    recall.keep("sums", 1)
    monkeypatch.setattr(module, "_made_by", lambda: "the next version")
    assert recall.find("sums") is None


@pytest.mark.parametrize("name", ["loop.py", "driver.ll", "opcodes.toml"])
def test_every_file_of_the_package_counts(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "package" / "inner"
    (inner / "__pycache__").mkdir(parents=True)
    (inner / "__pycache__" / "loop.pyc").write_text("made of it")
    source = inner / name
    source.write_text("a = 1")
    before = list(module._files(tmp_path))
    os.utime(source, (1, 1))
    after = list(module._files(tmp_path))
    assert len(before) == len(after) == 1
    assert before != after


@pytest.mark.parametrize("wanted", ["0", "1"])
def test_the_environment_says_whether_anything_is_kept(
    wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELCAST_RECALL", wanted)
    assert (recall_in(Cache(tmp_path)) is None) == (wanted == "0")


def test_without_a_cache_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELCAST_RECALL")
    assert recall_in(None) is None
    assert recall_in(Cache(None)) is None
