"""`predict --transfers`, and what a workload says of copies."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kernelcast.reporting.documents.predict import predict_schema

SCALE = """
extern "C" __global__ void scale(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
WORKLOAD = """
n = 65536
source = "scale.cu"
{}
[[launch]]
grid = "n // 256"
block = 256
args = {{ n = "n", x = "f32[n]", y = "f32[n]" }}
repeat = 10
"""


@pytest.fixture
def workload(tmp_path):
    (tmp_path / "scale.cu").write_text(SCALE)

    def write(transfers: str = ""):
        file = tmp_path / "app.toml"
        file.write_text(WORKLOAD.format(transfers))
        return file

    return write


@pytest.fixture
def answer(run):
    def call(file, *arguments):
        outcome = run("predict", file, "--gpu", "h100-sxm", *arguments, "--json")
        assert outcome.status == 0, outcome.err
        document = json.loads(outcome.out)
        jsonschema.validate(document, predict_schema())
        return document

    return call


def test_without_copies_nothing_is_said(answer, workload):
    assert "end_to_end" not in answer(workload())


def test_what_is_read_and_written_is_copied(answer, workload):
    document = answer(workload(), "--transfers", "pinned")
    (whole,) = document["end_to_end"]
    assert [(c["array"], c["direction"], c["bytes"]) for c in whole["copies"]] == [
        ("x", "to device", 262144),
        ("y", "to host", 262144),
    ]
    assert whole["kernel_s"] == document["total_time_s"]
    parts = whole["to_device_s"] + whole["kernel_s"] + whole["to_host_s"]
    assert whole["total_time_s"] == pytest.approx(parts)


def test_a_workload_says_what_is_copied(answer, workload):
    given = 'transfers = { memory = "pageable", to_device = ["y"], to_host = [], parts = 4 }'
    (whole,) = answer(workload(given))["end_to_end"]
    assert [(c["array"], c["memory"]) for c in whole["copies"]] == [("y", "pageable")]
    assert whole["parts"] == 4
    (pinned,) = answer(workload(given), "--transfers", "pinned")["end_to_end"]
    assert [c["memory"] for c in pinned["copies"]] == ["pinned"]
    assert pinned["to_device_s"] < whole["to_device_s"]


def test_the_report_ends_with_the_program(run, workload):
    out = run("predict", workload('transfers = "pageable"'), "--quiet").out
    assert "End to end on h100-sxm by the " in out
    assert "x to device, pageable memory" in out


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('transfers = "pined"', "did you mean pinned"),
        ("transfers = 3", "neither a text nor a table"),
        ('transfers = { memry = "pinned" }', "did you mean memory"),
        ("transfers = { parts = 0 }", "parts is 0"),
        ('transfers = { to_host = "y" }', "to_host is no list of names"),
        ('transfers = { to_host = ["z"] }', "unknown array 'z'"),
    ],
)
def test_bad_copies_are_one_line(run, workload, written, message):
    outcome = run("predict", workload(written))
    assert outcome.status == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_of_loops_of_c_what_is_the_functions_own_stays_on_the_device(run):
    nests = Path(__file__).parents[1] / "frontends/c/nests/algebra.c"
    sizes = ("--function", "atax", "--size", "m=10", "--size", "n=20", "--isa", "ptx")
    shown = run("predict", nests, *sizes, "--transfers", "pinned").out
    copied = [line.split()[0] for line in shown.splitlines() if "pinned memory" in line]
    assert copied == ["A", "x", "y"]


def test_explain_and_compare_add_the_copies_of_predict(run, answer, workload):
    file = workload()
    (whole,) = answer(file, "--transfers", "pageable")["end_to_end"]
    flags = ("--gpu", "h100-sxm", "--transfers", "pageable", "--json")
    explained = json.loads(run("explain", file, *flags).out)
    assert explained["end_to_end"] == whole
    assert "kernels, launches included" in run("explain", file, *flags[:-1]).out
    (compared,) = json.loads(run("compare", file, *flags).out)["end_to_end"]
    assert compared == whole


def test_versions_are_compared_by_their_time_with_copies(run, workload, tmp_path):
    file = workload()
    other = tmp_path / "other.toml"
    other.write_text(file.read_text().replace('y = "f32[n]"', 'y = "f32[16 * n]"'))
    document = json.loads(
        run("compare", file, other, "--gpu", "h100-sxm", "--transfers", "pinned", "--json").out
    )
    totals = {v["file"]: v["end_to_end"][0]["total_time_s"] for v in document["versions"]}
    assert document["by_time"] == [str(file), str(other)]
    assert document["fastest_s"] == totals[str(file)]
    assert document["lead"] == pytest.approx(totals[str(other)] / totals[str(file)])


def test_launches_are_nodes_of_a_graph_where_that_was_measured(run, workload):
    """Of ten launches on an A40 each begins 2.05 us after the one before, in a graph 1.09 us."""
    file = workload()
    flags = ("--gpu", "a40", "--transfers", "pinned", "--json")
    (whole,) = json.loads(run("predict", file, *flags).out)["end_to_end"]
    assert whole["total_time_s"] - whole["as_graph_s"] == pytest.approx(10 * 0.96e-6)
    (alone,) = json.loads(run("predict", file, *flags[:1], "gtx-460", *flags[2:]).out)["end_to_end"]
    assert alone["as_graph_s"] is None
