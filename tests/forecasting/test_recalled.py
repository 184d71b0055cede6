"""What an earlier command has found out about a launch is not found out again."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pytest

from kernelcast import api
from kernelcast.execution.engine import run as engine
from kernelcast.models.auto import Auto
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Case, Prediction
from kernelcast.toolchain.cache import Cache

GPU = "rtx-2080-ti"
SCALE = """
/* kernelcast
n = 65536
[[launch]]
kernel = "scale"
grid = "n // 256"
block = 256
args = { x = 'f32[n] file("x.npy")', y = "f32[n]", factor = 2.0 }
[[launch]]
kernel = "scale"
grid = "n // 256"
block = 256
args = { x = "f32[n] of y", y = "f32[n] of z", factor = 3.0 }
*/
extern "C" __global__ void scale(const float* x, float* y, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 0) y[i] = factor * x[i];
}
"""


@dataclass
class Study:
    """A file that is asked about, and how often anything was executed for it."""

    file: Path
    executions: list[str]

    def cases(self, gpu: str = GPU, *settings: str, **options) -> tuple[Case, ...]:
        self.executions.clear()
        machines = [api.machine(gpu, *settings)]
        return api.cases(api.workload(self.file), machines, build=self.build, **options)

    @property
    def build(self) -> api.Build:
        return api.Build(cache=Cache(self.file.parent / "cache"))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setenv("KERNELCAST_RECALL", "1")
    executions: list[str] = []
    execute = engine._execute

    def counted(*given, **named):
        executions.append("")
        return execute(*given, **named)

    monkeypatch.setattr(engine, "_execute", counted)
    np.save(tmp_path / "x.npy", np.ones(65536, np.float32))
    file = tmp_path / "scale.cu"
    file.write_text(SCALE)
    return Study(file, executions)


def said(prediction: Prediction) -> list[object]:
    """All that a prediction says; arrays are compared by what they hold."""
    return [repr(getattr(prediction, f.name)) for f in fields(prediction) if f.name != "case"]


@pytest.mark.parametrize("is_known", [False, True], ids=["executed", "recalled"])
def test_a_worker_can_be_given_a_case(study: Study, is_known: bool) -> None:
    if is_known:
        study.cases()
    for case in study.cases():
        there = pickle.loads(pickle.dumps(case))
        assert said(Teg().predict(there)) == said(Teg().predict(case))


def test_what_was_forecast_is_not_executed_again(study: Study) -> None:
    first = [api.predict(case) for case in study.cases()]
    assert study.executions
    second = [api.predict(case) for case in study.cases()]
    assert not study.executions
    assert list(map(said, first)) == list(map(said, second))
    for one, other in zip(first, second, strict=True):
        assert one.case.traffic == other.case.traffic
        assert one.case.cache_counts == other.case.cache_counts
        assert one.simulated is not None
        assert other.simulated is not None
        assert (one.simulated.events == other.simulated.events).all()
        assert one.as_dict() == other.as_dict()
    assert not study.executions


def test_another_model_finds_the_same_accesses_and_warps(study: Study) -> None:
    """They are not kept: the launches are executed for them, in order."""
    asked = Teg(instructions=10_000)
    first = [asked.predict(case) for case in study.cases()]
    api.predict(study.cases()[1], "auto")
    cases = study.cases()
    assert not study.executions
    second = [asked.predict(case) for case in cases]
    assert study.executions
    assert list(map(said, first)) == list(map(said, second))
    accesses = [first[1].case.streams, cases[1].streams]
    assert len({found.words.tobytes() for found in accesses if found is not None}) == 1


@pytest.mark.parametrize(
    "settings, options",
    [
        ((), {"sampling": api.Sampling(blocks=16)}),
        ((), {"sampling": api.Sampling(exact=True)}),
    ],
)
def test_other_questions_are_executed(study: Study, settings, options) -> None:
    list(map(api.predict, study.cases()))
    study.cases(GPU, *settings, **options)
    assert study.executions


def test_other_arguments_are_executed(study: Study) -> None:
    study.cases()
    study.file.write_text(SCALE.replace("n = 65536", "n = 32768").replace('x.npy")', 'z.npy")'))
    np.save(study.file.parent / "z.npy", np.ones(32768, np.float32))
    study.cases()
    assert study.executions


def test_other_data_are_executed(study: Study) -> None:
    study.cases()
    np.save(study.file.parent / "x.npy", -np.ones(65536, np.float32))
    assert study.cases()[0].profile.footprints[-1].distinct_written_sectors == 0
    assert study.executions


def test_other_code_is_executed(study: Study) -> None:
    study.cases()
    study.file.write_text(SCALE.replace("x[i] > 0", "x[i] > 2"))
    assert study.cases()[0].profile.footprints[-1].distinct_written_sectors == 0
    assert study.executions


def test_another_machine_shares_the_execution_alone(study: Study) -> None:
    (first, _) = map(api.predict, study.cases())
    (case, _) = study.cases(GPU, "dram.bandwidth=3e11")
    assert not study.executions
    assert api.predict(case).time_s > first.time_s
    assert study.executions


def test_other_states_of_the_caches_are_simulated(study: Study) -> None:
    (first, _) = map(api.predict, study.cases())
    (case, _) = study.cases(caches="warm")
    assert api.predict(case).time_s < first.time_s
    assert case.cache_counts is not None
    assert case.cache_counts.dram_read_sectors == 0


def test_what_is_made_of_a_case_is_another_one(study: Study) -> None:
    api.predict(study.cases()[0])
    case = study.cases()[0]
    assert case.recall is not None
    for other in (replace(case), case.on(api.machine(GPU, "sm.count=10"))):
        assert other.recall is None
    fewer = case.on(api.machine(GPU, "sm.count=10"))
    assert api.predict(fewer).time_s > api.predict(case).time_s


def test_models_of_others_are_asked_every_time(study: Study) -> None:
    class Twice(Auto):
        def predict(self, case: Case) -> Prediction:
            asked.append(case)
            return super().predict(case)

    asked: list[Case] = []
    case = study.cases()[0]
    assert said(api.predict(case, Twice())) == said(api.predict(case, Twice()))
    assert len(asked) == 2


def test_errors_are_not_kept(study: Study) -> None:
    study.file.write_text(SCALE.replace("y[i] = factor", "y[i + 65536] = factor"))
    for _ in range(2):
        with pytest.raises(api.KernelcastError, match="outside every array"):
            study.cases()
