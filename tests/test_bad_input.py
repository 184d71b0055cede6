"""Whatever a user gets wrong: exit status 2 and one line with what, where and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kernelcast.cli.main import main
from kernelcast.toolchain.nvrtc import compile_cuda

COPY = """
extern "C" __global__ void copy(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""
COPY_ARGS = ("--arg", "n=1024", "--arg", "x=f32[1024]", "--arg", "y=f32[1024]")
TWO_LAUNCHES = """grid = 1
block = 32
args = { n = 32, x = "f32[32]", y = "f32[32]" }
[[launch]]
grid = 2
block = 32
args = { n = 32, x = "f32[32]", y = "f32[32]" }"""
NO_FILE = 'y=f32[4] file("no.npy")'
COPY_LAUNCH = ("--grid", "4", "--block", "256", *COPY_ARGS)

TEXTURE = """
extern "C" __global__ void pick(unsigned* x, unsigned long long surface) {
    asm("sust.p.1d.b32.trap [%0, {%1}], %1;" ::"l"(surface), "r"(x[threadIdx.x]));
}
"""
ENDLESS = """
extern "C" __global__ void spin(volatile int* x) { while (x[0] == 0) x[1] += 1; }
"""
OUT_OF_BOUNDS = """
extern "C" __global__ void past(float* y) {
    y[blockIdx.x * blockDim.x + threadIdx.x + 1] = 1.0f;
}
"""
DEADLOCK = """
extern "C" __global__ void wait(float* y) {
    if (threadIdx.x < 32) __syncthreads();
    else asm volatile("barrier.sync 1, 128;");
    y[threadIdx.x] = 1.0f;
}
"""
STRUCT = """
struct S { float* p; int n; };
__constant__ float table[16];
__global__ void k(S s) { if (threadIdx.x < s.n) s.p[threadIdx.x] *= table[threadIdx.x & 15]; }
"""
STRUCT_LAUNCH = ("--grid", "1", "--block", "32", "--arg")
HIDDEN = """
#define KERNEL(name) __global__ void name##_kernel(float* x)
KERNEL(scale) { x[threadIdx.x] *= 2; }
"""
OPEN_LAUNCH = """
__global__ void k(float* x, int n) { x[threadIdx.x] = n; }
int main(int c, char** v) {
    float* x; int n = atoi(v[1]); cudaMalloc(&x, n * 4); k<<<n / 32, 32>>>(x, n);
}
"""
LACKING = """
#include "helper.h"
__global__ void k(float* x) { x[0] = helper(x[1]); }
"""
OF_THRUST = """
#include <thrust/device_vector.h>
#include <thrust/sort.h>
int main() { thrust::device_vector<int> x(3); thrust::sort(x.begin(), x.end()); }
"""
BROKEN_PTX = ".version 8.0\n.target sm_90\n.entry k( {"
LAUNCH_BLOCK = """/* kernelcast
[[launch]]
kernel = "copy"
{}
*/
"""


@dataclass(frozen=True)
class Bad:
    """A command line; FILE stands for a file with the content, if there is one."""

    name: str
    arguments: tuple[str, ...]
    reason: str
    next_step: str
    content: str | bytes | None = COPY
    suffix: str = ".cu"
    place: str = field(default="")

    def __str__(self) -> str:
        return self.name


def predict(*arguments: str) -> tuple[str, ...]:
    return ("predict", "FILE", *arguments)


CASES = [
    Bad(
        "struct with a field too many",
        predict(*STRUCT_LAUNCH, "s={p=f32[32], n=32, m=3}"),
        "unknown field of S 'm'",
        "known: n, p",
        STRUCT,
        place=r"argument 0 \(s\)",
    ),
    Bad(
        "struct with a field too few",
        predict(*STRUCT_LAUNCH, "s={p=f32[32]}"),
        "lacks its field n",
        "the fields of S are p, n",
        STRUCT,
        place=r"argument 0 \(s\)",
    ),
    Bad(
        "symbol that is not there",
        predict(*STRUCT_LAUNCH, "s={p=f32[32], n=32}", "--symbol", "tabel=f32[16] ones"),
        "unknown variable of the device 'tabel'",
        "did you mean table",
        STRUCT,
    ),
    Bad(
        "name hidden by a macro",
        predict(*STRUCT_LAUNCH, "x=f32[32]", "--kernel", "scale"),
        "unknown kernel 'scale'",
        "did you mean scale_kernel",
        HIDDEN,
    ),
    Bad(
        "launch whose arguments the source leaves open",
        predict(),
        "leave numbers open, that of line 4 n",
        "give --arg n=VALUE, or see them all with kernelcast launches k.cu",
        OPEN_LAUNCH,
    ),
    Bad(
        "number that a workload leaves open",
        predict(),
        "n is open",
        "write its value there, or give --arg n=VALUE",
        LAUNCH_BLOCK.replace("[[launch]]", 'n = "?"\n[[launch]]').format("grid = 1") + COPY,
        place=r"k\.cu:2",
    ),
    Bad(
        "argument that a workload leaves open",
        predict(),
        "n: is open",
        "write its value there",
        LAUNCH_BLOCK.format('grid = 1\nblock = 32\nargs = { n = "?" }') + COPY,
        place=r"k\.cu:2: args",
    ),
    Bad(
        "templates that nothing instantiates",
        predict(*STRUCT_LAUNCH, "x=f32[32]"),
        "nothing instantiates its templates tiled<T, N>",
        "name one with its arguments, such as --kernel 'tiled<T, N>'",
        "template <class T, int N> __global__ void tiled(T* x) { x[0] = N; }",
    ),
    Bad(
        "header of the project that device code needs",
        predict(*STRUCT_LAUNCH, "x=f32[32]"),
        'identifier "helper" is undefined',
        "helper.h of .*k.cu:2 is not there: give its directory with -I",
        LACKING,
    ),
    Bad(
        "source without device code", ("kernels", "FILE"), "no kernel", "give CUDA", "int main() {}"
    ),
    Bad(
        "source of a library's kernels alone",
        ("kernels", "FILE"),
        "the file holds no kernel",
        "run the program, whose kernels are its libraries': kernelcast run k.cu",
        OF_THRUST,
    ),
    Bad(
        "launches of a library alone",
        ("launches", "FILE"),
        "the source launches no kernel",
        "kernelcast run k.cu",
        OF_THRUST,
    ),
    Bad(
        "array file that is none",
        predict("--grid", "4", "--block", "256", *COPY_ARGS[:4], "--arg", 'y=f32[4] file("k.cu")'),
        "nothing pickled is read",
        "save it with numpy.save",
        place=r"k\.cu",
    ),
    Bad("missing file", predict(), "no such file", "check the path", None),
    Bad(
        "syntax error",
        predict(*COPY_LAUNCH),
        "expected",
        "correct the source",
        COPY.replace("y[i] = x[i];", "y[i] = x[i"),
        place="k.cu:5",
    ),
    Bad("no launch", predict(), "no launch", "give --grid and --block"),
    Bad(
        "wrong grid",
        predict("--grid", "1000 / 256", "--block", "256", *COPY_ARGS),
        "not an integer",
        "divide with // or cdiv",
        place="grid",
    ),
    Bad(
        "unknown name",
        predict("--grid", "cdiv(m, 256)", "--block", "256", *COPY_ARGS),
        "unknown name 'm'",
        "did you mean",
        place="grid",
    ),
    Bad("grid of nothing", predict("--grid", "0", "--block", "256", *COPY_ARGS), "less than 1", ""),
    Bad(
        "block over 1024",
        predict("--grid", "1", "--block", "64,32", *COPY_ARGS),
        "2048 threads per block, more than 1024",
        "make the block smaller",
    ),
    Bad(
        "block that the chip cannot hold",
        predict("--grid", "1", "--block", "1024", *COPY_ARGS, "--gpu", "gtx-280"),
        "1024 threads exceeds 512 on gtx-280",
        "use at most 512 threads",
    ),
    Bad(
        "unknown GPU",
        predict(*COPY_LAUNCH, "--gpu", "h100-smx"),
        "unknown GPU 'h100-smx'",
        "did you mean h100-sxm",
    ),
    Bad(
        "unknown model",
        predict(*COPY_LAUNCH, "--model", "volkow"),
        "unknown model 'volkow'",
        "did you mean volkov",
    ),
    Bad(
        "missing argument",
        predict("--grid", "4", "--block", "256", *COPY_ARGS[:4]),
        r"argument 2 \(y\) is missing",
        "add y",
        place=r"copy\(",
    ),
    Bad(
        "extra argument",
        predict(*COPY_LAUNCH, "--arg", "z=1"),
        "argument z is one too many",
        "remove z",
        place=r"copy\(",
    ),
    Bad(
        "number for a pointer",
        predict("--grid", "4", "--block", "256", *COPY_ARGS[:4], "--arg", "y=3"),
        "is a pointer, but a number is given",
        "give an array",
    ),
    Bad(
        "array of another type",
        predict("--grid", "4", "--block", "256", *COPY_ARGS[:4], "--arg", "y=s32[1024]"),
        "points to f32, but an array of s32 is given",
        "declare it as f32",
    ),
    Bad(
        "argument that is no assignment",
        predict("--grid", "4", "--block", "256", "--arg", "n"),
        "not NAME=VALUE",
        "for example",
    ),
    Bad(
        "code in an expression",
        predict("--grid", "__import__('os').getpid()", "--block", "256", *COPY_ARGS),
        "unexpected",
        "",
        place="grid",
    ),
    Bad(
        "out-of-bounds store",
        predict("--grid", "4", "--block", "256", "--arg", "y=f32[1024]"),
        r"outside|past",
        "",
        OUT_OF_BOUNDS,
        place=r"k\.cu:3",
    ),
    Bad(
        "endless loop",
        predict("--grid", "1", "--block", "32", "--arg", "x=s32[2]", "--budget", "100000"),
        "budget",
        "raise --budget",
        ENDLESS,
    ),
    Bad(
        "deadlock",
        predict("--grid", "1", "--block", "64", "--arg", "y=f32[64]"),
        "barrier",
        "make every thread",
        DEADLOCK,
    ),
    Bad(
        "unsupported instruction",
        predict(
            "--isa",
            "sass",
            "--grid",
            "1",
            "--block",
            "32",
            "--arg",
            "x=u32[32]",
            "--arg",
            "surface=0",
        ),
        "instruction SUST",
        "",
        TEXTURE,
        place=r"k\.cu:3",
    ),
    Bad(
        "ELF of another machine",
        ("kernels", "FILE"),
        "for another machine",
        "give CUDA",
        b"\x7fELF\x02\x01\x01" + bytes(60),
        ".cubin",
    ),
    Bad("empty file", predict(*COPY_LAUNCH), "the file is empty", "give CUDA", ""),
    Bad("binary junk", predict(*COPY_LAUNCH), "unknown format", "give CUDA", bytes(range(256))),
    Bad("text that is no kernel", predict(*COPY_LAUNCH), "no kernel found", "give CUDA", "hello\n"),
    Bad("directory as file", ("predict", "DIRECTORY", *COPY_LAUNCH), "directory", "", None),
    Bad(
        "wrong path to a number",
        predict(*COPY_LAUNCH, "--set", "dram.bandwith=1e12"),
        "unknown machine number 'dram.bandwith'",
        "did you mean dram.bandwidth",
    ),
    Bad(
        "setting without a value",
        predict(*COPY_LAUNCH, "--set", "dram.bandwidth"),
        "no value",
        "PATH=VALUE",
    ),
    Bad(
        "setting that is no number",
        predict(*COPY_LAUNCH, "--set", "dram.bandwidth=fast"),
        "'fast' is not a number",
        "write it as",
    ),
    Bad(
        "launch block that is no TOML",
        predict(),
        "not TOML",
        "quote expressions",
        LAUNCH_BLOCK.format("grid = cdiv(n, 256)") + COPY,
        place="k.cu:4",
    ),
    Bad(
        "launch block with a misspelt key",
        predict(),
        "unknown launch key 'gird'",
        "did you mean grid",
        LAUNCH_BLOCK.format("gird = 4") + COPY,
        place="k.cu:4",
    ),
    Bad(
        "workload without its source",
        predict(),
        "no such file",
        "check the path",
        'source = "nowhere.cu"\n[[launch]]\ngrid = 1\nblock = 1\n',
        ".toml",
        place="nowhere.cu",
    ),
    Bad(
        "unknown kernel",
        predict(*COPY_LAUNCH, "--kernel", "copi"),
        "unknown kernel 'copi'",
        "did you mean copy",
    ),
    Bad(
        "several kernels",
        predict(*COPY_LAUNCH),
        "2 kernels to choose from",
        "--kernel",
        COPY + COPY.replace("copy", "again"),
    ),
    Bad(
        "broken PTX",
        predict(*COPY_LAUNCH),
        "",
        "",
        ".version 8.0\n.target sm_90\n.entry k( {",
        ".ptx",
    ),
    Bad(
        "machine code of PTX",
        predict(*COPY_LAUNCH, "--isa", "sass"),
        "SM version specified by .target is higher than default SM version assumed",
        "use --isa ptx",
        ".version 9.0\n.target sm_120\n.address_size 64\n.visible .entry copy() { ret; }",
        ".ptx",
    ),
    Bad(
        "all blocks and a sample",
        predict(*COPY_LAUNCH, "--exact", "--sample", "8"),
        "",
        "",
        place="--exact --sample",
    ),
    Bad("a sample of none", predict(*COPY_LAUNCH, "--sample", "0"), "0 is not in the range", "see"),
    Bad("three versions", ("compare", "FILE", "FILE", "FILE"), "3 files", "one or two"),
    Bad(
        "one version twice",
        ("compare", "FILE", "FILE", *COPY_LAUNCH),
        "same file twice",
        "give two",
    ),
    Bad(
        "explain on two GPUs",
        ("explain", "FILE", *COPY_LAUNCH, "--gpu", "l4,t4"),
        "one GPU expected",
        "",
    ),
    Bad(
        "explain on a launch that is not there",
        ("explain", "FILE", *COPY_LAUNCH, "--launch", "2"),
        "no launch 2",
        "the last is 1",
    ),
    Bad(
        "explain on one of two launches",
        ("explain", "FILE"),
        "2 launches",
        "choose one with --launch",
        LAUNCH_BLOCK.format(TWO_LAUNCHES) + COPY,
    ),
    Bad(
        "array file that is not there",
        predict(
            "--grid", "4", "--block", "256", *COPY_ARGS[:4], "--arg", 'y=f32[4] file("no.npy")'
        ),
        "no such file",
        "save one with numpy.save",
        place="no.npy",
    ),
    Bad(
        "array larger than any memory",
        predict("--grid", "4", "--block", "256", *COPY_ARGS[:4], "--arg", "y=f32[1 << 50]"),
        "bytes",
        "make it smaller",
    ),
]


@pytest.mark.parametrize("bad", CASES, ids=str)
def test_bad_input_is_answered_in_one_line(bad, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = Path(f"k{bad.suffix}")
    if isinstance(bad.content, bytes):
        file.write_bytes(bad.content)
    elif bad.content is not None:
        file.write_text(bad.content)
    names = {"FILE": str(file), "DIRECTORY": str(tmp_path)}

    status = main([names.get(argument, argument) for argument in bad.arguments])

    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("error: "), err
    assert "Traceback" not in err
    assert re.search(bad.reason, err), err
    assert re.search(bad.place, err), err
    assert re.search(f"; .*{bad.next_step}", err), err


@pytest.mark.parametrize("kept", [0.02, 0.5, 0.98])
def test_a_cubin_that_was_cut_short_is_answered_in_one_line(kept, tmp_path, capsys):
    whole = compile_cuda(COPY, name="k.cu", architecture="sm_90").cubin
    file = tmp_path / "k.cubin"
    file.write_bytes(whole[: int(kept * len(whole))])
    status = main(["kernels", str(file)])
    out, err = capsys.readouterr()
    assert (status, out, len(err.splitlines())) == (2, "", 1), err
    assert err.startswith(f"error: {file}: ")
    assert "; " in err


def test_debug_shows_all_that_the_compiler_said(tmp_path, capsys):
    file = tmp_path / "k.cu"
    file.write_text("__global__ void k() { first; second; }")
    assert main(["predict", str(file), "--grid", "1", "--block", "1", "--debug"]) == 2
    err = capsys.readouterr().err
    assert "first" in err
    assert "second" in err
    assert "Traceback" in err
