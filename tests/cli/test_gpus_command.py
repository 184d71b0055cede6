"""`kernelcast gpus`: the list, one GPU with every source, and what goes wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kernelcast.cli.main import main
from kernelcast.machines.loader import load_machine, machine_names


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["gpus", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status, out, _ = run(capsys, *arguments, "--json")
    assert status == 0
    return json.loads(out)


def test_every_gpu_is_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys)
    assert status == 0
    listed = [line.split()[0] for line in out.splitlines()[1:]]
    assert sorted(listed) == sorted(machine_names())
    line = next(line for line in out.splitlines() if line.startswith("h100-sxm"))
    assert line.split()[-7:] == ["80GB", "Hopper", "9.0", "132", "1.98", "3350", "80"]


def test_the_list_as_json_is_in_si_units(capsys: pytest.CaptureFixture[str]) -> None:
    gpus = run_json(capsys)["gpus"]
    assert {g["name"] for g in gpus} == set(machine_names())
    t4 = next(g for g in gpus if g["name"] == "t4")
    assert t4["clock_hz"] == 1.59e9
    assert t4["dram_bandwidth"] == 320e9
    assert t4["dram_bytes"] == 16 * 2**30
    assert (t4["sm_count"], t4["compute_capability"]) == (40, "7.5")


def test_one_architecture(capsys: pytest.CaptureFixture[str]) -> None:
    gpus = run_json(capsys, "--arch", "HOPPER")["gpus"]
    assert [g["name"] for g in gpus] == ["gh200", "h100-pcie", "h100-sxm", "h200-sxm"]


def test_one_gpu_shows_every_number_with_unit_kind_and_source(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, _ = run(capsys, "gtx-280")
    assert status == 0
    for path in load_machine("gtx-280").quantities:
        assert path in out
    line = next(line for line in out.splitlines() if line.startswith("mwp_cwp.mem_ld"))
    assert line.split()[1:4] == ["450", "cycles", "fitted"]
    assert "Hong & Kim 2009" in line


def test_one_gpu_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    gpu = run_json(capsys, "h100-sxm", "--set", "dram.bandwidth=2e12")
    assert gpu["quantities"].keys() == load_machine("h100-sxm").quantities.keys()
    assert gpu["overrides"] == ["dram.bandwidth"]
    assert gpu["quantities"]["dram.bandwidth"] == {
        "value": 2e12,
        "unit": "byte/s",
        "kind": "assumed",
        "source": "--set",
    }
    assert gpu["quantities"]["occupancy.shared_carveouts"]["value"][-1] == 228 * 1024


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["h100"], "unknown GPU 'h100'; did you mean h100-sxm"),
        (["absent.toml"], "absent.toml: machine file: No such file"),
        (["--arch", "hoper"], "unknown architecture 'hoper'; did you mean hopper"),
        (["t4", "--arch", "turing"], "--arch filters the list"),
        (["--set", "sm.count=1"], "--set needs the name of a GPU"),
        (["t4", "--set", "sm.cuont=1"], "did you mean sm.count"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
