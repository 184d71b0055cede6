"""Workers: the same results as alone, also where one is killed half-way."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.exploration.conftest import space
from tests.exploration.stub_models import Deadly, Stub

from kernelcast.errors import InputError, ToolError
from kernelcast.exploration.dask_workers import DaskWorkers
from kernelcast.exploration.executors import Executor, Processes, Serial, local_workers
from kernelcast.exploration.explore import explore

WIDE = space("sm.count=1:80:1", "dram.bandwidth=1e12:1.6e13:1e12")
"""1280 configurations, 5 chunks."""

distributed = pytest.importorskip("distributed")
quiet = pytest.mark.filterwarnings("ignore")  # of processes that were killed
two_workers = pytest.mark.parametrize(
    "executor", [Processes(2), DaskWorkers(workers=2)], ids=["processes", "dask"]
)


def deadly(folder: Path, times: int) -> Deadly:
    (folder / "parent").write_text(str(os.getpid()))
    return Deadly(folder=str(folder), times=times)


@quiet
@two_workers
def test_workers_compute_what_one_process_does(executor: Executor, program, tmp_path):
    file = tmp_path / "results.db"
    found = explore(WIDE, [program()], [Stub()], executor=executor, results=file)
    alone = explore(WIDE, [program()], [Stub()])
    assert np.array_equal(found.times_s, alone.times_s)
    assert found.computed == 1280


@quiet
@two_workers
def test_a_worker_that_is_killed_loses_nothing(executor: Executor, program, tmp_path):
    found = explore(WIDE, [program()], [deadly(tmp_path, 1)], executor=executor)
    assert (tmp_path / "killed 0").exists()
    alone = explore(WIDE, [program()], [Stub()])
    assert np.array_equal(found.times_s, alone.times_s)


@quiet
@two_workers
def test_workers_that_are_killed_again_and_again_are_said(executor: Executor, program, tmp_path):
    """What others finished is kept; without the killer the sweep is completed."""
    file = tmp_path / "results.db"
    with pytest.raises(ToolError, match=r"workers were killed . times"):
        explore(WIDE, [program()], [deadly(tmp_path, 100)], executor=executor, results=file)
    found = explore(WIDE, [program()], [deadly(tmp_path, 100)], results=file)
    assert 0 < found.computed <= 1280
    alone = explore(WIDE, [program()], [Stub()])
    assert np.array_equal(found.times_s, alone.times_s)


def test_a_scheduler_that_does_not_answer_is_named(program, monkeypatch):
    monkeypatch.setattr("kernelcast.exploration.dask_workers._PATIENCE_S", 0.5)
    with pytest.raises(InputError, match=r"tcp://127.0.0.1:1: no scheduler of Dask answers"):
        explore(WIDE, [program()], [Stub()], executor=DaskWorkers("tcp://127.0.0.1:1"))


def test_dask_that_is_not_installed_is_named(program, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ToolError, match=r"install kernelcast\[dask\]"):
        explore(WIDE, [program()], [Stub()], executor=DaskWorkers())


def test_one_worker_is_this_process():
    assert local_workers(1) == Serial()
    assert local_workers(3) == Processes(3)
    with pytest.raises(InputError, match="0 workers"):
        local_workers(0)
