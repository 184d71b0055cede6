"""What first users came upon: each is told in one line, or simply works."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kernelcast.toolchain.nvrtc import CompileOptions, compile_cuda

SAXPY = """\
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
RECURSIVE = """\
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void k(int* out, int n) { out[threadIdx.x] = fib(n + threadIdx.x % 3); }
"""
MALLOC = """\
__global__ void k(int** out) { int* p = (int*)malloc(16); p[0] = 3; out[threadIdx.x] = p; }
"""
RELOCATABLE = """\
__device__ float other(float);
__global__ void calls(float* x) { x[threadIdx.x] = other(x[threadIdx.x]); }
__global__ void own(float* x) { x[threadIdx.x] *= 2; }
"""
SMALL = ("--grid", "16", "--block", "256", "--arg", "n=4096", "--arg", "a=2", "--quiet")
ARRAYS = ("--arg", "x=f32[n]", "--arg", "y=f32[n]")


def source(folder: Path, text: str) -> Path:
    file = folder / "k.cu"
    file.write_text(text)
    return file


def test_arrays_that_the_card_cannot_hold_are_told(run, tmp_path):
    file = source(tmp_path, SAXPY)
    large = ("--arg", "n=1", "--arg", "a=2", "--arg", "x=f32[1<<32]", "--arg", "y=f32[1<<32]")
    launch = ("--grid", "16", "--block", "256", *large)
    told = "the arrays of the launch take 34.4 GB, more than the 10.7 GB of rtx-3080"
    assert told in run("predict", file, *launch, "--gpu", "rtx-3080").out
    assert "more than the" not in run("predict", file, *launch, "--gpu", "h100-sxm").out


@pytest.mark.parametrize("isa", ["auto", "sass"])
def test_recursion_runs_in_machine_code(run, tmp_path, isa):
    launch = ("--grid", "1", "--block", "32", "--arg", "out=s32[32]", "--arg", "n=3")
    outcome = run("predict", source(tmp_path, RECURSIVE), *launch, "--isa", isa)
    assert outcome.status == 0, outcome.err
    assert "a function calls itself; a thread has 1024 B of stack" in outcome.out


def test_recursion_that_is_too_deep_is_named(run, tmp_path):
    launch = ("--grid", "1", "--block", "32", "--arg", "out=s32[32]", "--arg", "n=1000")
    outcome = run("predict", source(tmp_path, RECURSIVE), *launch)
    assert outcome.status == 2
    assert "outside the thread's local memory" in outcome.err
    assert "how deep functions call themselves" in outcome.err


@pytest.mark.parametrize("gpu", ["h100-sxm", "a100-sxm-80gb", "rtx-4090"])
@pytest.mark.parametrize("isa", ["auto", "ptx", "sass"])
def test_malloc_in_a_kernel_is_called_so(run, tmp_path, isa, gpu):
    launch = ("--grid", "1", "--block", "32", "--arg", "out=b64[32]")
    outcome = run("predict", source(tmp_path, MALLOC), *launch, "--isa", isa, "--gpu", gpu)
    assert outcome.status == 2
    said = outcome.err.replace(str(tmp_path), "")
    assert "malloc" in said
    assert "assert" not in said
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("gigabytes", [1, 3])
def test_too_little_address_space_is_one_line(tmp_path, gigabytes):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))

    command = [sys.executable, "-m", "kernelcast", "predict", str(source(tmp_path, SAXPY))]
    found = subprocess.run(
        [*command, *SMALL, *ARRAYS], preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert found.stderr.startswith("error: the system refuses")
    assert "ulimit -v" in found.stderr
    assert found.stderr.count("\n") == 1


def test_a_sample_of_more_blocks_than_there_are_is_all_of_them(run, tmp_path):
    file = source(tmp_path, SAXPY)
    outcome = run("predict", file, *SMALL[:-1], *ARRAYS, "--sample", str(10**12))
    assert outcome.status == 0
    assert "all 16 blocks" in outcome.out


def test_relocatable_code_is_forecast_as_far_as_it_goes(run, tmp_path):
    options = CompileOptions(extra=("--relocatable-device-code=true",))
    made = compile_cuda(RELOCATABLE, name="k.cu", architecture="sm_90", options=options)
    file = tmp_path / "k.cubin"
    file.write_bytes(made.cubin)
    launch = ("--grid", "1", "--block", "32", "--arg", "x=f32[32]", "--quiet")
    assert run("predict", file, *launch, "--kernel", "own").status == 0
    refused = run("predict", file, *launch, "--kernel", "calls")
    assert refused.status == 2
    assert "the call of _Z5otherf, which the file does not hold" in refused.err


@pytest.mark.parametrize("isa", ["auto", "ptx"])
def test_a_source_that_calls_a_function_of_another_file_is_read_as_far(run, tmp_path, isa):
    file = source(tmp_path, RELOCATABLE)
    listed = run("kernels", file)
    assert "calls(f32* x)" in listed.out and "own(f32* x)" in listed.out
    launch = ("--grid", "1", "--block", "32", "--arg", "x=f32[32]", "--quiet", "--isa", isa)
    assert run("predict", file, *launch, "--kernel", "own").status == 0
    refused = run("predict", file, *launch, "--kernel", "calls")
    assert refused.status == 2
    assert "_Z5otherf" in refused.err and refused.err.count("\n") == 1


@pytest.mark.parametrize("extent", [("--exact",), ("--sample", "4000"), ()])
def test_a_time_limit_ends_what_would_take_longer(run, tmp_path, extent):
    file = source(tmp_path, SAXPY)
    large = ("--grid", "65536", "--block", "256", "--arg", "n=1<<24", "--arg", "a=2", *ARRAYS)
    outcome = run("predict", file, *large, *extent, "--time-limit", "1e-6")
    assert outcome.status == 2
    assert "blocks takes about" in outcome.err
    assert "more than the limit of 1e-06 s; execute fewer with --sample" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (("n=4096", "a=2", "x=f32[n]"), "argument 3 (y) is missing"),
        (("n=4096", "x=f32[n]", "y=f32[n]"), "argument 1 (a) is missing"),
        (("size=4096", "f=2", "in=f32[size]"), "argument 3 (y) is missing"),
        (("size=4096",), "argument 1 (a) is missing"),
    ],
)
def test_what_is_missing_is_blamed(run, tmp_path, given, missing):
    arguments = [word for text in given for word in ("--arg", text)]
    launch = ("--grid", "16", "--block", "256", *arguments)
    outcome = run("predict", source(tmp_path, SAXPY), *launch)
    assert outcome.status == 2
    assert missing in outcome.err


def test_an_argument_that_a_workload_does_not_name_is_told(run, tmp_path):
    source(tmp_path, SAXPY)
    work = tmp_path / "work.toml"
    work.write_text(
        'n = 4096\nsource = "k.cu"\n[[launch]]\ngrid = 16\nblock = 256\n'
        'args = { n = "n", a = 2.0, x = "f32[n]", y = "f32[n]" }\n'
    )
    outcome = run("predict", work, "--arg", "m=3")
    assert outcome.status == 2
    assert "unknown argument 'm'" in outcome.err


def test_the_fills_are_in_the_help(run):
    text = " ".join(run("predict", "--help").out.split())
    for fill in (
        "zeros",
        "ones",
        "arange",
        "random(seed)",
        "randint(lo, hi, seed)",
        "permutation(seed)",
        "file('x.npy')",
    ):
        assert fill in text
