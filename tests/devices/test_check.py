"""`kernelcast check`: programs and files, exit status, JSON and JUnit XML."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import jsonschema
import pytest

from kernelcast.cli.main import main
from kernelcast.reporting.documents.check import check_schema
from tests.devices.conftest import PROGRAMS

A100 = ("--gpu", "a100-sxm-80gb")
CLEAN = """/* kernelcast
[[launch]]
kernel = "k"
grid = 2
block = 64
args = { x = "f32[128]" }
*/
__global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}
"""


@pytest.fixture
def checked(capfd):
    """Run `kernelcast check --json`: its status, what it found, and what was printed."""

    def check(*arguments):
        status = main(["check", "--json", *A100, *map(str, arguments)])
        out, err = capfd.readouterr()
        return status, json.loads(out) if out else {}, err

    return check


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(CLEAN)
    return path


def test_misuses_of_a_program_are_found_with_their_lines(checked, built, tmp_path):
    report = tmp_path / "report.xml"
    status, document, printed = checked("--junit", report, built("misuses"))
    jsonschema.validate(document, check_schema())
    assert (status, printed, document["exit_status"]) == (1, "0\n", 0)
    assert [(m["kind"], m["kernel"], m["place"]["line"]) for m in document["misuses"]][:2] == [
        ("uninitialised read", "unwritten", 4),
        ("race between blocks", "between_blocks", 14),
    ]
    assert {m["kernel"] for m in document["misuses"]} == {"unwritten", "between_blocks"}
    root = ElementTree.parse(report).getroot()
    cases = {case.get("name"): case.find("failure") for case in root.iter("testcase")}
    assert {name for name, failure in cases.items() if failure is None} == {"fine"}
    assert root.get("failures") == "2"


@pytest.mark.usefixtures("built")
def test_a_source_with_host_code_is_run_though_its_launch_is_known(checked, tmp_path):
    """Its kernel finds what the host has put into memory, not zeros."""
    source = tmp_path / "app.cu"
    source.write_text(
        "#include <cstdio>\n"
        "__global__ void k(int *x) { x[threadIdx.x] += 1; }\n"
        "int main() {\n  int *x;\n  cudaMallocManaged(&x, 128);\n"
        "  for (int i = 0; i < 32; i++) x[i] = i;\n  k<<<1, 32>>>(x);\n"
        '  cudaDeviceSynchronize();\n  printf("%d\\n", x[31]);\n}\n'
    )
    status, document, printed = checked(source)
    assert (status, document["exit_status"], document["misuses"]) == (0, 0, [])
    assert "32\n" in printed


def test_an_access_out_of_bounds_of_a_program_is_found(checked, built):
    status, document, printed = checked(built("faults"), 0)
    (misuse,) = document["misuses"]
    assert (status, misuse["kind"], misuse["place"]["line"]) == (1, "out of bounds", 5)
    assert "then cudaErrorIllegalAddress" in printed


def test_a_file_without_misuses_passes(checked, file, tmp_path):
    report = tmp_path / "report.xml"
    status, document, _ = checked("--junit", report, file)
    assert (status, document["misuses"], document["exit_status"]) == (0, [], None)
    assert document["launches"] == 1
    assert ElementTree.parse(report).getroot().get("tests") == "1"


def test_a_file_with_a_misuse_does_not(checked, file):
    file.write_text(CLEAN.replace("  __syncthreads();\n", ""))
    status, document, _ = checked(file)
    assert status == 1
    (misuse,) = document["misuses"]
    lines = {misuse["place"]["line"], misuse["other"]["line"]}
    assert (misuse["tool"], lines) == ("racecheck", {10, 11})


def test_text_says_what_to_do(file, capfd):
    file.write_text(CLEAN.replace("  __syncthreads();\n", ""))
    assert main(["check", *A100, str(file)]) == 1
    out, _ = capfd.readouterr()
    assert "race on shared memory at" in out
    assert "k.cu:11" in out
    assert "put __syncthreads() between them" in out


def test_a_source_without_a_launch_is_a_program(checked, built):
    status, document, printed = checked(PROGRAMS / "vector_add.cu")
    assert (status, document["misuses"]) == (0, [])
    assert "0 wrong" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.cu",), "missing.cu"),
        (("{file}", "--grid", "4"), "options stand before it"),
    ],
)
def test_what_cannot_be_checked_is_one_line(checked, file, arguments, message):
    status, document, said = checked(*(a.format(file=file) for a in arguments))
    assert (status, document, said.count("\n")) == (2, {}, 1)
    assert message in said


def test_a_source_without_launches_is_a_program_with_macros_too(checked, built):
    built("vector_add")  # skips without the compilers
    status, document, printed = checked("-D", "UNUSED", PROGRAMS / "vector_add.cu", 1000)
    assert (status, document["misuses"]) == (0, [])
    assert printed.startswith("cudaSuccess, 0 wrong\n")
