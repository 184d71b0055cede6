"""`kernelcast mix`: the numbers of the synthetic workload, its kernel, and bad input."""

from __future__ import annotations

import json

import pytest

from kernelcast.models.terms.mix import Mix, MixKind
from kernelcast.validation.mix_kernel import mix_kernel

FIVE = "8800-gtx,gtx-280,gtx-480,gtx-680,gtx-980"


def test_table_4_1_and_the_cusp_by_hand(run):
    """Maxwell at alpha = 49: 368 cycles and 0.0814 loads, and (368 + 49 x 6) 4/50 warps."""
    answer = json.loads(run("mix", "--alpha", 49, "--gpu", FIVE, "--json").out)
    maxwell = answer["results"][-1]
    assert (maxwell["gpu"], maxwell["slow_latency"], maxwell["addition_latency"]) == (
        "gtx-980",
        368,
        6,
    )
    assert maxwell["slow_throughput"] == pytest.approx(0.0814, abs=5e-5)
    assert maxwell["group_cycles"] == 368 + 49 * 6
    assert maxwell["needed_warps"] == pytest.approx(52.96)
    table = run("mix", "--alpha", 49, "--gpu", FIVE).out
    assert [line.split()[0] for line in table.splitlines()[2:]] == FIVE.split(",")


def test_additions_alone_have_no_finite_alpha(run):
    answer = json.loads(run("mix", "--alpha", "inf", "--gpu", "gtx-680", "--json").out)
    assert answer["alpha"] is None
    assert answer["results"][0]["needed_warps"] == 36


@pytest.mark.parametrize("gpu", ["h100-sxm", "t4", "k40c", "gtx-1080", "gtx-460", "8800-gt"])
def test_streams_shared_memory_and_roots_on_any_machine(run, gpu):
    for kind, ways in (("streaming", 1), ("shared", 1), ("shared", 4), ("sfu", 1)):
        for ilp in (1, 8):
            flags = ("--kind", kind, "--ways", ways, "--ilp", ilp, "--gpu", gpu, "--json")
            (row,) = json.loads(run("mix", *flags).out)["results"]
            assert 0 < row["groups_bound"] <= 4
            assert row["group_cycles"] > 0


def test_the_kernel_is_written(run, tmp_path):
    out = tmp_path / "mix.cu"
    flags = ("--alpha", 3, "--kind", "strided", "--ways", 2, "--ilp", 4)
    outcome = run("mix", *flags, "--cuda", out, "--blocks", 2, "--threads", 64, "--iterations", 2)
    assert outcome.status == 0
    made = mix_kernel(Mix(3, MixKind.STRIDED, 2, 4), blocks=2, threads=64, iterations=2)
    assert out.read_text(encoding="utf-8") == made.source
    forecast = run("predict", out, "--exact", "--gpu", "gtx-680", "--json")
    assert forecast.status == 0
    names = [r["kernel"] for r in json.loads(forecast.out)["results"]]
    assert names == ["mix_fill", "mix"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--alpha", "nan"], "alpha is nan"),
        (["--alpha", "-1"], "alpha is -1"),
        (["--alpha", "1e308"], "alpha is 1e+308"),
        (["--kind", "shared", "--ways", "3"], "power of two"),
        (["--kind", "streamin"], "is not one of"),
        (["--ilp", "9"], "ilp is 9"),
        (["--kind", "cached", "--gpu", "gtx-280"], "never cached"),
        (["--kind", "random", "--gpu", "k40c"], "no latency.transaction"),
        (["--set", "dram.bandwidth=0"], "out of range"),
        (["--alpha", "1.5", "--cuda", "mix.cu"], "whole number"),
        (["--cuda", "/nowhere/mix.cu"], "cannot be written"),
        (["--cuda", "mix.cu", "--threads", "48"], "whole warps"),
    ],
)
def test_bad_input_is_one_line(run, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run("mix", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
    assert not list(tmp_path.iterdir())
