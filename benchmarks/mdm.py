"""The study of the memory-divergence model: 17 applications, five models, all figures."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.measured import Measured
from kernelcast.validation.mdm.applications import APPLICATIONS
from kernelcast.validation.mdm.study import study_mdm


def measure() -> Iterator[Measured]:
    study_mdm(APPLICATIONS[:1])  # compiled loops and imports
    start = time.perf_counter()
    found = study_mdm(APPLICATIONS)
    seconds = time.perf_counter() - start
    yield Measured("memory-divergence study, execution and figures", seconds, "s", 60.0, True)
    yield Measured("  forecasts of an application in it", len(found.forecasts), "")
