"""What is kept of the forecasts of a program, which may launch thousands of kernels."""

from __future__ import annotations

from pathlib import Path

from kernelcast import api
from kernelcast.devices.forecasts import Forecasts
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
