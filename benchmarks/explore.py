"""Design spaces: every model one configuration after another, the 17 applications, a million."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measured import Measured
from kernelcast import api
from kernelcast.exploration.dask_workers import DaskWorkers
from kernelcast.exploration.design_space import DesignSpace, design_space, read_axis
from kernelcast.exploration.executors import Executor, Serial
from kernelcast.exploration.explore import explore
from kernelcast.exploration.sweep import Program
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.models import read_model
from kernelcast.validation.mdm.applications import APPLICATIONS, paper_machine

ROOT = Path(__file__).parents[1]
_DRAM = ("dram.bandwidth=3e11:12e11:1e11", "latency.dram=400:850:50")
GRID = ("sm.count=20:110:10", *_DRAM)
OF_CACHES = ("l2.size=1048576:10485760:1048576", *_DRAM)
THOUSAND = ("sm.count=8:80:8", "noc.bandwidth=3e11:21e11:2e11", "dram.bandwidth=1e11:10e11:1e11")
MILLION = (
    "sm.count=10:80:5",
    "l1.miss_registers=32:256:8",
    "noc.bandwidth=3e11:22e11:0.4e11",
    "dram.bandwidth=2e11:12e11:0.2e11",
)
GRIDS = (
    (GRID, "explore matmul_tiled.cu, of a core"),
    (OF_CACHES, "explore matmul_tiled.cu, ten L2 caches, of a core"),
)
_SIMULATE = ("auto", "teg")
"""Models that play the launch for every configuration."""


def measure() -> Iterator[Measured]:
    machine = paper_machine()
    tiled = api.cases(api.workload(ROOT / "examples" / "matmul_tiled.cu"), [machine])
    product = [Program("matmul_tiled", tiled)]
    for grid, name in GRIDS:
        # The caches for every number of SMs, which the first model has simulated and others find.
        yield Measured(f"{name}, caches included", each_ms(grid, product, "roofline"), "ms")
    for model in api.model_names():
        if model in _SIMULATE:
            continue
        seconds(space(_DRAM[:1]), product, model)  # what a model loads once
        for grid, name in GRIDS:
            yield Measured(f"{name}, {model}", each_ms(grid, product, model), "ms", 1.0, True)
    programs = [Program(a.name, cases_of_workload(a.workload(), [machine])) for a in APPLICATIONS]
    for model in ("mdm", "volkov"):
        name = f"17 applications x 1000 configurations, {model}"
        yield Measured(name, seconds(space(THOUSAND), programs, model), "s", 60.0, True)
    spmv = [program for program in programs if program.name == "SPMV"]
    million = space(MILLION)
    for executor, where in ((Serial(), "one process"), (DaskWorkers(workers=2), "Dask, 2 workers")):
        name = f"a million configurations, mdm, SQLite, {where}"
        yield Measured(name, seconds(million, spmv, "mdm", executor), "s")


def space(sweeps: Sequence[str]) -> DesignSpace:
    return design_space(paper_machine(), [read_axis(text) for text in sweeps])


def each_ms(sweeps: Sequence[str], programs: Sequence[Program], model: str) -> float:
    """The processor's time for one of 1000 configurations: all take so many seconds."""
    start = time.process_time()
    seconds(space(sweeps), programs, model)
    return time.process_time() - start


def seconds(
    of: DesignSpace, programs: Sequence[Program], model: str, executor: Executor | None = None
) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        explore(
            of, programs, [read_model(model)], results=Path(folder) / "out.db", executor=executor
        )
        return time.perf_counter() - start
