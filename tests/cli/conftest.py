"""The command line, run in this process as a user would run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import pytest

from kernelcast.cli.main import main
from kernelcast.cli.options import Output
from kernelcast.reporting.console import plain_text
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.text import view


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


def as_text(document: msgspec.Struct, *, brief: bool = False) -> str:
    """A document as a command prints it."""
    seen = view(document, brief=brief)
    return (seen if isinstance(seen, str) else plain_text(seen)) + "\n"


@pytest.fixture(autouse=True)
def _share_cases(shared_cases: None) -> None:
    """Commands with equal workloads share what was executed."""


@pytest.fixture(autouse=True)
def shown(monkeypatch) -> list[msgspec.Struct]:
    """The documents that commands show; the text of each follows from its JSON alone."""
    documents: list[msgspec.Struct] = []
    show = Output.show

    def spy(
        self: Output,
        document: msgspec.Struct,
        in_depth: Callable[[], msgspec.Struct] | None = None,
    ) -> None:
        documents.append(document)
        show(self, document, in_depth)
        again = msgspec.convert(as_json(document), type(document))
        assert as_text(again, brief=self.quiet) == as_text(document, brief=self.quiet)

    monkeypatch.setattr(Output, "show", spy)
    return documents
