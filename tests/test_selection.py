"""Which repetitions of a test run, with `--all` and without."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = """
import pytest
each = pytest.mark.parametrize

@each("architecture", ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100a", "sm_120"])
@each("value", [1, 2])
def test_many(value, architecture): ...

@each(("name", "architecture"), [("old", "sm_80"), ("old", "sm_86"), ("new", "sm_100a")])
def test_none_of_the_chosen(name, architecture): ...

@pytest.mark.every_architecture
@each("architecture", ["sm_80", "sm_90"])
def test_differences(architecture): ...

@each("isa", ["ptx of sm_80", "sass of sm_80", "sass of sm_90", "sass of sm_100"])
def test_languages(isa): ...

@pytest.mark.only_with_all
@each("architecture", ["sm_80"])
def test_the_rest(architecture): ...

def test_plain(): ...
"""
CHOSEN = {
    *(f"test_many[{value}-{name}]" for value in (1, 2) for name in ("sm_75", "sm_90", "sm_120")),
    *("test_none_of_the_chosen[old-sm_86]", "test_none_of_the_chosen[new-sm_100a]"),
    *("test_differences[sm_80]", "test_differences[sm_90]", "test_plain"),
    *("test_languages[ptx of sm_80]", "test_languages[sass of sm_90]"),
}


class Collected:
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.left_out = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.names = {item.name for item in session.items}

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.left_out += len(items)


def collected(directory: Path, *options: str) -> Collected:
    file = directory / "test_repeated.py"
    file.write_text(TESTS)
    found = Collected()
    fixed = ["-o", "addopts=", "--import-mode=importlib", "-p", "tests.selection", "--collect-only"]
    quiet = ["-p", "no:cacheprovider", "-p", "no:terminal"]
    status = pytest.main([*fixed, *quiet, *options, str(file)], plugins=[found])
    assert status is pytest.ExitCode.OK
    return found


def test_three_of_many_run_and_the_newest_where_there_are_none_of_them(tmp_path: Path) -> None:
    found = collected(tmp_path)
    assert found.names == CHOSEN
    assert found.left_out == 6 + 1 + 2 + 1


def test_all_of_them_run_when_asked_for(tmp_path: Path) -> None:
    found = collected(tmp_path, "--all")
    assert len(found.names) == 12 + 3 + 2 + 4 + 1 + 1
    assert found.left_out == 0
