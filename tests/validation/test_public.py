"""The table of measured accuracy: its sets, its rows, and what is missing from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.machines.loader import load_machine
from kernelcast.measurements.observation import Observation
from kernelcast.models import load_model
from kernelcast.validation import public, public_launches
from kernelcast.validation.judging import judge
from kernelcast.validation.measured import Choice, validate_measured
from kernelcast.validation.public import SetAccuracy, accuracy_of_sets
from kernelcast.validation.public_launches import Folders, spread_of
from kernelcast.validation.public_sets import PublicSet, RowsBeside, read_sets, sets_called

PUBLIC = Path(__file__).parents[2] / "measurements/public"
SOURCE = """/* kernelcast
block_size_x = 128
[[launch]]
kernel = "scale"
grid = "cdiv(1 << 18, block_size_x)"
block = "block_size_x"
args = { x = "f32[1 << 18]" }
*/
#include "factor.h"
extern "C" __global__ void scale(float* x) {
    x[blockIdx.x * block_size_x + threadIdx.x] *= FACTOR;
}
"""


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Any]:
    """Workloads, data and sources as three folders; a header of the kernel lies in the last."""
    made = {name: tmp_path / name for name in ("workloads", "data", "sources")}
    for folder in made.values():
        folder.mkdir()
    cache = {
        str(block): {"block_size_x": block, "time": ms}
        for block, ms in ((64, 0.02), (128, 0.01), (256, 0.04))
    }
    document = {
        "device_name": "Some GPU",
        "kernel_name": "scale",
        "tune_params_keys": ["block_size_x"],
        "cache": cache,
    }
    (made["data"] / "inner").mkdir()
    (made["data"] / "inner" / "cache.json").write_text(json.dumps(document))
    (made["workloads"] / "scale.cu").write_text(SOURCE)
    (made["sources"] / "headers").mkdir()
    (made["sources"] / "headers" / "factor.h").write_text("#define FACTOR 2.0f\n")
    return made


def accuracy_of_set(
    one: PublicSet, *, workloads: Path, data: Path, sources: Path, launches: int, **options: Any
) -> list[SetAccuracy]:
    """One set, without other processes."""
    folders = Folders(workloads, data, sources)
    return accuracy_of_sets([one], folders, launches, workers=1, **options)


def test_a_row_is_what_the_comparison_of_its_file_says(folders: dict[str, Any]) -> None:
    one = PublicSet(
        "scaling", "h100-sxm", "cache.json", "scale.cu", settings=("clock.memory=1.3e9",)
    )
    (row,) = accuracy_of_set(one, **folders, launches=3)
    assert row.score is not None
    assert row.missing == ()
    assert len(row.score.comparisons) == 3
    assert row.tau == row.score.tau
    assert row.regret == row.score.regret
    (slower,) = accuracy_of_set(
        PublicSet(
            "scaling", "h100-sxm", "cache.json", "scale.cu", settings=("clock.memory=0.9e9",)
        ),
        **folders,
        launches=3,
    )
    assert slower.score is not None
    assert slower.score.ratio > row.score.ratio


def test_every_model_has_a_row_of_its_own(folders: dict[str, Any]) -> None:
    one = PublicSet("scaling", "h100-sxm", "cache.json", "scale.cu")
    models = [load_model("volkov"), load_model("roofline")]
    rows = accuracy_of_set(one, **folders, launches=3, models=models)
    alone = [accuracy_of_set(one, **folders, launches=3, models=[model])[0] for model in models]
    assert [row.model for row in rows] == ["volkov", "roofline"]
    assert [row.score.ratio for row in rows if row.score] == [
        row.score.ratio for row in alone if row.score
    ]


def test_a_set_whose_kernels_all_fail_says_why(folders: dict[str, Any]) -> None:
    (folders["sources"] / "headers" / "factor.h").unlink()
    (row,) = accuracy_of_set(
        PublicSet("scaling", "h100-sxm", "cache.json", "scale.cu"), **folders, launches=3
    )
    assert row.score is None
    assert "FACTOR" in row.missing[0]


def test_sources_named_like_a_folder_of_workloads_are_for_these_alone(
    folders: dict[str, Any],
) -> None:
    others = folders["sources"] / "another_set"
    others.mkdir()
    (others / "factor.h").write_text("#define OTHER\n")
    one = PublicSet("scaling", "h100-sxm", "cache.json", "scale.cu")
    assert accuracy_of_set(one, **folders, launches=3)[0].missing
    (folders["workloads"] / others.name).mkdir()
    assert not accuracy_of_set(one, **folders, launches=3)[0].missing


def test_a_set_without_its_file_says_so(folders: dict[str, Any]) -> None:
    (row,) = accuracy_of_set(
        PublicSet("scaling", "h100-sxm", "other.json", "scale.cu"), **folders, launches=3
    )
    assert row.score is None
    assert "no other.json in" in row.missing[0]


def test_the_published_sets_are_read() -> None:
    sets = read_sets(PUBLIC / "sets.toml")
    assert len(sets) > 10
    assert all(load_machine(one.gpu) for one in sets)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[[set]]\ntitle = 1\n", "Expected `str`"),
        ('[[set]]\ntitle="a"\ngpu="b"\ndata="c"\ncolour="red"\n', "colour"),
        ("[[set", "list of sets"),
        ("", "`set`"),
    ],
)
def test_a_damaged_list_of_sets_is_one_clear_line(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "sets.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=what):
        read_sets(file)


def written(
    folders: dict[str, Any], name: str, times_ms: Mapping[int, float | str | list[float]]
) -> None:
    """A cache with the times of some blocks, or all repeats of them."""
    document = {
        "device_name": "Some GPU",
        "kernel_name": "scale",
        "tune_params_keys": ["block_size_x"],
        "cache": {
            str(block): {"time": ms}
            if isinstance(ms, float | str)
            else {"time": ms[0], "times": ms}
            for block, ms in times_ms.items()
        },
    }
    (folders["data"] / name).write_text(json.dumps(document))


def test_rules_set_rows_aside_and_count_them(folders: dict[str, Any]) -> None:
    written(folders, "rows.json", {64: 0.02, 128: 0.001, 256: 0.002, 512: "RuntimeFailed"})
    (row,) = accuracy_of_set(
        PublicSet("s", "h100-sxm", "rows.json", "scale.cu", longer_than_us=10),
        **folders,
        launches=9,
        models=[load_model("roofline")],
    )
    assert row.score is not None
    assert [c.launch for c in row.score.comparisons] == ["scale block_size_x=64"]
    assert row.aside == {
        "took less than 10 us, the cost of a launch": 2,
        "failed when it was measured": 1,
    }
    (row,) = accuracy_of_set(
        PublicSet("s", "h100-sxm", "rows.json", "scale.cu", aside="bound by the bus"),
        **folders,
        launches=9,
    )
    assert row.score is None
    assert row.aside["bound by the bus"] == 3


def test_rows_whose_clock_changed_are_set_aside(folders: dict[str, Any]) -> None:
    """The first repeat may be longer, since the GPU warms up; others tell of another clock."""
    repeats = {64: [0.03, 0.02, 0.02], 128: [0.02, 0.02, 0.02, 0.024], 256: [0.021, 0.02, 0.0205]}
    written(folders, "rows.json", repeats)
    one = PublicSet("s", "h100-sxm", "rows.json", "scale.cu")
    (row,) = accuracy_of_set(one, **folders, launches=9, models=[load_model("roofline")])
    assert row.score is not None
    compared = [c.launch for c in row.score.comparisons]
    assert compared == ["scale block_size_x=64", "scale block_size_x=256"]
    assert row.aside == {"repeats more than 5 % apart: the clock changed between them": 1}


def test_another_file_tells_which_rows_are_of_another_clock(folders: dict[str, Any]) -> None:
    """At the clock that is meant a row takes 1.25 of the time that stands in the other file."""
    written(folders, "rows.json", {64: 0.025, 128: 0.015, 256: 0.05, 512: 0.03})
    beside = RowsBeside("cache.json", 1.2, 1.3)
    one = PublicSet("s", "h100-sxm", "rows.json", "scale.cu", beside=beside)
    (row,) = accuracy_of_set(one, **folders, launches=9, models=[load_model("roofline")])
    assert row.score is not None
    compared = [c.launch for c in row.score.comparisons]
    assert compared == ["scale block_size_x=64", "scale block_size_x=256"]
    assert row.aside == {
        "another clock: not 1.2 to 1.3 of the time in cache.json": 1,
        "not in cache.json, beside which the clock is told": 1,
    }
    lost = PublicSet("s", "h100-sxm", "rows.json", "scale.cu", beside=RowsBeside("no.json", 1, 2))
    (row,) = accuracy_of_set(lost, **folders, launches=9)
    assert row.score is None
    assert "no.json" in row.missing[0]


def test_rows_are_those_that_fulfil_the_condition(folders: dict[str, Any]) -> None:
    one = PublicSet("s", "h100-sxm", "cache.json", "scale.cu", where="block_size_x * 2 == 256")
    (row,) = accuracy_of_set(one, **folders, launches=9, models=[load_model("roofline")])
    assert row.score is not None
    assert [c.launch for c in row.score.comparisons] == ["scale block_size_x=128"]
    assert row.aside["outside block_size_x * 2 == 256"] == 2


def test_a_condition_over_a_parameter_that_rows_lack_is_refused(folders: dict[str, Any]) -> None:
    one = PublicSet("s", "h100-sxm", "cache.json", "scale.cu", where="block_size_z == 1")
    with pytest.raises(InputError, match="block_size_z"):
        accuracy_of_set(one, **folders, launches=9, models=[load_model("roofline")])


def test_rows_say_their_clock_and_sets_the_names_that_rows_lack(folders: dict[str, Any]) -> None:
    entries = {str(b): {"time": 0.02, "core_freq": mhz} for b, mhz in ((64, 400.0), (128, 1600.0))}
    document = {"device_name": "", "kernel_name": "scale", "tune_params_keys": ["block_size_x"]}
    (folders["data"] / "clocks.json").write_text(json.dumps(document | {"cache": entries}))
    source = SOURCE.replace("block_size_x = 128", "block_size_x = 128\nturns = 1").replace(
        "x[blockIdx.x", "for (int i = 0; i < turns; i++) x[blockIdx.x"
    )
    (folders["workloads"] / "scale.cu").write_text(source)

    def times(turns: int) -> list[float]:
        one = PublicSet("s", "h100-sxm", "clocks.json", "scale.cu", names={"turns": turns})
        (row,) = accuracy_of_set(one, **folders, launches=9, models=[load_model("volkov")])
        assert row.score is not None
        return [c.predicted_s for c in row.score.comparisons]

    slow, fast = times(400)
    assert slow > 2 * fast
    assert times(4)[1] < fast


def test_several_files_are_one_set(folders: dict[str, Any]) -> None:
    for number, ms in enumerate((0.02, 0.03, 0.07)):
        written(folders, f"part_{number}.json", {64: ms, 128 << number: 0.1})
    one = PublicSet("s", "h100-sxm", "part_*.json", "scale.cu")
    (row,) = accuracy_of_set(one, **folders, launches=9, models=[load_model("roofline")])
    assert row.score is not None
    times = {c.launch: c.measured_s for c in row.score.comparisons}
    assert len(times) == 4
    assert times["scale block_size_x=64"] == pytest.approx(0.03e-3), "the median of the repeats"


@given(times=st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=60), count=st.integers(1, 20))
def test_the_fastest_row_is_always_drawn(times: list[float], count: int) -> None:
    rows = [(at, Observation("k", {}, (time,))) for at, time in enumerate(times)]
    drawn = spread_of(rows, count)
    assert len(drawn) == min(count, len(rows)) == len({at for at, _ in drawn})
    assert min(row.time_s for _, row in drawn) == min(times)
    assert drawn == spread_of(rows, count)


def test_what_is_done_is_kept_until_something_changes(
    folders: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = []

    def counted(timed: Any, *rest: Any, **options: Any) -> Any:
        judged.append(timed[0].configuration)
        return judge(timed, *rest, **options)

    monkeypatch.setattr(public_launches, "judge", counted)
    one = PublicSet("s", "h100-sxm", "cache.json", "scale.cu")

    def run(**others: Any) -> list[SetAccuracy]:
        options: dict[str, Any] = {"launches": 2, "keep": tmp_path / "kept"}
        options["models"] = [load_model("roofline")]
        return accuracy_of_set(one, **folders, **options | others)

    first = run()
    assert len(judged) == 2
    assert run() == first
    assert len(judged) == 2, "both are kept"
    run(launches=3)
    assert len(judged) == 3, "one is new"
    run(models=[load_model("volkov")])
    assert len(judged) == 5
    (folders["sources"] / "headers" / "factor.h").write_text("#define FACTOR 3.0f\n")
    run()
    assert len(judged) == 7, "another source is another kernel"
    monkeypatch.setattr(public, "wheel_versions", lambda: ("nvidia_cuda_nvrtc-99.dist-info",))
    run()
    assert len(judged) == 9, "another compiler may make other code"


def test_other_registers_are_another_kernel(folders: dict[str, Any]) -> None:
    entries = {"64": {"time": 0.02, "num_regs": 99}, "128": {"time": 0.02, "num_regs": 8}}
    document = {
        "device_name": "Some GPU",
        "kernel_name": "scale",
        "tune_params_keys": ["block_size_x"],
        "cache": entries,
    }
    (folders["data"] / "registers.json").write_text(json.dumps(document))
    one = PublicSet("s", "h100-sxm", "registers.json", "scale.cu")
    (row,) = accuracy_of_set(one, **folders, launches=9, models=[load_model("roofline")])
    assert row.aside == {"other code: registers differ by more than an eighth": 1}


def test_sets_are_called_by_their_title_or_gpu() -> None:
    sets = [PublicSet("streams", "a40"), PublicSet("streams", "v100-pcie"), PublicSet("x", "t4")]
    assert [one.gpu for one in sets_called(sets, ["v100", "x"], "f")] == ["v100-pcie", "t4"]
    assert len(sets_called(sets, [], "f")) == 3
    with pytest.raises(InputError, match="did you mean streams"):
        sets_called(sets, ["strams"], "f")


def test_a_choice_draws_the_same_launches_every_time(folders: dict[str, Any]) -> None:
    def drawn() -> list[int]:
        (folders["workloads"] / "factor.h").write_text("#define FACTOR 2.0f\n")
        answer = validate_measured(
            folders["data"] / "inner" / "cache.json",
            folders["workloads"] / "scale.cu",
            load_machine("h100-sxm"),
            [load_model("roofline")],
            Choice(count=2),
        )
        (score,) = answer.scores.values()
        return [c.configuration for c in score.comparisons]

    assert drawn() == drawn()
    assert len(drawn()) == 2
