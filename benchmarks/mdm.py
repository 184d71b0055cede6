"""The memory-divergence model: 17 applications, five models, all figures; and a design space."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.measured import Measured
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.models.mdm import Mdm
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import Floats
from kernelcast.validation.mdm.applications import APPLICATIONS, paper_machine
from kernelcast.validation.mdm.study import study_mdm


def measure() -> Iterator[Measured]:
    study_mdm(APPLICATIONS[:1])  # compiled loops and imports
    start = time.perf_counter()
    found = study_mdm(APPLICATIONS)
    seconds = time.perf_counter() - start
    yield Measured("memory-divergence study, execution and figures", seconds, "s", 60.0, True)
    yield Measured("  forecasts of an application in it", len(found.forecasts), "")
    (spmv,) = (a for a in APPLICATIONS if a.name == "SPMV")
    (case,) = cases_of_workload(spmv.workload(), [paper_machine()])
    yield Measured("mdm, configurations of one profile", _per_second(case), "/s", 50_000)
    yield Measured("  one at a time", _each(case), "ms", 1.0, True)


_CONFIGURATIONS = 200_000


def _per_second(case: Case) -> float:
    random = np.random.default_rng(1)
    low_high = {
        "sm.count": (15, 80),
        "l1.miss_registers": (32, 256),
        "noc.bandwidth": (350e9, 2100e9),
        "dram.bandwidth": (240e9, 960e9),
    }
    numbers: dict[str, Floats] = {
        path: random.uniform(*ends, _CONFIGURATIONS) for path, ends in low_high.items()
    }
    start = time.perf_counter()
    Mdm().predict_many(case, numbers)
    return _CONFIGURATIONS / (time.perf_counter() - start)


def _each(case: Case) -> float:
    Mdm().predict(case)  # walks the warp
    start = time.perf_counter()
    for _ in range(100):
        Mdm().predict(case)
    return (time.perf_counter() - start) * 10
