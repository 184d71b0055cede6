"""`kernelcast trace` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelcast.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run(capsys):
    """Run a command; its status, standard output and standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = main(["trace", *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_a_trace_that_was_written_tells_what_its_execution_told(run, tmp_path, isa):
    path = tmp_path / "saxpy.kct"
    status, out, err = run(
        EXAMPLES / "saxpy.cu", "--isa", isa, "--sample", 3, "--out", path, "--json"
    )
    assert status == 0, err
    made = json.loads(out)
    assert (made["kernel"], made["isa"], made["traced_blocks"]) == ("saxpy", isa, 3)
    assert made["counts"]["fp32"] == 3 * 8
    assert made["bytes"] == path.stat().st_size
    read = json.loads(run(path, "--json")[1])
    unwritten = dict.fromkeys(("out", "format", "bytes", "bytes_per_instruction"))
    assert read == {**made, **unwritten}


def test_machine_code_goes_to_accel_sim_and_comes_back(run, tmp_path):
    folder = tmp_path / "traces"
    source = EXAMPLES / "matmul_tiled.cu"
    status, out, err = run(
        source, "--isa", "sass", "--sample", 1, "--format", "accel-sim", "--out", folder, "--json"
    )
    assert status == 0, err
    assert "1 of 16384 blocks were traced; they are written as a grid of their own" in err
    made = json.loads(out)
    read = json.loads(run(folder, "--json")[1])
    assert read == json.loads(run(folder / "kernelslist.g", "--json")[1])
    for field in ("kernel", "isa", "target", "warp_instructions", "thread_instructions", "counts"):
        assert read[field] == made[field], field
    assert (read["maker"], read["blocks"]) == ("Accel-Sim", 1)


def test_the_text_says_what_was_traced(run, tmp_path):
    path = tmp_path / "r.kct"
    status, out, err = run(
        EXAMPLES / "reduction.cu", "--launch", 2, "--isa", "ptx", "--sample", 4, "--out", path
    )
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0] == "sum_blocks (ptx, sm_90): 1 of 1 blocks of 256 threads"
    assert lines[1].endswith(" % of lanes active")
    assert lines[-1].startswith(f"{path}: ")
    assert lines[-1].endswith(" bytes per warp instruction")
    assert run(path, "--quiet")[1] == lines[0] + "\n"


def test_without_a_place_nothing_is_written(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(EXAMPLES / "saxpy.cu", "--sample", 1)
    assert status == 0
    assert "1 of 262 144 blocks" in out
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--launch", "2"], "no launch 2; it holds 1"),
        (["--gpu", "a40", "--exact"], "--gpu --exact: a trace stays as it was made"),
    ],
)
def test_what_a_trace_has_not_is_told(run, tmp_path, options, told):
    path = tmp_path / "t.kct"
    assert run(EXAMPLES / "saxpy.cu", "--isa", "ptx", "--sample", 1, "--out", path)[0] == 0
    status, out, err = run(path, *options)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {path}: {told}")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["reduction.cu", "--out", "x.kct"], "2 launches; choose one with --launch N"),
        (["reduction.cu", "--launch", "3", "--out", "x.kct"], "no launch 3; the last is 2"),
        (["saxpy.cu", "--isa", "ptx", "--format", "accel-sim", "--out", "x"], "--format own"),
        (["saxpy.cu", "--isa", "ptx", "--sample", "1", "--out", "no/x"], "cannot be written"),
        (["absent.kct", "--out", "x.kct"], "absent.kct"),
        (["saxpy.cu", "--format", "accel-sim"], "name a new folder with --out"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(run, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    file, *options = arguments
    status, out, err = run(EXAMPLES / file, *options)
    assert (status, out) == (2, "")
    assert told in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not [*tmp_path.iterdir()]
