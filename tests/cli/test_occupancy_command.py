"""`kernelcast occupancy`: the first line answers, the rest explains."""

from __future__ import annotations

import json

import pytest

from kernelcast.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["occupancy", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_first_line_answers(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--block", "256", "--regs", "48", "--smem", "10000")
    assert status == 0
    assert " ".join(out.split()).startswith(
        "h100-sxm: 5 blocks of 256 threads per SM, 40 of 64 warps (62 %), limited by registers"
    )
    assert "one more block at" in out


def test_quiet_gives_the_answer_alone(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--gpu", "t4,l4", "--block", "16x16", "--quiet")
    assert [line.split(":")[0] for line in out.splitlines()] == ["t4", "l4"]


def test_json_holds_the_whole_answer(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--gpu", "t4,h100-sxm", "--block", "16,8", "--regs", "40", "--grid", "1000,2"]
    status, out, _ = run(capsys, *arguments, "--json")
    assert status == 0
    t4, h100 = json.loads(out)["results"]
    assert (t4["machine"], t4["blocks_per_sm"], t4["limiter"]) == ("t4", 8, "warps")
    assert (h100["blocks_per_sm"], h100["warps_per_sm"], h100["relative"]) == (12, 48, 0.75)
    assert h100["waves"] == 2000 / (132 * 12)
    assert h100["tail_blocks"] == 2000 - 132 * 12
    assert h100["slacks"][1] == {
        "resource": "registers per thread",
        "current": 40,
        "for_one_more": 32,
        "until_one_less": 40,
    }


def test_overrides_and_carveout_reach_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    def blocks(*arguments: str) -> int:
        _, out, _ = run(capsys, "--gpu", "t4", "--block", "64", *arguments, "--json")
        count: int = json.loads(out)["results"][0]["blocks_per_sm"]
        return count

    assert blocks("--smem", "10240") == 6
    assert blocks("--smem", "10240", "--carveout", "0") == 3
    assert blocks("--set", "occupancy.blocks_per_sm=7") == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--block", "2048"], "block of 2048 threads exceeds 1024 on h100-sxm (cc 9.0)"),
        (["--block", "1,1,65"], "block has 65 in z"),
        (["--block", "128", "--smem", "300000"], "exceed 232448"),
        (["--block", "128", "--regs", "300"], "300 registers per thread exceed 255"),
        (["--block", "12k"], "not X[,Y[,Z]]"),
        (["--block", "0"], "not X[,Y[,Z]]"),
        (["--block", "8,8,8,8"], "not X[,Y[,Z]]"),
        (["--block", "128", "--gpu", "h1000"], "did you mean"),
        ([], "--block"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
