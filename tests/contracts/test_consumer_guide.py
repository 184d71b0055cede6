"""How to add a consumer, as its page says it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kernelcast.execution.consumers import Splittable
from kernelcast.execution.trace import KIND_SHIFT, RecordKind, Words

ROOT = Path(__file__).parents[2]


def test_the_guide_works_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "how-to-add-a-consumer.md").read_text()
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(code, names)
    entries = names["entries"]
    assert isinstance(entries, Splittable)
    assert entries.lanes[0] == 16 * 256, "16 blocks of 256 threads"
    assert str(entries.lanes) in capsys.readouterr().out
    other = entries.split()
    other.consume(_entered(0b111))
    entries.merge(other)
    assert entries.lanes[0] == 16 * 256 + 3


def _entered(mask: int) -> Words:
    return np.array([RecordKind.WARP << KIND_SHIFT, 0, RecordKind.BLOCK << KIND_SHIFT | mask], "u8")
