import json
import re
from pathlib import Path

import jsonschema
import pytest

from kernelcast.models import model_names
from kernelcast.profiling.run import profile_launch
from kernelcast.reporting.documents.predict import predict_schema

EXAMPLES = Path(__file__).parents[2] / "examples"

SAXPY = """
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
LAUNCH = [
    "--grid", "cdiv(1 << 16, 256)", "--block", "256", "--arg", "n=1 << 16", "--arg", "a=2.0",
    "--arg", "x=f32[n]", "--arg", "y=f32[n]",
]  # fmt: skip


@pytest.fixture
def saxpy(tmp_path):
    file = tmp_path / "saxpy.cu"
    file.write_text(SAXPY)
    return file


@pytest.fixture
def predict(run, saxpy):
    """Run `predict` on saxpy with JSON; the document."""

    def call(*arguments):
        outcome = run("predict", saxpy, *LAUNCH, *arguments, "--json")
        assert outcome.status == 0, outcome.err
        document = json.loads(outcome.out)
        jsonschema.validate(document, predict_schema())
        return document

    return call


def test_the_answer_is_in_the_first_line(run, saxpy):
    outcome = run("predict", saxpy, *LAUNCH)
    assert outcome.status == 0
    assert outcome.out.startswith("saxpy<<<256, 256>>> on h100-sxm: ")
    assert outcome.err == ""


def test_quiet_leaves_the_answer_alone(run, saxpy):
    full = run("predict", saxpy, *LAUNCH).out
    assert run("predict", saxpy, *LAUNCH, "--quiet").out == full.splitlines()[0] + "\n"


def test_large_saxpy_on_h100_is_bound_by_memory(run):
    outcome = run("predict", EXAMPLES / "saxpy.cu", "--json")
    (result,) = json.loads(outcome.out)["results"]
    moved_bytes = 3 * 4 * (1 << 26)
    # Copies of 4 bytes a lane reach 2.41 TB/s with all warps (measurements/data), the pins 3.35.
    assert result["bottleneck"] == "dram bandwidth"
    assert 2.4e12 < moved_bytes / result["time_s"] < 3.2e12


def test_the_same_file_runs_on_old_and_new_chips(run):
    outcome = run("predict", EXAMPLES / "saxpy.cu", "--gpu", "gtx-280,b200", "--json")
    assert outcome.status == 0
    old, new = json.loads(outcome.out)["results"]
    assert old["time_s"] > 10 * new["time_s"]
    assert any("grid" in w for w in old["warnings"])
    assert not any("grid" in w for w in new["warnings"])


def test_every_breakdown_sums_to_the_time(predict):
    document = predict("--model", "all", "--gpu", "h100-sxm,a100-sxm-80gb")
    assert len(document["results"]) == 2 * len(model_names())
    for result in document["results"]:
        total = sum(part["cycles"] for part in result["breakdown"])
        assert total == pytest.approx(result["cycles"])
        low, high = result["low_s"], result["high_s"]
        if low is not None and high is not None:
            assert low <= result["time_s"] * (1 + 1e-9)
            assert result["time_s"] <= high * (1 + 1e-9)


def test_half_the_bandwidth_takes_twice_the_memory_time(predict):
    (fast,) = predict("--model", "roofline", "--set", "dram.bandwidth=2e12")["results"]
    (slow,) = predict("--model", "roofline", "--set", "dram.bandwidth=1e12")["results"]

    def memory_cycles(result):
        return next(b["cycles"] for b in result["bounds"] if b["name"] == "dram bandwidth")

    assert memory_cycles(slow) == pytest.approx(2 * memory_cycles(fast))
    assert slow["provenance"]["machine_overrides"] == ["dram.bandwidth"]


def test_registers_given_by_hand_lower_occupancy(predict):
    (result,) = predict("--regs", "128")["results"]
    assert result["occupancy"]["limiter"] == "registers"
    assert result["occupancy"]["blocks_per_sm"] == 2


def test_a_sample_and_the_whole_grid_count_the_same_work(predict):
    (sampled,) = predict("--sample", "40")["results"]
    (exact,) = predict("--exact")["results"]
    assert sampled["sampled"]["blocks"] == 40
    assert exact["sampled"]["blocks"] == exact["sampled"]["of"] == 256
    assert sampled["counts"]["fp32"] == exact["counts"]["fp32"]
    assert sampled["traffic"] == exact["traffic"]


def test_counts_are_those_of_the_source(predict):
    (result,) = predict("--exact")["results"]
    assert result["counts"]["fp32"]["thread"] == 1 << 16
    assert result["traffic"]["global_requested_bytes"] == 3 * 4 * (1 << 16)


def test_macros_reach_the_compiler(run, tmp_path):
    file = tmp_path / "k.cu"
    file.write_text(
        'extern "C" __global__ void k(float* y) {'
        " for (int i = 0; i < N; i++) y[i * 32 + threadIdx.x] = i; }"
    )
    launch = ["--grid", "1", "--block", "32", "--arg", "y=f32[1024]"]
    stores = {}
    for n in (2, 8):
        out = run("predict", file, *launch, "-D", f"N={n}", "--json").out
        stores[n] = json.loads(out)["results"][0]["counts"]["store"]["warp"]
    assert stores == {2: 2, 8: 8}


def test_a_workload_adds_up_and_shares_memory(run, tmp_path):
    (tmp_path / "app.cu").write_text(SAXPY)
    (tmp_path / "app.toml").write_text(
        """
        n = 4096
        source = "app.cu"
        [[launch]]
        kernel = "saxpy"
        grid = "n // 256"
        block = 256
        repeat = 3
        args = { n = "n", a = 1.0, x = "f32[n] ones", y = "f32[n]" }
        [[launch]]
        kernel = "saxpy"
        grid = "n // 128"
        block = 128
        args = { n = "n", a = 1.0, x = "f32[n] ones", y = "f32[n]" }
        """
    )
    outcome = run("predict", tmp_path / "app.toml", "--json")
    assert outcome.status == 0, outcome.err
    document = json.loads(outcome.out)
    jsonschema.validate(document, predict_schema())
    first, second = document["results"]
    assert document["total_time_s"] == pytest.approx(3 * first["time_s"] + second["time_s"])


def test_explain_goes_down_to_the_instruction(run, saxpy):
    outcome = run("explain", saxpy, *LAUNCH, "--json")
    explained = json.loads(outcome.out)
    jsonschema.validate(
        {"schema": "kernelcast/predict/1", "kernelcast": "0", "results": [explained["result"]]},
        predict_schema(),
    )
    assert any("FFMA" in i["text"] for i in explained["instructions"])
    assert any(line["line"] == 4 for line in explained["lines"])
    text = run("explain", saxpy, *LAUNCH).out
    assert "Terms of the" in text
    assert "LDG.E" in text
    assert explained["ptx_counts"]["fp32"] == explained["result"]["counts"]["fp32"]
    assert "where machine code and PTX differ" in text


def test_explain_of_ptx_has_nothing_to_stand_beside(run, saxpy):
    outcome = run("explain", saxpy, *LAUNCH, "--isa", "ptx", "--json")
    explained = json.loads(outcome.out)
    assert explained["ptx_counts"] is None
    assert any("ld.global" in i["text"] for i in explained["instructions"])


def test_compare_puts_gpus_side_by_side(run, saxpy):
    outcome = run("compare", saxpy, *LAUNCH, "--gpu", "l4,h100-sxm")
    assert outcome.out.splitlines()[0].startswith("saxpy<<<256, 256>>> is fastest on h100-sxm")


def test_compare_finds_the_faster_version(run, saxpy, tmp_path):
    slow = tmp_path / "slow.cu"
    slow.write_text(SAXPY.replace("a * x[i]", "sqrtf(a) / x[i * 7919 % n]"))
    outcome = run("compare", slow, saxpy, *LAUNCH)
    assert outcome.status == 0, outcome.err
    assert outcome.out.startswith("saxpy.cu is fastest on h100-sxm")
    document = json.loads(run("compare", slow, saxpy, *LAUNCH, "--json").out)
    assert [v["file"] for v in document["versions"]] == [str(slow), str(saxpy)]


def test_kernels_lists_parameters_and_resources(run, saxpy):
    out = run("kernels", saxpy).out
    assert re.match(r"saxpy\([su]32 n, f32 a, f32\* x, f32\* y\)$", out.splitlines()[0])
    (kernel,) = json.loads(run("kernels", saxpy, "--json").out)["kernels"]
    assert [p["name"] for p in kernel["parameters"]] == ["n", "a", "x", "y"]
    assert kernel["registers"] > 0


def test_gpus_with_the_same_code_share_one_execution(saxpy, monkeypatch):
    from kernelcast import api

    executed = []
    original = profile_launch

    def counted(kernel, *rest, **options):
        executed.append(kernel.target)
        return original(kernel, *rest, **options)

    monkeypatch.setattr("kernelcast.forecasting.executed.profile_launch", counted)
    flags = api.LaunchFlags(grid="256", block="256", args=tuple(LAUNCH[5::2]))
    work = api.workload(saxpy, flags)
    machines = [api.machine(g) for g in ("a100-sxm-80gb", "h100-sxm", "t4")]
    cases = api.cases(work, machines, build=api.Build(isa="ptx"))
    assert [c.kernel.target for c in cases] == ["sm_80", "sm_90", "sm_75"]
    assert executed == ["sm_80"]
    assert all(c.profile.kernel is c.kernel for c in cases)
