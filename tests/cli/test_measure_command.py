"""`kernelcast measure` and `kernelcast calibrate`, as a user runs them, without a GPU."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from zipfile import ZipFile

import pytest
from tests.measuring.fake_gpu import known_chip
from tests.measuring.measured import measured

from kernelcast.measuring import pack
from kernelcast.measuring.harness.gpu_driver import SIGNATURES


@pytest.fixture(scope="module")
def raw_file(tmp_path_factory):
    return measured(known_chip(), tmp_path_factory.mktemp("measured"), quick=True)


@pytest.fixture
def failing_driver(tmp_path, monkeypatch):
    """A driver library whose every function returns one status."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build a driver library with")

    def install(status):
        source = tmp_path / "driver.c"
        source.write_text("".join(f"int {n}(void) {{ return {status}; }}\n" for n in SIGNATURES))
        library = tmp_path / "libcuda.so.1"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    return install


@pytest.mark.parametrize(("status", "what"), [(100, "no GPU: "), (34, "no driver: ")])
def test_what_keeps_a_gpu_from_being_measured_is_one_line(
    run, failing_driver, tmp_path, status, what
):
    failing_driver(status)
    done = run("measure", "--out", tmp_path / "raw.json")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: {what}")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "raw.json").exists()


def test_an_unknown_benchmark_is_named_before_anything_runs(run):
    done = run("measure", "--only", "chaes")
    assert done.status == 2
    assert "did you mean chase" in done.err


def test_the_pack_holds_all_that_the_other_machine_needs(run, tmp_path):
    done = run("measure", "--pack", tmp_path / "pack", "--target", "sm_80")
    assert done.status == 0, done.err
    assert "python3 pack.pyz measure --out raw.json" in done.out
    (file,) = (tmp_path / "pack").iterdir()
    names = set(ZipFile(file).namelist())
    cubins = {f"microbenchmarks/sm_80/{file.stem}.cubin" for file in pack.source_files()}
    sources = {f"microbenchmarks/{file.name}" for file in pack.source_files()}
    program = {name for name in names if name.endswith(".py")}
    assert names == {*program, *sources, *cubins}
    assert all(name.startswith("harness/") for name in program - {"__main__.py"})


@pytest.mark.parametrize("command", ["measure", "ground-truth", "profile"])
def test_the_pack_runs_by_the_standard_library_alone(pack_file, command):
    done = alone(pack_file, command, "--help")
    assert done.returncode == 0, done.stderr
    assert "--out" in done.stdout and "--minutes" in done.stdout


def test_a_pack_without_known_results_says_so_in_one_line(pack_file):
    done = alone(pack_file, "ground-truth")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "make it with --ground-truth" in done.stderr


def test_the_pack_names_the_nearest_of_what_it_knows(pack_file):
    done = alone(pack_file, "measure", "--only", "chaes")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "did you mean chase" in done.stderr


@pytest.fixture(scope="module")
def pack_file(tmp_path_factory):
    return pack.make_pack(tmp_path_factory.mktemp("pack"), ())


def alone(file, *arguments):
    """Run a pack by a Python that finds nothing else."""
    command = [sys.executable, "-I", "-S", str(file), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_calibration_is_a_table_and_a_machine_that_predicts(run, raw_file, tmp_path):
    machine = tmp_path / "chip.toml"
    done = run("calibrate", raw_file, "--out", machine)
    assert done.status == 0, done.err
    assert "latency.dram" in done.out
    assert "95 numbers" in done.err
    shown = run("gpus", machine)
    assert "Synthetic GPU" in shown.out


def test_every_fit_is_drawn_and_listed(run, raw_file, tmp_path):
    done = run("calibrate", raw_file, "--pictures", tmp_path / "fits")
    assert done.status == 0, done.err
    drawn = {file.stem for file in (tmp_path / "fits").glob("*.svg")}
    assert f"{len(drawn)} pictures" in done.err
    data = json.loads(run("calibrate", raw_file, "--json").out)
    fitted = {p for p, q in data["quantities"].items() if q["kind"] != "stated"}
    assert drawn == fitted
    table = (tmp_path / "fits" / "fits.md").read_text()
    for path in fitted:
        assert f"[{path}]({path}.svg)" in table


def test_a_fit_that_is_refused_is_drawn_and_said_too(run, raw_file, tmp_path):
    document = json.loads(raw_file.read_text())
    for sample in document["benchmarks"]["conflicts"]["samples"]:
        sample["warp_cycles"] = [c * (1 + sample["degree"] % 3) for c in sample["warp_cycles"]]
    damaged = tmp_path / "damaged.json"
    damaged.write_text(json.dumps(document))
    run("calibrate", damaged, "--pictures", tmp_path / "fits")
    assert "refused" in (tmp_path / "fits" / "latency.bank_conflict.svg").read_text()
    table = (tmp_path / "fits" / "fits.md").read_text()
    assert "| [latency.bank_conflict](latency.bank_conflict.svg) | conflicts | residual" in table


def test_pictures_that_cannot_be_written_are_one_line(run, raw_file, tmp_path):
    (tmp_path / "file").touch()
    done = run("calibrate", raw_file, "--pictures", tmp_path / "file")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "name another folder" in done.err


def test_json_holds_values_residuals_and_what_is_missing(run, raw_file, tmp_path):
    document = json.loads(raw_file.read_text())
    del document["benchmarks"]["barriers"]
    part = tmp_path / "part.json"
    part.write_text(json.dumps(document))
    data = json.loads(run("calibrate", part, "--json").out)
    why = {"benchmark": "barriers", "why": "not measured"}
    assert data["missing"] == {"latency.barrier": why, "latency.barrier_warp": why}
    dram = data["quantities"]["latency.dram"]
    assert (dram["unit"], dram["kind"]) == ("cycles", "measured")
    assert dram["value"] == pytest.approx(480, rel=0.02)
    assert "latency.barrier (barriers): not measured" in run("calibrate", part).out


def test_a_missing_raw_file_is_one_line(run, tmp_path):
    done = run("calibrate", tmp_path / "nothing.json")
    assert (done.status, done.out) == (2, "")
    assert "nothing.json" in done.err


def test_what_cannot_be_kept_is_one_line(run, raw_file, tmp_path):
    """This file comes from a stand-in, which says of no code that it ran."""
    done = run("measure", "--keep", tmp_path / "kept", "--out", raw_file)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "does not say which code it measured" in done.err
    assert not (tmp_path / "kept").exists()
