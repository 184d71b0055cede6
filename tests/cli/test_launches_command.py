"""`launches`, and what other commands say of launches that stand in the source."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

SOURCE = """\
#include <vector>
template <typename T> __global__ void scale(T* x, T a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
int main(int argc, char** argv) {
  int n = atoi(argv[1]);
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  scale<<<(n + 255) / 256, 256>>>(x, 2.0f, n);
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "app.cu"
    file.write_text(SOURCE)
    return file


def refusal(run, *arguments: object) -> str:
    outcome = run(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    return outcome.err


def test_the_workload_is_completed_and_forecast(run, source: Path, tmp_path: Path) -> None:
    text = run("launches", source).out
    written = tomllib.loads(text)
    assert written["n"] == "?"
    (launch,) = written["launch"]
    assert launch == {
        "kernel": "scale<float>",
        "grid": "(n + 255) // 256",
        "block": 256,
        "args": {"x": "f32[n]", "a": "2.0", "n": "n"},
    }
    workload = tmp_path / "app.toml"
    workload.write_text(text)
    open_ = refusal(run, "predict", workload)
    assert "n is open" in open_
    assert "--arg n=VALUE" in open_
    assert "scale<float>" in run("predict", workload, "--arg", "n=4096", "--isa", "ptx").out


def test_a_number_that_is_open_is_asked_for(run, source: Path) -> None:
    said = refusal(run, "predict", source)
    assert "its launches leave numbers open, that of line 10 n" in said
    assert f"give --arg n=VALUE, or see them all with kernelcast launches {source}" in said
    given = run("predict", source, "--arg", "n=4096", "--isa", "ptx")
    assert given.out.startswith("scale<float><<<16, 256>>> on h100-sxm:")
    assert "the launch of line 10 as in the host code" in given.err
    assert "says no launch" in refusal(run, "predict", source, "--block", "64")
    assert "x: a dimension is 0" in refusal(run, "predict", source, "--arg", "n=0")


def test_of_several_that_are_open_those_given_are_not_asked_for(run, tmp_path: Path) -> None:
    file = tmp_path / "two.cu"
    file.write_text(SOURCE.replace("256>>>(x, 2.0f, n)", "atoi(argv[2])>>>(x, 2.0f, scan())"))
    said = refusal(run, "predict", file, "--arg", "n=4096")
    assert "that of line 10 atoi_argv_2, scan" in said
    assert "give --arg atoi_argv_2=VALUE --arg scan=VALUE, or" in said


def test_what_is_open_is_marked_where_it_is_compared_and_nowhere_else(run, tmp_path: Path) -> None:
    file = tmp_path / "n.cu"
    file.write_text(SOURCE.replace("(n + 255) / 256", "n / 256 + (n % 256 == 0 ? 0 : 1)"))
    (launch,) = json.loads(run("launches", file, "--json").out)["launches"]
    (grid,) = re.findall(r"--grid '([^']+)'", launch["command"])
    assert "==" in grid
    assert grid.count("n") == grid.count("<n>")
    assert launch["command"].startswith(f"kernelcast predict {file} --kernel 'scale<float>'")
    assert launch["command"].endswith("--arg 'x=f32[<n>]' --arg a=2.0 --arg 'n=<n>'")


CLOSED = """\
__global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
int main(int argc, char** argv) {
  const int n = 1 << 16;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  scale<<<(n + 127) / 128, 128>>>(x, 2.0f, n);
  const int blocks = atoi(argv[1]);
  scale<<<blocks, 128>>>(x, 3.0f, n);
}
"""


def test_a_launch_with_no_number_open_is_forecast_as_it_is(run, tmp_path: Path) -> None:
    file = tmp_path / "app.cu"
    file.write_text(CLOSED)
    done = run("predict", file, "--isa", "ptx")
    assert done.status == 0
    assert done.out.startswith("scale<<<512, 128>>> on h100-sxm:")
    assert "the launch of line 9 as in the host code (1 more left out" in done.err
    assert "arrays hold zeros" in done.err
    assert "scale<<<512, 128>>>" in run("predict", file, "--isa", "ptx", "--arg", "a=1.5").out
    # A launch of the user's own counts alone, and so do the macros that are given.
    own = run("predict", file, "--isa", "ptx", "--grid", 1, "--block", 32, "--arg", "x=f32[32]")
    assert own.status == 2
    assert "scale" in own.err
    file.write_text(CLOSED.replace("1 << 16", "SIZE"))
    assert "leave numbers open, that of line 9 SIZE" in refusal(run, "predict", file)
    assert "scale<<<32, 128>>>" in run("predict", file, "--isa", "ptx", "-D", "SIZE=4096").out


def test_a_launch_that_goes_wrong_is_left_out_beside_others(run, tmp_path: Path) -> None:
    file = tmp_path / "app.cu"
    file.write_text(
        "__global__ void twice(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }\n"
        "int main() { float* x; cudaMalloc(&x, 4096);\n"
        "  twice<<<8, 128>>>(x); twice<<<16, 128>>>(x); twice<<<4, 128>>>(x); }\n"
    )
    done = run("predict", file, "--isa", "ptx")
    assert done.status == 0
    assert "twice<<<16, 128>>> left out" in done.err
    assert "outside every array" in done.err
    assert done.out.startswith("The workload of 2 launches on h100-sxm")
    # Bounds that a forecast has to keep do not hold because there is none.
    assert "outside every array" in refusal(run, "gate", "time < 1 s", file, "--isa", "ptx")


def test_a_program_that_looks_at_its_arguments_is_called_without(run, tmp_path: Path) -> None:
    file = tmp_path / "app.cu"
    file.write_text(CLOSED.replace("const int n = 1 << 16;", "const int n = argc > 1 ? 9 : 256;"))
    done = run("predict", file, "--isa", "ptx")
    assert done.out.startswith("scale<<<2, 128>>> on h100-sxm:")
    assert "as in the host code called without arguments (1 more left out" in done.err


def test_only_launches_that_the_program_comes_to_are_forecast(run, tmp_path: Path) -> None:
    program = tmp_path / "app.cu"
    program.write_text(
        "template <int N> __global__ void tile(float* x) { x[threadIdx.x % N] = 0; }\n"
        "int main() { int block = 32; float* x; cudaMalloc(&x, 4096);\n"
        "  if (block == 16) tile<16><<<4, block>>>(x);\n"
        "  else tile<32><<<8, block>>>(x); }\n"
    )
    assert run("predict", program, "--isa", "ptx").out.startswith("tile<32><<<8, 32>>> on")
    listed = run("launches", program).out
    assert "# line 3 launches tile<16> under a condition that does not hold" in listed
    assert [each["kernel"] for each in tomllib.loads(listed)["launch"]] == ["tile<32>"]


def test_factors_that_nobody_says_are_one(run, tmp_path: Path) -> None:
    program = tmp_path / "app.cu"
    program.write_text(
        "__global__ void scale(float* x, float a, int n) { if (threadIdx.x < n) x[0] *= a; }\n"
        "int main() { float a, *x; int n = 64; init(&a); cudaMalloc(&x, 4096);\n"
        "  scale<<<4, 32>>>(x, a, n); }\n"
    )
    found = run("predict", program, "--isa", "ptx")
    assert found.out.startswith("scale<<<4, 32>>> on")
    assert "with a taken to be 1" in found.err
    given = run("predict", program, "--isa", "ptx", "--arg", "a=0.5")
    assert given.out == found.out
    assert "taken to be" not in given.err


def test_a_program_says_that_it_can_be_run(run, tmp_path: Path) -> None:
    program = tmp_path / "my app.cu"
    program.write_text("__global__ void k() {}\nint main() { launch_elsewhere(); }\n")
    assert f"or run the program: kernelcast run '{program}'" in refusal(run, "predict", program)


@pytest.mark.parametrize(
    ("blocks", "threads", "reason"),
    [("n / (1 << 17)", "128", "grid: 0 is less than 1"), ("8", "2048", "block: x is 2048")],
)
def test_a_launch_that_cannot_be_is_refused_with_its_reason(
    run, tmp_path: Path, blocks: str, threads: str, reason: str
) -> None:
    file = tmp_path / "app.cu"
    file.write_text(CLOSED.replace("(n + 127) / 128, 128", f"{blocks}, {threads}"))
    said = refusal(run, "predict", file)
    assert f"its host code makes a launch that cannot be: {reason}" in said
    assert "--kernel scale --grid" in said


def test_launches_with_other_arrays_of_the_same_name_are_left_out(run, tmp_path: Path) -> None:
    file = tmp_path / "app.cu"
    second = "  cudaMalloc(&x, 4096);\n  scale<<<8, 128>>>(x, 3.0f, 1024);\n"
    file.write_text(CLOSED.replace("  scale<<<argc, 128>>>(x, 3.0f, argc);\n", second))
    assert run("launches", file).out.count("[[launch]]") == 2
    done = run("predict", file, "--isa", "ptx")
    assert done.status == 0
    assert "1 more left out" in done.err


def test_code_is_listed_whose_own_launch_cannot_be_made(run, tmp_path: Path) -> None:
    file = tmp_path / "app.cu"
    file.write_text(CLOSED.replace("128, 128>>>", "128, 128, 1 << 20>>>"))
    done = run("disasm", file)
    assert done.status == 0
    assert "FMUL" in done.out
    assert "not executed: 1048576 B of shared memory per block exceed" in done.err


def test_kernels_that_nothing_instantiates_are_listed(run, tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text("template <typename T, int N> __global__ void k(T* x) { x[0] = N; }\n")
    said = run("kernels", file).out
    assert "template k<T, N>" in said
    assert "--kernel 'k<T, N>'" in said


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("#include <vector>\nint main() { return 0; }\n", "the source launches no kernel"),
        ("__global__ void k() {}\n", "the source launches no kernel"),
        (".version 8.0\n.target sm_90\n", "only CUDA C++ launches kernels"),
        ("", "the file is empty"),
    ],
)
def test_files_without_launches(run, tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "t.cu"
    file.write_text(text)
    assert what in refusal(run, "launches", file)


def test_a_file_without_device_code_has_no_kernels(run, tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text("#include <vector>\nint main() { return std::vector<int>().size(); }\n")
    assert "the file holds no kernel" in refusal(run, "kernels", file)


def test_a_launch_whose_template_arguments_are_open_is_a_comment(run, tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text(
        "template <class F> __global__ void k(F f) { f(1); }\n"
        "void run() { auto f = [] __device__ (int i) {}; k<<<1, 32>>>(f); }\n"
    )
    said = run("launches", file).out
    assert "# line 2 launches k, whose template arguments or code are elsewhere" in said
    assert "launch" not in tomllib.loads(said)


@pytest.mark.parametrize(
    ("index", "follows"), [("x[threadIdx.x] - 97", True), ("threadIdx.x - 97", False)]
)
def test_an_access_outside_may_follow_from_what_arrays_hold(
    run, tmp_path: Path, index: str, follows: bool
) -> None:
    program = tmp_path / "app.cu"
    program.write_text(
        f"__global__ void count(const char* x, int* y) {{ atomicAdd(&y[{index}], 1); }}\n"
        "int main() { char* x; int* y; cudaMalloc(&x, 32); cudaMalloc(&y, 4 * 26);\n"
        "  count<<<1, 32>>>(x, y); }\n"
    )
    said = refusal(run, "predict", program, "--isa", "ptx")
    assert "is outside every array" in said
    assert ("it may follow from what arrays hold" in said) is follows
