"""The command line, run in this process as a user would run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kernelcast.cli.main import main


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture(scope="session")
def cache_directory(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(capsys, monkeypatch, cache_directory) -> Run:
    monkeypatch.setenv("KERNELCAST_CACHE", str(cache_directory))
    monkeypatch.setenv("COLUMNS", "110")

    def call(*arguments: object) -> Outcome:
        status = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return call
