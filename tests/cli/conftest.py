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


@pytest.fixture
def run(capsys, monkeypatch) -> Run:
    monkeypatch.setenv("COLUMNS", "110")

    def call(*arguments: object) -> Outcome:
        status = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return call
