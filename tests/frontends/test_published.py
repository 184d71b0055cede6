"""Sources as they are published: host code is left out, device code compiled, lines are kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.source.reading import view_of
from tests.kept import CACHE

from kernelcast.errors import CompileError, InputError, ToolError
from kernelcast.frontends.loading import LoadedModule, load, load_bytes
from kernelcast.frontends.source.device_source import device_source
from kernelcast.frontends.source.header_folders import NO_FOLDERS
from kernelcast.frontends.source.top_level import read_declarations
from kernelcast.ir import Immediate
from kernelcast.toolchain.nvcc import find_host_compiler, find_nvcc
from kernelcast.toolchain.nvrtc import CompileOptions

PROGRAM = """\
#include <iostream>
#include <vector>
#include "helper_cuda.h"
#include <cublas_v2.h>
#include "shared.h"
using namespace std;
#define CHECK(call) do { if (call) exit(1); } while (0)
const int BLOCK = 1 << 7;
typedef float real;
static vector<float> host_table(10);
class Timer { std::string name; public: void start() { cout << name; } };
struct Params { int n; float* p; void fill(std::vector<int> v) { n = v.size(); }
                __host__ __device__ int twice() const { return 2 * n; } };
__constant__ real table[BLOCK];
__device__ real scaled(real x) { return x * M_PI + table[threadIdx.x] + helper(x); }
real on_host(real x) { return std::accumulate(&x, &x + 1, 0.f); }
template <typename T, int N> __global__ void tiled(T* out, Params p, uint n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(i < UINT_MAX);
  if (i < n) out[i] = min(scaled(i) + p.twice(), (real)INFINITY) + FLT_MAX * N;
}
int main(int argc, char** argv) {
  std::vector<float> v(1 << 20);
  float* d; CHECK(cudaMalloc(&d, v.size() * sizeof(float)));
  tiled<real, BLOCK><<<v.size() / BLOCK, BLOCK>>>(d, Params{1, d}, atoi(argv[1]));
  printf("%s\\n", "done");
}
"""
SHARED = """\
#pragma once
#include <map>
inline __device__ float helper(float x) { return x; }
inline std::map<int, int> host_only() { return {}; }
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "shared.h").write_text(SHARED)
    file = tmp_path / "app.cu"
    file.write_text(PROGRAM)
    return file


def loaded(file: Path) -> LoadedModule:
    return load(file, cache=CACHE)


def test_a_program_loads_as_it_is(program: Path) -> None:
    module = loaded(program)
    assert module.kernel_names == ("tiled<real, BLOCK>",)
    kernel = module.kernel()
    assert [p.label for p in kernel.parameters] == ["out", "p", "n"]
    assert kernel.parameters[0].pointee == ""
    assert kernel.parameters[1].size_bytes == 16


def test_lines_are_those_of_the_file(program: Path) -> None:
    lines = {x.location.line for x in loaded(program).kernel().instructions if x.location}
    assert {18, 20} <= lines
    program.write_text(PROGRAM.replace("if (i < n) out[i]", "if (i < n) oops[i]"))
    with pytest.raises(CompileError) as raised:
        loaded(program)
    assert raised.value.where == f"{program}:20"


def test_a_source_of_device_code_alone_is_left_as_it_is() -> None:
    text = "typedef float real;\n__global__ void k(real* x) { x[0] = 1; } // end\n"
    view = view_of(text)
    device = device_source(view, read_declarations(view.words), NO_FOLDERS)
    assert device.text == text
    assert device.headers == {}


