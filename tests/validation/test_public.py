"""The table of measured accuracy: its sets, its rows, and what is missing from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernelcast.errors import InputError
from kernelcast.machines.loader import load_machine
from kernelcast.models import load_model
from kernelcast.validation.measured import Choice, validate_measured
from kernelcast.validation.public import PublicSet, accuracy_of_set, read_sets

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
    assert "nothing can be compared" in row.missing[0]


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
