"""A launch that is made again is executed once, where no array's contents tell what launches do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.execution.engine import run as engine
from kernelcast.models.auto import Auto
from kernelcast.models.terms.base import Case

SCALE = """
/* kernelcast
n = 65536
{launches}
*/
extern "C" __global__ void scale(const float* x, float* y, float factor) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if ({condition}) y[i] = factor * x[i];
}}
"""
LAUNCH = """
[[launch]]
kernel = "scale"
grid = "n // 256"
block = 256
args = {{ x = 'f32[n] ones', y = "f32[n]", factor = {factor} }}
"""


class Study:
    """Cases of launches by their factors, and how often anything was executed for them."""

    def __init__(self, folder: Path) -> None:
        self.executions = 0
        self._file = folder / "scale.cu"

    def cases(self, *factors: float, condition: str = "i >= 0") -> tuple[Case, ...]:
        launches = "".join(LAUNCH.format(factor=factor) for factor in factors)
        self._file.write_text(SCALE.format(launches=launches, condition=condition))
        self.executions = 0
        return api.cases(api.workload(self._file), [api.machine("rtx-2080-ti")])


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    made = Study(tmp_path)
    execute = engine._execute

    def counted(*given, **named):
        made.executions += 1
        return execute(*given, **named)

    monkeypatch.setattr(engine, "_execute", counted)
    return made


def times(cases: tuple[Case, ...]) -> list[float]:
    return [Auto().predict(case).time_s for case in cases]


def test_a_launch_that_is_made_again_is_not_executed_again(study: Study) -> None:
    study.cases(2.0)
    once = study.executions
    cases = study.cases(2.0, 2.0)
    assert study.executions == once
    assert cases[0].profile == cases[1].profile
    first, second = times(cases)
    assert first == second


def test_launches_that_differ_are_executed_each(study: Study) -> None:
    study.cases(2.0)
    once = study.executions
    study.cases(2.0, 3.0)
    assert study.executions == 2 * once


def test_a_launch_that_goes_by_what_arrays_hold_is_executed_again(study: Study) -> None:
    study.cases(2.0, condition="y[i] == 0")
    once = study.executions
    study.cases(2.0, 2.0, condition="y[i] == 0")
    assert study.executions == 2 * once


def test_no_launch_need_see_what_others_left(study: Study) -> None:
    """What is executed for one of several is executed for it alone."""
    (alone,) = study.cases(3.0)
    times((alone,))
    once = study.executions
    _, last = study.cases(2.0, 3.0)
    before = study.executions
    assert times((last,)) == pytest.approx(times((alone,)), rel=0.02)
    assert study.executions - before <= once
    assert not last.kernel.warnings
