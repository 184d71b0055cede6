"""What is kept of the forecasts of a program, which may launch thousands of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.devices import forecasts
from kernelcast.devices.forecasts import Forecasts
from kernelcast.errors import UnsupportedError
from kernelcast.execution.memory import Memory
from kernelcast.machines.loader import load_machine
from kernelcast.models import load_model

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy.cu"


def test_memory_and_accesses_are_not_kept():
    model = load_model("teg", instructions=20_000)
    kernel = api.load(SAXPY, gpu="h100-sxm")
    case = api.case(kernel, api.workload(SAXPY).launches[0], "h100-sxm")
    whole = model.predict(case)
    assert case.run is not None and case.streams is not None and whole.simulated is not None
    kept = Forecasts([case.machine], model).kept(whole)
    assert (kept.case.run, kept.case.streams, kept.simulated) == (None, None, None)
    assert (kept.time_s, kept.bottleneck, kept.case.profile) == (
        whole.time_s,
        whole.bottleneck,
        case.profile,
    )


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (UnsupportedError("no such thing"), "no such thing"),
        (ZeroDivisionError("by zero"), "internal error, please report it: ZeroDivisionError"),
    ],
)
def test_a_forecast_that_fails_says_why_and_leaves_memory_alone(monkeypatch, error, why):
    kernel = api.load(SAXPY, gpu="h100-sxm")
    launch = api.workload(SAXPY).launches[0]
    memory = Memory.build(kernel, launch)
    undone = []
    memory.undo = lambda: undone.append(True)

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(forecasts, "cases_of_memory", fails)
    one = Forecasts([load_machine("h100-sxm")], load_model("volkov"))
    found = one.of("saxpy", launch, (), lambda _: (kernel, memory))
    assert found.predictions == ()
    assert found.why_none.startswith(why)
    assert undone == [True]
