"""Structs, lists of pointers and variables of the device as they are written: what kernels make of
them is what NumPy says, in PTX and in machine code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernelcast.errors import LaunchError, NotFoundError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.symbols import unset_variables
from kernelcast.frontends.arguments import parse_argument
from kernelcast.frontends.loading import load
from kernelcast.frontends.workloads import parse_workload
from kernelcast.ir import Array, Kernel, Launch
from tests.kept import CACHE

SOURCE = """\
#include <vector>
constexpr int RANK = 3;
enum Mode { ADD, MUL = 7 };
struct Shape { int dims[RANK]; long long stride; };
template <typename T> struct View { T* p; Shape shape; Mode mode; };
struct Base { char tag; double scale; };
struct Params : Base {
  View<float> in; union { float f; unsigned u; }; float4 bias; float* many[2];
};
struct Node { float w; int next; };
__constant__ float table[4];
__device__ int offset;
__device__ float* where;
__device__ unsigned counter;
namespace ns { __constant__ Node first; }
__global__ void use(Params s, float** rows, const Node* nodes, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float x = s.in.p[i] * (float)s.scale + s.in.shape.dims[i % RANK] + s.f + s.bias.z;
    x += s.many[i & 1][i] + table[i % 4] + rows[i % 2][i] + nodes[i % 3].w + nodes[i % 3].next;
    out[i] = x + offset + s.in.mode + ns::first.w + s.in.shape.stride + s.tag + where[i];
    atomicAdd(&counter, 1u);
  }
}
"""

WORKLOAD = """\
n = 64
source = "s.cu"
symbols = { table = "f32[4] arange", offset = 11 }
[[launch]]
grid = 2
block = 32
symbols = { "ns::first" = { w = 9.5, next = 1 }, where = "f32[n] of out" }
[launch.args]
rows = ["f32[n] ones", "f32[n] arange"]
nodes = [{ w = 1.5, next = 1 }, { w = 2.5, next = 2 }, "{w=3.5, next=3}"]
out = "f32[n] arange"
n = "n"
[launch.args.s]
tag = 65
scale = 2.5
in = { p = "f32[n] arange", shape = { dims = [4, 5, 6], stride = "1 << 20" }, mode = 7 }
f = 0.25
bias = "{x=1, y=2, z=3, w=4}"
many = "[f32[n] arange, f32[n] ones]"
"""

Write = Callable[[str], Launch]


@pytest.fixture(scope="module", params=["ptx", "sass of sm_75", "sass of sm_90", "sass of sm_120"])
def kernel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    isa, _, architecture = request.param.partition(" of ")
    file = tmp_path_factory.mktemp("values") / "s.cu"
    file.write_text(SOURCE)
    module = load(file, architecture=architecture or "sm_90", cache=CACHE)
    return module.kernel() if isa == "ptx" else module.machine_kernel()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def launch(text: str) -> Launch:
        made = parse_workload(text, file="s.toml", base_dir=tmp_path).launches[0]
        order = ("s", "rows", "nodes", "out", "n")
        args = {label: made.args[label] for label in order if label in made.args}
        return Launch(made.grid, made.block, args, symbols=made.symbols)

    return launch


def test_a_kernel_finds_what_was_written(kernel, write):
    launch = write(WORKLOAD)
    memory = Memory.build(kernel, launch)
    execute(kernel, launch, memory)
    i = np.arange(64)
    expected = i * 2.5 + np.array([4, 5, 6])[i % 3] + 0.25 + 3 + np.where(i & 1, 1, i) + i % 4
    expected += np.where(i % 2, i, 1) + np.array([2.5, 4.5, 6.5])[i % 3]
    expected += 11 + 7 + 9.5 + (1 << 20) + 65 + i
    assert np.array_equal(memory.array("out"), expected.astype(np.float32))


def test_the_unset_variables_that_are_read_are_told(kernel, write):
    launch = write(WORKLOAD)
    assert unset_variables(kernel, launch) == []  # `counter` is written
    none = Launch(launch.grid, launch.block, launch.args)
    told = unset_variables(kernel, none)
    assert {"table", "ns::first"} <= set(told)
    assert "counter" not in told


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("f = 0.25\n", "", "lacks its field f"),
        ("f = 0.25\n", "u = 0.25\n", "is a u32, but 0.25"),
        ("tag = 65\n", "", "lacks its field tag"),
        ("tag = 65\n", "tag = 65\nq = 1\n", "unknown field of Params 'q'"),
        ("[4, 5, 6]", "[4, 5]", "has 3 elements, not 2"),
        ("tag = 65", "tag = 650", "out of range for s8"),
        ('"f32[n] arange", shape', '"f64[n]", shape', "points to f32, but an array of f64"),
        ('"f32[n] arange", shape', "5, shape", "is a pointer, but a number is given"),
        ("{w=3.5, next=3}", "{w=3.5}", "lacks its field next"),
        (
            "offset = 11",
            "ofset = 11",
            "unknown variable of the device 'ofset'; did you mean offset",
        ),
        ("offset = 11", 'offset = "s32[2]"', "offset has 4 bytes, but an array of 8"),
        ("offset = 11", "offset = 1.5", "offset is a s32, but 1.5"),
        ('"f32[4] arange"', '"f32[5]"', "table has 16 bytes, but an array of 20"),
        ('"f32[4] arange"', '"u32[4]"', "table holds f32, but an array of u32"),
        ('"f32[4] arange"', "3", "table has 16 bytes, but a number"),
    ],
)
def test_what_does_not_fit_is_named(kernel, write, old, new, what):
    assert old in WORKLOAD
    launch = write(WORKLOAD.replace(old, new))
    with pytest.raises((LaunchError, NotFoundError)) as caught:
        Memory.build(kernel, launch)
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)


def test_symbols_stay_from_launch_to_launch(kernel, write):
    """What a kernel makes of a variable is kept, unless a launch gives it another value."""
    first = write(WORKLOAD)
    memory = Memory.build(kernel, first)
    execute(kernel, first, memory)
    again = Memory.build(kernel, first, earlier=memory)
    region = next(r for r in again.regions if r.label == "counter")
    assert again.bytes_at(region.address, 4).view(np.uint32)[0] == 64
    reset = Launch(first.grid, first.block, first.args, symbols={**first.symbols, "counter": 5})
    last = Memory.build(kernel, reset, earlier=again)
    assert last.bytes_at(region.address, 4).view(np.uint32)[0] == 5


def test_a_struct_whose_layout_is_not_read_can_be_given_by_hand(tmp_path):
    source = """
        struct Flags { int a : 3; int b : 5; float c; };
        __global__ void k(Flags f, float *out) { out[threadIdx.x] = f.c; }"""
    file = tmp_path / "flags.cu"
    file.write_text(source)
    kernel = load(file, architecture="sm_90", cache=CACHE).machine_kernel()

    def launch(flags: str) -> Launch:
        args = {"f": parse_argument(flags, {}, where="f"), "out": Array("f32", (32,))}
        return Launch((1, 1, 1), (32, 1, 1), args)

    with pytest.raises(LaunchError, match=r"bit fields.*say where each field lies"):
        Memory.build(kernel, launch("{a=1, b=2, c=1.5}"))
    by_hand = launch("{bits@0:u32=17, c@4:f32=1.5}")
    memory = Memory.build(kernel, by_hand)
    execute(kernel, by_hand, memory)
    assert np.array_equal(memory.array("out"), np.full(32, 1.5, np.float32))
