"""Sets of whole programs and of counters: which are drawn, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import read_workload
from kernelcast.machines.loader import load_machine
from kernelcast.measurements.observation import Observation
from kernelcast.models import load_model
from kernelcast.validation import public_launches
from kernelcast.validation.capacities import Capacity
from kernelcast.validation.programs import ForecastRow, ProgramRunner
from kernelcast.validation.public import accuracy_of_sets
from kernelcast.validation.public_launches import Folders, drawn_launches
from kernelcast.validation.public_sets import PublicSet

ROOT = Path(__file__).parents[2]
HEAD = (
    '"Kernel Name","traffic","dpAI","spAI","dpPerf","spPerf","xtime","Block Size","Grid Size",'
    '"device","kernelName","targetName","exeArgs","intops"'
)
PROFILES = "Benchmark,Kernel,L1_RH,L1_RM,L1_WH,L1_WM,DRAM_Rd,DRAM_Wr,L2_RH,L2_RM,L2_WH,L2_WM\n"


def table(*rows: tuple[str, str, float]) -> str:
    """A table of gpuFLOPBench: program, kernel and microseconds of every row."""
    lines = [
        f'"{kernel}(float *)","1e9","0","0","0","0","{us * 1e3}","(256, 1, 1)","(4096, 1, 1)",'
        f'"a GPU","{kernel}","{program}","",0'
        for program, kernel, us in rows
    ]
    return "\n".join([HEAD, *lines]) + "\n"


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    made = Folders(tmp_path / "workloads", tmp_path / "data", tmp_path / "sources")
    for folder in (made.workloads, made.data, made.sources / "src"):
        folder.mkdir(parents=True)
    return made


def test_programs_are_run_and_every_model_speaks_of_their_launches(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = table(("one", "f", 50), ("one", "g", 40), ("one", "h", 2), ("two", "f", 30))
    (folders.data / "times.csv").write_text(times)
    (case,) = cases_of_workload(
        read_workload(ROOT / "examples/saxpy.cu"), [load_machine("rtx-3080")]
    )
    ran: list[str] = []

    def timed(self: ProgramRunner, name: str, rows: Any) -> tuple[list[ForecastRow], list[str]]:
        ran.append(name)
        said = self.model.predict(case)
        found = [ForecastRow(row, (said.time_s,), (said,)) for row in rows[:1]]
        return found, [f"{row.kernel}: no such launch was made" for row in rows[1:]]

    monkeypatch.setattr(ProgramRunner, "timed", timed)
    one = PublicSet("programs", "rtx-3080", "times.csv", programs="src", longer_than_us=10)
    models = [load_model("roofline"), load_model("volkov")]
    first, second = accuracy_of_sets([one], folders, 9, models, workers=1)
    assert ran == ["one", "two"]
    assert first.aside == {"took less than 10 us, the cost of a launch": 1}
    assert first.missing == ("one/g: no such launch was made",)
    assert first.score is not None
    assert second.score is not None
    assert [c.measured_s for c in first.score.comparisons] == pytest.approx([50e-6, 30e-6])
    for row, model in ((first, models[0]), (second, models[1])):
        assert row.score is not None
        assert row.score.comparisons[0].predicted_s == model.predict(case).time_s
    grid = next(c for c in first.counted if c.metric == "launch__grid_size")
    assert [(p.expected, p.counted) for p in grid.pairs] == [(case.launch.blocks, 4096)] * 2


def test_programs_are_put_in_order_together(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kernel has one launch, of which there is no order; there is one of all."""
    times = table(("one", "f", 50), ("one", "g", 40), ("two", "f", 30))
    (folders.data / "times.csv").write_text(times)
    (case,) = cases_of_workload(
        read_workload(ROOT / "examples/saxpy.cu"), [load_machine("rtx-3080")]
    )

    def timed(self: ProgramRunner, name: str, rows: Any) -> tuple[list[ForecastRow], list[str]]:
        said = self.model.predict(case)
        return [ForecastRow(row, (2 * row.time_s,), (said,)) for row in rows], []

    monkeypatch.setattr(ProgramRunner, "timed", timed)
    one = PublicSet("programs", "rtx-3080", "times.csv", programs="src")
    (row,) = accuracy_of_sets([one], folders, 9, [load_model("roofline")], workers=1)
    assert (row.tau, row.regret) == (pytest.approx(1), None)


