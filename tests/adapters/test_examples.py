"""The examples, run as a user runs them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"

SAID = {
    "cupy_histogram": ("cupy", "histogram<<<4096, 256>>> on rtx-4090: "),
    "kernel_tuner_matmul": ("kernel_tuner", "best on rtx-4090: "),
    "numba_matmul": ("numba_cuda", "tiled  on rtx-4090: "),
    "triton_matmul": ("triton", "matmul<<<"),
}
"""What each needs, and a part of what it prints."""


def test_every_example_is_run():
    assert {file.stem for file in EXAMPLES.glob("*.py")} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs(name):
    package, said = SAID[name]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
