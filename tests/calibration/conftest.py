"""Raw files as the runner writes them, from a chip whose numbers are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.calibration.fake_gpu import FakeGpu, Truth, empty_pack, known_chip

from kernelcast.calibration import gpu_driver, measure, runner
from kernelcast.calibration.microbenchmarks import BENCHMARKS


def measured(
    truth: Truth, folder: Path, *, quick: bool = False, only: tuple[str, ...] = ("",)
) -> Path:
    """Run the benchmarks whose names start so on a chip with these numbers; the raw file."""
    gpu = gpu_driver.Gpu(gpu_driver.declared(FakeGpu(truth).driver()))
    session = measure.Session(gpu, empty_pack(folder / "pack"), quick)
    out = folder / "raw.json"
    with pytest.MonkeyPatch.context() as patch:
        # This GPU does not wait for the host, however slow that is.
        patch.setattr(measure, "_HELD_NS", 1 << 40)
        runner.measure(
            out,
            runner.Target(gpu.properties, {}),
            [name for name in BENCHMARKS if name.startswith(only)],
            lambda name: measure.run_benchmark(session, name),
            quick=quick,
            kind=measure.MICROBENCHMARKS,
            report=lambda text: None,
        )
    return out


@pytest.fixture(scope="session")
def truth() -> Truth:
    return known_chip()


@pytest.fixture(scope="session")
def raw_file(truth, tmp_path_factory) -> Path:
    return measured(truth, tmp_path_factory.mktemp("measured"))


@pytest.fixture
def document(raw_file) -> dict:
    """The raw file's content, to be damaged."""
    return json.loads(raw_file.read_text())
