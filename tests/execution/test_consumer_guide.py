"""The guide to consumers, taken literally."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kernelcast as kc
from kernelcast.errors import LaunchError
from kernelcast.execution.consumers import are_splittable

ROOT = Path(__file__).parents[2]


def run_guide(namespace: dict[str, Any]) -> None:
    """Execute the code of the guide, as a newcomer pastes it."""
    page = (ROOT / "docs" / "how-to-add-a-consumer.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(code, "guide", "exec", dont_inherit=True), namespace)


def test_the_guide_runs_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "guide"}
    run_guide(names)
    lanes, run = names["lanes"], names["run"]
    assert are_splittable([lanes])
    assert capsys.readouterr().out.startswith("[")
    warps = len(run.blocks) * run.launch.warps_per_block
    assert lanes.entries[32] >= warps > 0
    again = type(lanes)()
    run.follow(again)
    assert (again.entries == lanes.entries).all()


def test_a_wave_beyond_the_grid_is_one_clear_line() -> None:
    work = kc.workload(ROOT / "examples" / "saxpy.cu")
    launch = work.launches[0]
    kernel = kc.load(ROOT / "examples" / "saxpy.cu", gpu="h100-sxm", kernel=launch.kernel)
    with pytest.raises(LaunchError, match="wave 4000 of a grid with 249 waves"):
        kc.waves(kernel, launch, "h100-sxm", [4000])
