"""Raw files as the runner writes them, from a chip whose numbers are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.measuring.fake_gpu import EMPTY_CODE, FakeGpu, Truth

from kernelcast.measuring.harness import gpu_driver, measure, runner, session
from kernelcast.measuring.harness.gpu import Gpu
from kernelcast.measuring.harness.microbenchmarks import BENCHMARKS


def measured(
    truth: Truth, folder: Path, *, quick: bool = False, only: tuple[str, ...] = ("",)
) -> Path:
    """Run the benchmarks whose names start so on a chip with these numbers; the raw file."""
    gpu = Gpu(gpu_driver.declared(FakeGpu(truth).driver()))
    one = session.Session(gpu, EMPTY_CODE, quick)
    out = folder / "raw.json"
    with pytest.MonkeyPatch.context() as patch:
        # This GPU does not wait for the host, however slow that is.
        patch.setattr(session, "_HELD_NS", 1 << 40)
        runner.measure(
            out,
            runner.MeasuredDevice(gpu.properties, {}),
            [name for name in BENCHMARKS if name.startswith(only)],
            lambda name: measure.run_benchmark(one, name),
            quick=quick,
            kind=measure.MICROBENCHMARKS,
            report=lambda text: None,
        )
    return out
