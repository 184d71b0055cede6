"""`kernelcast explore`: a design space in text, JSON, SQLite and Parquet."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.explore import ExploreDocument, explore_schema

ROOT = Path(__file__).parents[2]
SAXPY = ROOT / "examples/saxpy.cu"
TRANSPOSE = ROOT / "examples/transpose.cu"
QUICK = ("--isa", "ptx", "--sample", "2", "--gpu", "t4")
SWEEPS = ("--sweep", "sm.count=10:40:10", "--sweep", "dram.bandwidth=160e9,320e9")


def test_json_follows_its_schema_and_says_what_predict_says(run):
    done = run("explore", SAXPY, *QUICK, *SWEEPS, "--model", "roofline", "--json")
    document = json.loads(done.out)
    jsonschema.validate(document, explore_schema())
    assert document["configurations"] == document["predictions"] == document["computed"] == 8
    (result,) = document["results"]
    best = result["best"][0]
    assert best["numbers"] == [10, 320e9]
    settings = ("--set", "sm.count=10", "--set", "dram.bandwidth=320e9")
    predicted = run("predict", SAXPY, *QUICK, *settings, "--model", "roofline", "--json")
    (same,) = json.loads(predicted.out)["results"]
    assert best["time_s"] == pytest.approx(same["time_s"], rel=1e-12)
    assert best["bottleneck"] == same["bottleneck"]
    assert result["sensitivities"][1]["elasticity"] == pytest.approx(-1, abs=0.1)


@pytest.mark.parametrize("who", [(), ("--dask", "local")], ids=["processes", "dask"])
def test_workers_are_given_the_launches(run, who):
    if who:
        pytest.importorskip("distributed")
    given = ("explore", SAXPY, *QUICK, *SWEEPS, "--model", "roofline,teg", "--json")
    alone, together = run(*given), run(*given, "--workers", "2", *who)
    assert together.status == 0, together.err
    assert json.loads(together.out)["results"] == json.loads(alone.out)["results"]


def test_several_programs_and_all_models(run, shown):
    sweep = ("--sweep", "sm.count=10,40")  # every model, in time too
    done = run("explore", SAXPY, TRANSPOSE, SAXPY, *QUICK, *sweep, "--model", "all", "--top", "1")
    assert done.status == 0, done.err
    (document,) = shown
    assert isinstance(document, ExploreDocument)
    assert [Path(launch.program).name for launch in document.launches] == [
        "saxpy.cu",
        "transpose.cu",
    ]
    programs = {result.program for result in document.results}
    assert programs == {str(SAXPY), str(TRANSPOSE), None}
    assert "All programs, geometric mean by volkov: at best" in done.out
    assert as_json(document)["models"] == document.models


def test_results_are_kept_and_gone_on_with(run, tmp_path):
    file = tmp_path / "out.db"
    arguments = ("explore", SAXPY, *QUICK, *SWEEPS, "--results", file)
    first = run(*arguments)
    again = run(*arguments)
    assert f"8 predictions, 8 of them found in {file}" in " ".join(again.out.split())
    tail = "saxpy.cu by volkov"
    assert first.out[first.out.index(tail) :] == again.out[again.out.index(tail) :]
    other = run("explore", SAXPY, *QUICK, "--sweep", "sm.count=10,20", "--results", file)
    assert other.status == 2
    assert "holds the results of another sweep" in other.err
    assert "name another file with --results" in other.err


def test_parquet_holds_every_time(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "out.parquet"
    done = run("explore", SAXPY, *QUICK, *SWEEPS, "--parquet", file, "--json")
    table = parquet.read_table(file).to_pydict()
    assert table["sm.count"] == [10, 10, 20, 20, 30, 30, 40, 40]
    assert table["dram.bandwidth"] == [160e9, 320e9] * 4
    assert set(table["model"]) == {"volkov"}
    best = json.loads(done.out)["results"][0]
    assert min(table["time_s"]) == best["best"][0]["time_s"]
    assert sum(table["pareto"]) == best["front_size"]


def test_parquet_without_pyarrow_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run("explore", SAXPY, *QUICK, *SWEEPS, "--parquet", tmp_path / "out.parquet")
    assert done.status == 2
    assert "install kernelcast[parquet]" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sweep", "dram.bandwith=1e12"), "did you mean dram.bandwidth"),
        (("--sweep", "sm.count=0"), "0 is out of range"),
        (("--sweep", "l1.ways=0"), "0 is out of range"),
        (("--sweep", "dram.bandwidth=-1"), "-1 is out of range"),
        (("--sweep", "sm.count"), "no values"),
        (("--sweep", "l2.size=4000000", "--set", "l2.ways=16"), "is no multiple of 16 ways"),
        (("--sweep", "sm.count=1,2", "--gpu", "t4,l4"), "one GPU expected"),
        (("--sweep", "sm.count=1,2", "--dask", "nowhere"), "no scheduler of Dask answers"),
        (("--sweep", "sm.count=1,2", "--workers", "0"), "workers"),
        ((), "Missing option '--sweep'"),
    ],
)
def test_what_cannot_be_swept_is_one_line(run, arguments, message, monkeypatch):
    monkeypatch.setattr("kernelcast.exploration.dask_workers._PATIENCE_S", 0.2)
    done = run("explore", SAXPY, *QUICK, *arguments)
    assert done.status == 2
    assert done.out == ""
    assert message in done.err
    assert done.err.count("\n") == 1


def test_configurations_in_which_the_launch_does_not_fit_are_said(run):
    done = run("explore", SAXPY, *QUICK, "--sweep", "occupancy.threads_per_block=64,1024")
    assert done.status == 0, done.err
    text = " ".join(done.out.split())
    assert "Where launches cannot run - " in text
    assert "(50 %)" in text


def test_an_interrupt_says_how_to_go_on(tmp_path):
    """A million predictions would take minutes: it is interrupted when the first are there."""
    file = tmp_path / "out.db"
    sweeps = ("--sweep", "sm.count=1:1000:1", "--sweep", "dram.bandwidth=1e9:1e12:1e9")
    arguments = ("explore", str(SAXPY), *QUICK, *sweeps, "--results", str(file))
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelcast.cli.main", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    for _ in range(1200):
        if held(file) or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"what was done is in {file}; the same command goes on from there" in err
    assert held(file) % 256 == 0


def held(file: Path) -> int:
    if not file.exists():
        return 0
    connection = sqlite3.connect(file)
    try:
        return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])
    except sqlite3.Error:
        return 0
    finally:
        connection.close()