def test_programs_without_sources_are_named(folders: Folders) -> None:
    (folders.data / "times.csv").write_text(table(("one", "f", 50)))
    one = PublicSet("programs", "rtx-3080", "times.csv", programs="src")
    (row,) = accuracy_of_sets([one], folders, 9, workers=1)
    assert row.score is None
    assert row.missing == ("one: no folder of sources for one",)


def test_what_is_missing_is_named_as_in_its_folder(folders: Folders) -> None:
    """Wherever on a machine that lies: the same table comes from every one."""
    (folders.data / "times.csv").write_text(table(("one-cuda", "f", 50)))
    program = folders.sources / "src" / "one-cuda" / "main.cu"
    program.parent.mkdir(parents=True)
    program.write_text('#include "nowhere.h"\nint main() {}\n')
    one = PublicSet("programs", "rtx-3080", "times.csv", programs="src")
    (row,) = accuracy_of_sets([one], folders, 9, workers=1)
    (why,) = row.missing
    assert why.startswith("one-cuda: src/one-cuda/main.cu:1:")
    assert str(folders.sources) not in why


def test_kernels_that_were_counted_have_a_workload_of_their_name(folders: Folders) -> None:
    rows = "a,here,1,1,1,1,1,1,1,1,1,1\na,there,1,1,1,1,1,1,1,1,1,1\n"
    (folders.data / "counted.csv").write_text(PROFILES + rows)
    (folders.workloads / "kernels").mkdir()
    (folders.workloads / "kernels" / "here.cu").write_text("")
    one = PublicSet("counters", "v100-sxm2", "counted.csv", folder="kernels", counters=True)
    drawn = drawn_launches(one, folders, 9)
    (launch,) = drawn.launches
    assert isinstance(launch.row, Observation)  # type: ignore[union-attr]
    assert launch.row.kernel == "here"  # type: ignore[union-attr]
    assert drawn.aside == {"of kernels without a workload": 1}


def test_capacities_are_compared_where_a_set_asks_for_them(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folders.data / "chase.txt").write_text("")
    (folders.workloads / "chase.cu").write_text("")

    def found(table: str, workload: Path, chip: Any, *, build: Any) -> tuple[Capacity, ...]:
        assert Path(table).name == "chase.txt"
        assert workload == folders.workloads / "chase.cu"
        return Capacity(1000.0, 900.0), Capacity(4000.0, None)

    monkeypatch.setattr(public_launches, "validate_capacities", found)
    one = PublicSet("chase", "a40", "chase.txt", "chase.cu", capacities=True)
    (row,) = accuracy_of_sets([one], folders, 9, workers=1)
    (count,) = row.counted
    assert row.score is None
    assert count.errors == pytest.approx([0.1, 1.0]), "one that rises nowhere is all off"


def test_workloads_are_named_for_patterns_of_kernels(folders: Folders) -> None:
    rows = [("p", f"Sum {what}", us) for what, us in (("of few", 20), ("of many", 90), ("max", 5))]
    (folders.data / "times.csv").write_text(table(*rows, ("p", "Scan", 30)))
    one = PublicSet(
        "sums",
        "rtx-3080",
        "times.csv",
        folder="kernels",
        workloads={"*Sum of *": "sum.cu", "*Sum max": "most.cu"},
        kernels={"*Sum max": "largest<float>"},
        longer_than_us=10,
    )
    drawn = drawn_launches(one, folders, 8)
    chosen = {(x.row.kernel, x.workload.name, x.kernel) for x in drawn.launches}  # type: ignore[union-attr]
    assert chosen == {("p/Sum of few", "sum.cu", ""), ("p/Sum of many", "sum.cu", "")}
    assert drawn.missing == ("*Sum max: no row that took 1e-05 s or longer",)
    assert drawn.aside == {
        "took less than 10 us, the cost of a launch": 1,
        "of kernels without a workload": 1,
    }
