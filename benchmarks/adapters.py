"""How long a kernel of Triton takes from its source to a forecast, compiled and executed before."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.measured import Measured, median_seconds

EXAMPLE = Path(__file__).parents[1] / "examples" / "python" / "triton_matmul.py"


def measure() -> Iterator[Measured]:
    if find_spec("triton") is None:
        return
    from contextlib import redirect_stdout
    from io import StringIO
    from runpy import run_path

    from kernelcast.adapters.triton import forecast

    with redirect_stdout(StringIO()):
        example = run_path(str(EXAMPLE))

    def work() -> None:
        forecast(
            example["matmul"],
            None,
            example["best"].kwargs,
            example["grid"],
            example["GPU"],
            args=example["ARGUMENTS"],
        )

    seconds = median_seconds(work, 3)
    yield Measured("a product of matrices in Triton, compiled and forecast", seconds, "s", 2, True)
