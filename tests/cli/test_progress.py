"""Progress where nobody looks at a terminal: a line a minute, and none for what is short."""

from __future__ import annotations

import pytest

from kernelcast.cli import progress


def test_a_line_a_minute_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("kernelcast.cli.progress.time.monotonic", lambda: now[0])
    with progress.progress_bar("predicting", False) as show:
        assert show is not None
        for seconds, share in ((10, 0.1), (59, 0.2), (61, 0.3), (100, 0.4), (185, 0.9)):
            now[0] = float(seconds)
            show(share)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == ["predicting: 30% after 1 min", "predicting: 90% after 3 min"]


def test_who_wants_quiet_hears_nothing() -> None:
    with progress.progress_bar("predicting", True) as show:
        assert show is None