def test_a_template_that_nothing_launches_is_named(tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text("template <typename T, int N> __global__ void k(T* x) { x[0] = N; }\n")
    module = loaded(file)
    assert module.kernel_names == ()
    assert module.templates == ("k<T, N>",)
    named = load(file, kernels=["k<float, 3>"], cache=CACHE)
    assert (named.kernel_names, named.templates) == (("k<float, 3>",), ())


def test_a_type_of_host_code_with_a_name_of_device_code_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text(
        "struct size { std::vector<int> v; };\n"
        "__global__ void k(int* x) { int size = 3; x[0] = size; }\n"
    )
    assert loaded(file).kernel_names == ("k",)


def test_what_a_header_that_is_missing_may_have_held_is_said(tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text('#include "grid.h"\n__global__ void k(Cell* x) { x[0] = 1; }\n')
    with pytest.raises(CompileError) as raised:
        loaded(file)
    assert 'identifier "Cell" is undefined' in raised.value.what
    assert f"grid.h of {file}:1 is not there" in raised.value.hint


@pytest.mark.parametrize(
    ("header", "package"),
    [("cutlass/half.h", "nvidia-cutlass"), ("nvshmem.h", "nvidia-nvshmem-cu13")],
)
def test_the_package_of_a_header_of_nvidia_is_named(
    tmp_path: Path, header: str, package: str
) -> None:
    file = tmp_path / "t.cu"
    file.write_text(f"#include <{header}>\n__global__ void k(Cell* x) {{ x[0] = 1; }}\n")
    with pytest.raises(CompileError) as raised:
        loaded(file)
    assert f"{header} of {file}:1 is not there" in raised.value.hint
    assert f"pip install {package}, and give its directory with -I" in raised.value.hint


@pytest.mark.parametrize(
    "line",
    [
        "x[0] = std::max(x[0], std::numeric_limits<float>::max());",
        "std::swap(x[0], x[1]); x[2] = std::sqrt(x[2]);",
        "float2 a = (float2){1, 2}; x[0] = a.x;",
        "register int i = 3; x[i] = INT_MAX;",
        "pair p = {.first = 1, .second = 2}; x[0] = p.first;",
        'assert(x); printf("%f", x[0]);',
        "size_t n = SIZE_MAX; ushort s = 1; x[s] = n * CUDART_VERSION;",
        "#ifdef __NVCC__\nx[0] = 1;\n#else\nnone;\n#endif",
    ],
)
def test_what_nvcc_takes_without_a_header(tmp_path: Path, line: str) -> None:
    file = tmp_path / "t.cu"
    file.write_text(
        f"struct pair {{ int first, second; }};\n__global__ void k(float* x) {{\n{line}\n}}\n"
    )
    assert loaded(file).kernel_names == ("k",)


HOST = [
    "#include <vector>",
    "int main() { return 0; }",
    'static std::string text = R"(a)";',
    "class H {\n std::vector<int> v;\n};",
    "namespace n {\nvoid f() { k<<<1, 2>>>(); }\n}",
    "template <class T>\nT g(T x) { return std::move(x); }",
    'extern "C" {\nint c_function(FILE* f);\n}',
]
DEVICE = [
    "__device__ int a{0};",
    "__global__ void k{0}(int* x) {{\n  x[0] = 1;\n}}",
    "#define M{0} 3",
    "// comment {0}",
    "#if 1\n__device__ int b{0};\n#endif",
]


@given(st.lists(st.sampled_from([*HOST, *DEVICE]), max_size=12))
def test_lines_are_kept_or_blank(parts: list[str]) -> None:
    text = "\n".join(part.replace("{0}", str(at)) for at, part in enumerate(parts))
    text = text.replace("{{", "{").replace("}}", "}")
    view = view_of(text)
    device = device_source(view, read_declarations(view.words), NO_FOLDERS)
    before, after = text.split("\n"), device.text.split("\n")
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert all(b == a or a == " " for b, a in zip(old, new.ljust(len(old)), strict=False))
    for part in parts:
        assert part not in HOST or part not in device.text
    assert all(
        f"__device__ int a{at};" in device.text for at, p in enumerate(parts) if p == DEVICE[0]
    )


def test_a_header_is_found_where_a_build_would_look_for_it(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "src").mkdir()
    header = tmp_path / "include" / "cells.h"
    header.write_text("#include <vector>\nstruct Cell { int x; };\n")
    file = tmp_path / "src" / "t.cu"
    file.write_text('#include "cells.h"\n__global__ void k(Cell* c) { c->x = 1; }\n')
    module = loaded(file)
    assert module.kernel_names == ("k",)
    assert module.notes == (f"{header} was found near the source",)
    (tmp_path / "include" / "more.h").write_text("struct More { int y; };\n")
    file.write_text(
        '#include "cells.h"\n#include "more.h"\n__global__ void k(Cell* c, More* m) {}\n'
    )
    assert loaded(file).notes == (f"{header} and 1 more header were found near the source",)


def test_host_code_in_a_branch_that_only_the_compiler_reads_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text(
        "#ifdef __CUDACC_EXTENDED_LAMBDA__\n#define A 1\n#endif\n"
        "#ifdef __CUDACC_VER_MAJOR__\nint on_host() { return std::rand(); }\n#endif\n"
        "int main() {}\n__global__ void k(float* x) { x[0] = 1; }\n"
    )
    assert loaded(file).kernel_names == ("k",)


def test_a_kernel_that_launches_kernels_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text(
        '#include "none.h"\n__global__ void inner(int* x) { x[0] = 1; }\n'
        "__global__ void outer(int* x) { inner<<<1, 1>>>(x); }\n"
    )
    with pytest.raises(CompileError, match="a kernel that launches kernels is not compiled"):
        loaded(file)


def test_a_macro_whose_parameter_stands_before_braces_keeps_its_parameter(tmp_path: Path) -> None:
    file = tmp_path / "t.cu"
    file.write_text(
        "#define BOTH(x) { x##_rn(1.5f), x##_rz(1.5f) }\n#define PAIR (int2){1, 2}\n"
        "__global__ void k(int2* a) { int2 b = BOTH(__float2int); a[0] = b; a[1] = PAIR; }\n"
    )
    assert loaded(file).kernel_names == ("k",)


def test_random_numbers_of_curand_are_installed(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "#include <curand_kernel.h>\n"
        "__global__ void k(float* x) {\n"
        "  curandState state;\n  curand_init(1, threadIdx.x, 0, &state);\n"
        "  x[threadIdx.x] = curand_uniform(&state);\n}\n"
    )
    assert load(file, cache=CACHE).kernel_names == ("k",)


def test_cub_beside_code_that_asks_for_the_host_compiler(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "#ifdef __GNUC__\n#define ALIGNED __attribute__((aligned(16)))\n#endif\n"
        "#include <cub/cub.cuh>\n"
        "__global__ void k(int* x) {\n"
        "  __shared__ typename cub::BlockReduce<int, 128>::TempStorage space;\n"
        "  int sum = cub::BlockReduce<int, 128>(space).Sum(x[threadIdx.x]);\n"
        "  if (threadIdx.x == 0) x[0] = sum;\n}\n"
    )
    assert load(file, cache=CACHE).kernel_names == ("k",)


def test_complex_numbers_of_thrust_beside_its_containers(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "#include <thrust/complex.h>\n#include <thrust/device_vector.h>\n"
        "#include <thrust/sort.h>\n#include <iostream>\n"
        "__global__ void k(thrust::complex<float>* x) { x[0] = x[1] * thrust::conj(x[0]); }\n"
        "int main() {\n  thrust::device_vector<float> v(3);\n"
        "  thrust::sort(v.begin(), v.end());\n  std::cout << v[0];\n}\n"
    )
    assert load(file, cache=CACHE).kernel_names == ("k",)


SORTED = """#include <algorithm>
#define LESSER(x, y) ({ __typeof__(x) a = (x), b = (y); a < b ? a : b; })
template <class T> __global__ void lesser(T* x) {
  x[threadIdx.x] = LESSER(x[threadIdx.x], x[0]);
}
int main() { int* x; cudaMalloc(&x, 128); lesser<<<1, 32>>>(x); }
"""


@pytest.fixture
def nvcc() -> None:
    """Skips a test where nvcc and a host compiler are not installed."""
    for tool in (find_nvcc, find_host_compiler):
        try:
            tool()
        except ToolError as error:
            pytest.skip(str(error))


UNROLLED = """
#include <cstdio>
constexpr int TURNS = 4;
__global__ void sum(float* x, int n) {
  float s = 0;
#pragma unroll TURNS
  for (int i = 0; i < n; i++) s += x[i];
  x[threadIdx.x] = s;
}
int main() { printf("nothing\\n"); }
"""


def test_a_constant_that_only_a_pragma_names(tmp_path: Path) -> None:
    """It was left out as if no kernel needed it, and NVRTC refused the source."""
    file = tmp_path / "k.cu"
    file.write_text(UNROLLED)
    module = load(file, cache=CACHE)
    assert module.toolchain.startswith("NVRTC ")
    assert not module.notes


@pytest.mark.usefixtures("nvcc")
def test_nvcc_compiles_where_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(UNROLLED)
    module = load(file, options=CompileOptions(nvcc=""), cache=CACHE)
    assert module.toolchain.startswith("nvcc ")
    assert not module.notes
    with pytest.raises(ToolError, match=r"nvcc 11\.1 is not installed, 1\d\.\d is"):
        load(file, options=CompileOptions(nvcc="11.1"), cache=CACHE)


@pytest.mark.usefixtures("nvcc")
def test_nvcc_is_given_what_the_user_asks_for(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(f"#ifndef FAST\n#error slow\n#endif\n{UNROLLED}")
    fast = CompileOptions(nvcc="", extra=("-DFAST",))
    assert load(file, options=fast, cache=CACHE).kernel_names == ("sum",)
    with pytest.raises(CompileError, match="slow"):
        load(file, options=replace(fast, extra=()), cache=CACHE)


def test_nvcc_compiles_files_alone() -> None:
    with pytest.raises(InputError, match="nvcc compiles files alone"):
        load_bytes(UNROLLED.encode(), name="k.cu", options=CompileOptions(nvcc=""))


@pytest.mark.usefixtures("nvcc")
def test_what_the_device_compiler_refuses_is_compiled_with_its_host_code(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(SORTED)
    module = load(file, cache=CACHE)
    assert module.kernel_names == ("lesser<int>",)
    assert module.toolchain.startswith("nvcc ")
    (note,) = module.notes
    assert "since NVRTC refuses it: expected an expression" in note
    assert module.machine_kernel("lesser").parameters[0].label == "x"


def test_without_nvcc_the_device_compiler_is_heard(tmp_path: Path, monkeypatch) -> None:
    def missing() -> Path:
        raise ToolError("nvcc is not installed")

    monkeypatch.setattr("kernelcast.toolchain.nvcc.find_nvcc", missing)
    file = tmp_path / "k.cu"
    file.write_text(SORTED)
    with pytest.raises(CompileError, match="expected an expression"):
        load(file, cache=CACHE)


def test_a_launch_that_depends_on_another_and_words_of_gcc(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "struct S { __extension__ union { struct { int a; }; int b; }; };\n"
        "__global__ void k(S* x) {\n  cudaGridDependencySynchronize();\n"
        "  x->b = 1;\n  cudaTriggerProgrammaticLaunchCompletion();\n}\n"
    )
    kernel = load(file, cache=CACHE).kernel("k")
    waits = [each.opcode for each in kernel.instructions if "griddepcontrol" in each.opcode]
    assert len(waits) == 2


def test_lanes_exchange_as_they_did_before_volta(tmp_path: Path) -> None:
    """Among the active lanes, and it is told; a source may have a function of that name itself."""
    file = tmp_path / "k.cu"
    file.write_text(
        "__global__ void k(double* x, unsigned* y) {\n"
        "  x[threadIdx.x] = __shfl_down(x[threadIdx.x], 4);\n"
        "  if (x[threadIdx.x] > 0) y[threadIdx.x] = __ballot(1);\n}\n"
    )
    module = load(file, cache=CACHE)
    assert module.notes == (
        "__shfl_down, which no chip since Volta has, is __shfl_down_sync of the active lanes",
    )
    opcodes = [each.opcode for each in module.kernel("k").instructions]
    assert sum(opcode.startswith("shfl") for opcode in opcodes) == 2
    own = (
        "__device__ int __any(int x) { return x; }\n__global__ void k(int* x) { *x = __any(*x); }\n"
    )
    file.write_text(own)
    assert load(file, cache=CACHE).notes == ()


@pytest.mark.usefixtures("nvcc")
def test_what_to_do_about_a_texture_reference(tmp_path: Path) -> None:
    """The device's compiler, which is heard, only misses a variable; nvcc says of what kind."""
    file = tmp_path / "k.cu"
    file.write_text(
        "texture<float> table;\n"
        "__global__ void k(float* x) { *x = tex1Dfetch(table, 1); }\n"
        "int main() { k<<<1, 1>>>(nullptr); }\n"
    )
    with pytest.raises(CompileError, match='"table" is undefined; run the program'):
        load(file, cache=CACHE)


def test_constants_that_are_computed_from_others(tmp_path: Path) -> None:
    """As host compilers do: nothing is left to compute when a program begins."""
    file = tmp_path / "k.cu"
    file.write_text(
        "const float step = 0.25f;\n"
        "static const float inverse = 1.0f / step, weights[2] = {-step, 3 * step};\n"
        'const char* const name = "k";\n'
        "__global__ void k(float* x) { x[threadIdx.x] = inverse + weights[1]; }\n"
    )
    instructions = load(file, cache=CACHE).kernel("k").instructions
    bits = int(np.float32(4.75).view(np.uint32))
    assert any(Immediate(bits) in each.operands for each in instructions)
