"""A plugin of pytest: forecasts in tests, with the report where a test fails.

    @pytest.mark.gpu("rtx-3080")
    def test_saxpy_is_fast(forecast):
        assert forecast("saxpy.cu").time_s < 2e-3

It imports nothing but pytest until a test asks for a forecast.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kernelcast.reporting.printed import Forecast

_SHOWN_LINES = 24
"""Of a report, below a test that fails."""
_FORECASTS = pytest.StashKey[list["Forecast"]]()


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest know the mark."""
    config.addinivalue_line(
        "markers", "gpu(name): the GPU that the `forecast` fixture forecasts for"
    )


class Forecaster:
    """Forecasts launches of kernel files for the GPU that the test's mark names."""

    def __init__(self, folder: Path, gpu: str | None, made: list[Forecast]) -> None:
        self._folder = folder
        self._gpu = gpu
        self._made = made

    def __call__(
        self,
        file: str | Path,
        *,
        launch: int | None = None,
        gpu: str | None = None,
        model: str = "",
        settings: tuple[str, ...] = (),
        **flags: Any,
    ) -> Forecast:
        """The forecast of a launch of `file`, a path from the folder of the test on.

        Parameters
        ----------
        launch:
            Which one, counted from 1, where the file has several.
        gpu, model:
            As of `kernelcast.machine` and `kernelcast.predict`; the mark's GPU unless one is named.
        settings:
            Numbers of the machine, such as `dram.bandwidth=2.0e12`.
        flags:
            The launch, where the file does not say it: `grid="4096"`, `block="256"`,
            `args=("n=1024", ...)`, `kernel="saxpy"`.

        Raises KernelcastError as the functions of `kernelcast` do.
        """
        from kernelcast import api

        machine = api.machine(gpu or self._gpu or api.DEFAULT_GPU, *settings)
        work = api.workload(self._folder / file, api.LaunchFlags(**flags))
        cases = api.cases(work, [machine])
        if launch is None and len(cases) > 1:
            raise ValueError(f"{file} has {len(cases)} launches: name one, launch=1 for the first")
        found = api.predict(cases[(launch or 1) - 1], model)
        self._made.append(found)
        return found


@pytest.fixture
def forecast(request: pytest.FixtureRequest) -> Forecaster:
    """Forecasts launches: `forecast("saxpy.cu").time_s`; `@pytest.mark.gpu(NAME)` names the GPU."""
    made = request.node.stash.setdefault(_FORECASTS, [])
    mark = request.node.get_closest_marker("gpu")
    return Forecaster(request.path.parent, mark.args[0] if mark else None, made)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the first lines of the test's forecasts below what failed."""
    report = yield
    if report.failed and report.when == "call":
        for made in item.stash.get(_FORECASTS, []):
            lines = str(made).splitlines()
            left = len(lines) - _SHOWN_LINES
            more = [f"... {left} lines more: print(forecast)"] if left > 0 else []
            text = "\n".join([*lines[:_SHOWN_LINES], *more])
            report.sections.append(("kernelcast forecast", text))
    return report
