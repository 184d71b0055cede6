"""Rows that are damaged, impossible or contradict each other: named, and the rest is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import ParseError
from kernelcast.measurements.observation import Measurements, Observation
from kernelcast.measurements.reading import read_measurements
from kernelcast.measurements.rows import checked

HEAD = "kernel,regs,shmem,block,mean_ms,N,rows,cols,iters,gpu_device_name\n"
ROWS = [f"copy,8,0,256,{n + 1}.5,{n},0,0,0,A GPU\n" for n in range(4)]


def tuned(tmp_path: Path, entries: dict[str, object]) -> str:
    document = {
        "device_name": "A GPU",
        "kernel_name": "k",
        "tune_params_keys": ["block", "tile"],
        "cache": entries,
    }
    return json.dumps(document)


def test_a_damaged_row_is_named_and_the_rest_used(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(HEAD + ROWS[0] + "copy,8,0,256,soon,1,0,0,0,A GPU\n" + ROWS[2] + "copy,8,0,x")
    found = read_measurements(file)
    assert [one.parameters["N"] for one in found.observations if "N" in one.parameters] == [2]
    assert len(found.observations) == 2
    (line,) = found.damaged
    assert line == "line 3 is damaged and left out: could not convert string to float: 'soon'"
    assert found.failed == 1, "the last row has no time"


def test_a_cache_that_ends_within_a_configuration_is_used_up_to_there(tmp_path: Path) -> None:
    entries: dict[str, object]
    entries = {f"{32 << n},{n}": {"time": 1.5 + n, "times": [1.0 + n, 2.0 + n]} for n in range(3)}
    text = tuned(tmp_path, entries)
    file = tmp_path / "cache.json"
    whole = text.rindex("}", 0, len(text) - 2) + 1
    for end, count, is_named in (
        (len(text), 3, False),
        (whole, 3, False),
        (whole - 8, 2, True),
        (whole - 1, 2, True),
    ):
        file.write_text(text[:end])
        found = read_measurements(file)
        assert len(found.observations) == count, end
        assert bool(found.damaged) is is_named
    assert found.damaged == ("the file ends within a configuration, which is left out",)


@given(cut=st.integers(0, 400))
def test_wherever_a_cache_is_cut_its_rows_are_right_or_it_is_refused(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    entries: dict[str, object] = {f"{32 << n},{n}": {"time": 1.5 + n} for n in range(5)}
    file = folder / "cache.json"
    text = tuned(folder, entries)
    file.write_text(text[:cut])
    try:
        found = read_measurements(file)
    except Exception as error:
        assert "\n" not in str(error)
        assert type(error).__module__ == "kernelcast.errors"
        return
    for one in found.observations:
        assert one.time_s == pytest.approx((1.5 + float(one.parameters["tile"])) * 1e-3)


@pytest.mark.parametrize("time", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_that_cannot_be_is_left_out(time: float) -> None:
    rows = (Observation("k", {"n": 1}, (1e-3,)), Observation("k", {"n": 2}, (time,)))
    found = checked(Measurements("A GPU", rows))
    assert found.observations == rows[:1]
    assert found.damaged == ("row 2 (k n=2) is left out: its time is no number above 0",)


def test_rows_that_contradict_each_other_are_named_and_left_out() -> None:
    def row(n: int, seconds: float) -> Observation:
        return Observation("k", {"n": n}, (seconds,))

    rows = (row(1, 1e-3), row(1, 1.2e-3), row(2, 1e-3), row(2, 4e-3), row(3, 1e-3), row(3, 1.0))
    found = checked(Measurements("A GPU", rows))
    assert found.observations == rows[:2], "repeats that are near each other stay"
    assert found.damaged == (
        "rows of k n=2 contradict each other and are left out: 0.001 s, 0.004 s",
        "rows of k n=3 contradict each other and are left out: 0.001 s, 1 s; units may be mixed up",
    )


def test_units_that_are_mixed_up_are_told_by_the_other_figures_of_a_row(tmp_path: Path) -> None:
    entries: dict[str, object] = {
        f"32,{n}": {"time": 2.0, "times": [2.0, 2.1], "GFLOP/s": 500.0} for n in range(4)
    }
    entries["64,1"] = {"time": 0.002, "times": [2.0, 2.1], "GFLOP/s": 5e5}
    entries["64,2"] = {"time": 2000.0, "times": [2000.0], "GFLOP/s": 500.0}
    file = tmp_path / "cache.json"
    file.write_text(tuned(tmp_path, entries))
    found = read_measurements(file)
    assert len(found.observations) == 4
    first, second = found.damaged
    assert first.startswith("configuration 64,1 is damaged and left out: its time, 0.002, and")
    assert second.startswith("configuration 64,2 is damaged and left out: its time and its GFLOP/s")


def test_a_file_without_a_row_that_can_be_used_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(HEAD + "copy,8,0,256,-3,1,0,0,0,A GPU\n")
    with pytest.raises(ParseError, match=r"row 1 .* is left out: its time is no number above 0"):
        read_measurements(file)


def test_rows_without_times_hold_counters() -> None:
    rows = (Observation("k", {}, (), counters={"a": 1.0}),) * 2
    assert checked(Measurements("A GPU", rows)).observations == rows
