"""`kernelcast calibrate`: a raw file or tables, beside the numbers of a machine file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.calibration.fake_tables import Chip, tables
from tests.measuring.fake_gpu import known_chip
from tests.measuring.measured import measured

from kernelcast.machines.loader import load_machine

A100 = load_machine("a100-pcie-80gb")


@pytest.fixture(scope="module")
def raw_file(tmp_path_factory):
    """Of a chip whose L1 is as its machine file says, and whose L2 is not."""
    chip = known_chip()
    chip.l1, chip.l2 = A100.number("latency.l1"), 1.5 * A100.number("latency.l2")
    folder = tmp_path_factory.mktemp("raw")
    return measured(chip, folder, quick=True, only=("chase", "l2_slices"))


def test_numbers_that_differ_come_first_with_the_source_of_the_stated_one(run, raw_file):
    found = run("calibrate", raw_file, "--against", "a100-pcie-80gb")
    assert found.status == 0
    first, *_ = found.out.split("\n\n")
    head, *_rest = first.splitlines()
    assert head == "Differs from a100-pcie-80gb by more than 10%"
    assert "latency.l2: x 1.50; a100-pcie-80gb has 206 cycles, measured: RRZE gpu-benches" in first
    assert "latency.l1" not in first
    line = next(line for line in found.out.splitlines() if line.split()[:1] == ["latency.l1"])
    assert line.split()[1:5] == ["33", "33", "1.00", "cycles"]


def test_the_comparison_in_json_has_both_numbers_and_the_whole_source(run, raw_file):
    found = json.loads(run("calibrate", raw_file, "--against", "a100-pcie-80gb", "--json").out)
    assert found["against"]["machine"] == "a100-pcie-80gb"
    assert "latency.l2" in found["against"]["differing"]
    assert "latency.l1" not in found["against"]["differing"]
    l2 = found["quantities"]["latency.l2"]
    assert l2["against"]["ratio"] == pytest.approx(l2["value"] / 206)
    assert l2["against"]["source"] == A100.quantities["latency.l2"].source
    assert "against" not in json.loads(run("calibrate", raw_file, "--json").out)


def test_a_gpu_that_nobody_knows_is_named_with_the_nearest(run, raw_file):
    found = run("calibrate", raw_file, "--against", "a100-pcie-80g")
    assert (found.status, found.out) == (2, "")
    assert "unknown GPU 'a100-pcie-80g'; did you mean a100-pcie-80gb" in found.err


def test_a_machine_may_be_compared_with_its_own_file(run, raw_file, tmp_path):
    out = tmp_path / "chip.toml"
    found = run("calibrate", raw_file, "--out", out)
    assert found.status == 0
    again = run("calibrate", raw_file, "--against", out)
    assert again.out.startswith("Nothing differs from chip by more than 10%")


def test_the_table_of_the_comparison_stands_beside_the_pictures(run, raw_file, tmp_path):
    found = run("calibrate", raw_file, "--against", "a100-pcie-80gb", "--pictures", tmp_path)
    assert found.status == 0
    rows = (tmp_path / "against.md").read_text().splitlines()
    assert "| a100-pcie-80gb | ratio |" in rows[0]
    (l2,) = (row for row in rows if row.startswith("| latency.l2 |"))
    assert "| 206 | 1.50 | cycles | measured: RRZE gpu-benches, gpu-latency |" in l2
    assert {row.count("|") for row in rows} == {8}


def test_tables_need_the_gpu_that_they_are_of(run, tmp_path):
    paths = tables(Chip(), tmp_path, ["gpu-latency", "gpu-cache"])
    found = run("calibrate", *paths, "--gpu", "a100-pcie-80gb", "--against", "a100-pcie-80gb")
    assert found.status == 0
    assert "latency.l2_far" in found.out
    nameless = run("calibrate", *paths)
    assert nameless.status == 2
    assert "does not name its GPU; give --gpu NAME" in nameless.err


def test_raw_files_are_calibrated_one_by_one(run, raw_file):
    found = run("calibrate", raw_file, raw_file)
    assert found.status == 2
    assert "one raw file expected, 2 files given" in found.err


def test_a_raw_file_is_no_table(run, raw_file):
    found = run("calibrate", raw_file, "--gpu", "a40")
    assert found.status == 2
    assert "no table of gpu-benches" in found.err


def test_a_second_run_that_agrees_is_said_and_one_that_does_not_is_exit_status_1(
    run, raw_file, tmp_path
):
    again = run("calibrate", raw_file, "--repeat", raw_file)
    assert again.status == 0
    assert "numbers have come back within 2%" in again.out.splitlines()[0]
    document = json.loads(Path(raw_file).read_text())
    for sample in document["benchmarks"]["chase"]["samples"]:
        sample["warp_cycles"] = [1.05 * cycles for cycles in sample["warp_cycles"]]
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document))
    found = run("calibrate", raw_file, "--repeat", other, "--json")
    assert found.status == 1
    repeat = json.loads(found.out)["repeat"]
    assert "latency.l1" in repeat["apart"]
    assert repeat["ratios"]["latency.l1"] == pytest.approx(1.05, rel=1e-3)
    assert "latency.l2" not in repeat["apart"]
