"""A workload is executed once in a process for all tests that ask for it in the same way, and its
timing simulated once.

A case is a frozen value that many models and views may share; that two executions of a launch give
one profile is the subject of other tests. With `--all` every command executes for itself.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import Workload
from kernelcast.ir import CacheState
from kernelcast.machines.machine import Machine
from kernelcast.models.teg import Played, Preparer, Teg
from kernelcast.models.terms.base import Case
from kernelcast.profiling.run import ENOUGH, Sampling
from kernelcast.simulation.removals import NOTHING, Removal, Removals

_MOST_SHARED = 8
"""The last few: the accesses of a case may take many megabytes."""
_shared: dict[bytes, tuple[Case, ...]] = {}
_played: dict[tuple[int, Teg, frozenset[Removal]], Played] = {}
"""By the identity of a case, which what was played keeps alive."""
_play = Teg.play


def shared_cases_of_workload(
    work: Workload,
    machines: Sequence[Machine],
    *,
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    progress: Progress | None = None,
    caches: CacheState | None = None,
) -> tuple[Case, ...]:
    """As `cases_of_workload`, whose progress is told for the first time only."""
    text = b"" if work.source is None else work.source.read_bytes()
    made = None if build is None else replace(build, cache=None)
    key = pickle.dumps((Path.cwd(), text, work, list(machines), made, sampling, caches))
    cases = _shared.pop(key, None)
    if cases is None:
        cases = cases_of_workload(
            work, machines, build=build, sampling=sampling, progress=progress, caches=caches
        )
    _shared[key] = cases
    while len(_shared) > _MOST_SHARED:
        del _shared[next(iter(_shared))]
    return cases


def shared_play(
    model: Teg, case: Case, removed: Removals = NOTHING, prepare: Preparer | None = None
) -> Played:
    """As `Teg.play`."""
    if prepare is not None:
        return _play(model, case, removed, prepare)
    key = (id(case), model, frozenset(removed))
    played = _played.pop(key, None)
    if played is None:
        played = _play(model, case, removed)
    _played[key] = played
    while len(_played) > _MOST_SHARED:
        del _played[next(iter(_played))]
    return played


@pytest.fixture
def shared_cases(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands share the cases of equal workloads, and what their timing simulation found."""
    if not request.config.getoption("--all"):
        monkeypatch.setattr(api, "cases_of_workload", shared_cases_of_workload)
        monkeypatch.setattr(Teg, "play", shared_play)
