"""`kernelcast offload` and loops of C on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest

import kernelcast as kc
from kernelcast.errors import ToolError
from kernelcast.exploration.cpu_clocks import given
from kernelcast.exploration.offload import transfers_of
from kernelcast.frontends.c.launching import launch_function
from kernelcast.frontends.c.program import LoopChoice, read_program
from kernelcast.ir import HostMemory
from kernelcast.measuring import native_c
from kernelcast.models.terms.transfers import Direction
from kernelcast.reporting.documents.offload import offload_schema

NESTS = Path(__file__).parents[1] / "frontends/c/nests"
GEMM = (NESTS / "algebra.c", "--function", "gemm_linear", "--isa", "ptx")
SIZES = ("--size", "n=200", "--size", "m=200", "--size", "k=100")
GIVEN = ("--cpu-time", "2e-3", "--gpu", "h100-sxm,t4")


@pytest.fixture(scope="module")
def answer(request) -> dict:
    (found,) = kc.offload(
        NESTS / "algebra.c",
        ("h100-sxm", "t4"),
        function="gemm_linear",
        sizes={"n": 200, "m": 200, "k": 100},
        cpu_s=2e-3,
    )
    assert "worth a GPU" in str(found)
    return found.as_dict()


def test_times_and_speedups_agree_with_each_other(answer):
    assert answer["cpu_s"] == 2e-3
    assert [g["gpu"] for g in answer["gpus"]] == ["h100-sxm", "t4"]
    for g in answer["gpus"]:
        copies = sum(c["time_s"] for c in g["copies"])
        assert g["total_s"] == pytest.approx(g["kernel_s"] + copies)
        assert g["kernel_s"] == pytest.approx(sum(n["time_s"] * n["repeat"] for n in g["launches"]))
        assert g["speedup"] == pytest.approx(2e-3 / g["kernel_s"])
        assert g["speedup_with_copies"] == pytest.approx(2e-3 / g["total_s"])


def test_what_is_copied_is_what_the_loops_use(answer):
    found = {(c["array"], c["direction"]): c["bytes"] for c in answer["gpus"][0]["copies"]}
    assert found == {
        ("A", "to device"): 4 * 200 * 100,
        ("B", "to device"): 4 * 100 * 200,
        ("C", "to host"): 4 * 200 * 200,
    }


def test_arrays_of_the_function_itself_stay_on_the_device():
    program = read_program((NESTS / "algebra.c").read_text(), "algebra.c")
    atax = next(p for p in program.plans if p.name == "atax")
    found = launch_function(atax, {"m": 10, "n": 20})
    assert {t.label for t in transfers_of(found, HostMemory.PINNED)} == {"A", "x", "y"}


def test_what_a_reduction_returns_comes_back():
    program = read_program((NESTS / "statistics.c").read_text(), "statistics.c")
    (found,), _ = program.launches(LoopChoice(("sum",), sizes={"n": 10}))
    copies = {t.label: (t.direction, t.size_bytes) for t in transfers_of(found, HostMemory.PINNED)}
    assert copies["s"] == (Direction.TO_HOST, 4)


def reduction(n: int) -> Any:
    (found,) = kc.offload(
        NESTS / "statistics.c", ("t4",), function="sum", sizes={"n": n}, cpu_s=1e-3
    )
    return found.as_dict()["gpus"][0]["break_even"]


def test_idle_threads_take_no_time_on_the_cpu():
    smallest = reduction(4096)["tried"][0]
    assert smallest["sizes"]["n"] < 256
    assert smallest["cpu_s"] == pytest.approx(1e-3 * smallest["sizes"]["n"] / 4096, rel=0.5)


def test_a_size_that_cannot_be_tried_does_not_end_the_search(monkeypatch):
    monkeypatch.setattr("kernelcast.exploration.offload._MOST_BYTES", 40_000)
    sizes = [each["sizes"]["n"] for each in reduction(100_000)["tried"]]
    assert sizes[-1] == 100_000
    assert max(sizes[:-1]) < 10_000


def test_sizes_that_are_macros_are_said(run, tmp_path):
    file = tmp_path / "fixed.c"
    file.write_text("#define N 99\nvoid f(float a[N]) { for (int i = 0; i < N; i++) a[i] = i; }\n")
    found = run("offload", file, "--cpu-time", "1e-3", "--gpu", "rtx-4090", "--isa", "ptx")
    assert "no parameter bounds the loops" in found.out
    assert "pcie.bandwidth of rtx-4090 is assumed" in " ".join(found.out.split())


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_loops_of_main_are_offloaded(run, tmp_path):
    file = tmp_path / "whole.c"
    file.write_text(
        "static float a[999];\nint main(int argc, char **argv) {\n"
        "for (int i = 0; i < 999; i++) a[i] = i;\nreturn 0; }\n"
    )
    found = run("offload", file, "--gpu", "t4", "--isa", "ptx")
    assert found.status == 0, found.err
    assert "main_3<<<4, 256>>>" in found.out


def test_the_break_even_lies_between_a_loss_and_a_win(answer):
    for g in answer["gpus"]:
        tried = g["break_even"]["tried"]
        assert [t["sizes"]["n"] for t in tried] == sorted(t["sizes"]["n"] for t in tried)
        assert tried[0]["gpu_s"] >= tried[0]["cpu_s"]
        assert tried[-1]["gpu_s"] < tried[-1]["cpu_s"]
        lost = max(t["sizes"]["n"] for t in tried if t["gpu_s"] >= t["cpu_s"])
        won = min(t["sizes"]["n"] for t in tried if t["gpu_s"] < t["cpu_s"])
        assert lost <= g["break_even"]["sizes"]["n"] <= won


def test_a_time_that_is_given_is_in_proportion_to_the_work_at_other_sizes():
    clock, nothing = given(2.0), cast(Any, None)
    assert [clock(nothing, nothing, work).seconds for work in (10.0, 5.0, 40.0)] == [2.0, 1.0, 8.0]


def test_json_follows_its_schema(run):
    found = run("offload", *GEMM, *SIZES, *GIVEN, "--no-break-even", "--json")
    document = json.loads(found.out)
    jsonschema.validate(document, offload_schema())
    assert document["schema"] == "kernelcast/offload/1"
    assert all(g["break_even"] is None for g in document["results"][0]["gpus"])


def test_kernels_are_written_for_people(run, tmp_path):
    out = tmp_path / "kernels.cu"
    run("offload", *GEMM, *SIZES, *GIVEN, "--no-break-even", "--quiet", "--cuda", out)
    assert "#line" not in out.read_text()
    assert "gemm_linear_20" in run("kernels", out).out
    of_loops = run("predict", *GEMM, *SIZES, "--model", "volkov", "--quiet").out
    assert run("predict", out, "--isa", "ptx", "--model", "volkov", "--quiet").out == of_loops


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_time_on_the_cpu_is_measured(run):
    arguments = ("--gpu", "t4", "--no-break-even", "--cc-flags", "-O1")
    found = run("offload", *GEMM, *SIZES, *arguments)
    assert found.status == 0
    assert "measured on this machine, cc -O1" in found.out.replace("\n", " ")


def test_without_a_compiler_it_asks_for_the_time(run, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("kernelcast.measuring.native_c.shutil.which", lambda name: None)
    found = run("offload", *GEMM, *SIZES)
    assert found.status == 2
    assert "--cpu-time SECONDS" in found.err
    with pytest.raises(ToolError, match="tcc is not installed"):
        native_c.c_compiler("tcc")


def test_cuda_is_not_offloaded(run):
    found = run("offload", Path(__file__).parents[2] / "examples/saxpy.cu", "--cpu-time", "1")
    assert found.status == 2
    assert "only C has loops" in found.err


def test_a_program_that_ends_badly_is_one_line(run, tmp_path):
    file = tmp_path / "bad.c"
    file.write_text(
        "#include <stdlib.h>\nvoid f(int n, float *x) {\n"
        "for (int i = 0; i < n; i++) x[i] = 1;\nexit(7); }\n"
    )
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    found = run("offload", file, "--size", "n=10", "--gpu", "t4", "--isa", "ptx")
    assert found.status == 2
    assert "ended with status 7" in found.err


def test_predict_takes_loops_and_says_what_it_leaves_out(run):
    found = run("predict", NESTS / "refused.c", "--size", "n=64", "--isa", "ptx")
    assert found.status == 0
    assert "good_111<<<1, 256>>>" in found.out
    assert "refused.c:31: the arrays x and y may overlap" in found.err
    assert "not_there.h is not there" in found.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--function", "scan", "--size", "n=8"), "refused.c:19: iteration i = 2 reads"),
        (("--function", "good"), "refused.c:111: n is not given"),
        (("--function", "god"), "did you mean good"),
        (("--size", "q=3"), "unknown size 'q'"),
        (("--size", "n"), "is not NAME=VALUE"),
        (("--size", "n=8", "--grid", "3"), "follows from the loops"),
        (("--size", "n=8", "--block", "3,x"), "is no block for loops"),
    ],
)
def test_bad_choices_of_loops(run, arguments, message):
    found = run("predict", NESTS / "refused.c", *arguments, "--quiet")
    assert found.status == 2
    assert message in found.err
    assert found.err.count("\n") == 1


def test_loops_are_chosen_in_c_alone(run):
    found = run("predict", Path(__file__).parents[2] / "examples/saxpy.cu", "--size", "n=3")
    assert found.status == 2
    assert "only C has loops" in found.err


def test_every_model_takes_loops(run):
    found = run("predict", *GEMM, *SIZES, "--model", "all", "--json")
    assert found.status == 0
    assert len(json.loads(found.out)["results"]) > 5
