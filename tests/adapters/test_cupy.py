"""`cupy.RawKernel`, and whatever has its code, options and name."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.execution.machine_code import image
from tests.kept import CACHE

import kernelcast as kc
from kernelcast.adapters.cupy import compile_options, forecast
from kernelcast.api import Build
from kernelcast.errors import CompileError, InputError
from kernelcast.toolchain.nvrtc import CompileOptions

BUILD = Build(cache=CACHE)
SOURCE = r"""
extern "C" __global__ void scaled(const float* x, float* y, int n) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { tile[threadIdx.x] = x[i]; y[i] = tile[threadIdx.x] * FACTOR; }
}
"""


def raw_kernel(code=SOURCE, name="scaled", options=("-DFACTOR=3",)):
    return SimpleNamespace(code=code, name=name, options=options)


def of(kernel, args, **more):
    return forecast(kernel, (4,), (64,), args, shared_mem=256, build=BUILD, **more)


def test_a_kernel_of_cupy():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed (kernelcast[cupy])")
    x = np.arange(256, dtype=np.float32)
    kernel = cupy.RawKernel(SOURCE, "scaled", options=("-DFACTOR=3", "-std=c++17"))
    case = of(kernel, (x, np.zeros(256, np.float32), np.int32(200))).case
    assert case.launch.smem_bytes == 256
    made = np.frombuffer(image(case.kernel, case.launch)["arg1"], np.float32)
    assert np.array_equal(made[:200], 3 * x[:200]) and not made[200:].any()


def test_a_kernel_of_a_file_or_a_template(tmp_path):
    file = tmp_path / "k.cu"
    file.write_text("template <int N> __global__ void k(int* x) { x[threadIdx.x] = N; }")
    kernel = SimpleNamespace(code=None, file_path=str(file), name="k<7>", options=())
    case = of(kernel, [kc.s32(64)]).case
    made = np.frombuffer(image(case.kernel, case.launch)["arg0"], np.int32)
    assert (made == 7).all()


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_the_way_it_is_built_is_the_users(isa):
    build = Build(cache=CACHE, isa=isa)
    args = [kc.f32(256), kc.f32(256), 256]
    found = forecast(raw_kernel(), 4, 64, args, shared_mem=256, build=build)
    assert found.case.kernel.isa == isa


def test_options_of_the_compiler():
    given = (
        *("-DA=1", "-D", "B", "--define-macro=C=2", "-I/x", "-I", "y", "--include-path=z"),
        *("--std=c++20", "--use_fast_math", "-lineinfo", "-arch=sm_70", "-G"),
    )
    assert compile_options(given, CompileOptions(defines=("Z",))) == CompileOptions(
        defines=("Z", "A=1", "B", "C=2"),
        include_dirs=(Path("/x"), Path("y"), Path("z")),
        std="c++20",
        extra=("--use_fast_math",),
    )


@pytest.mark.parametrize(
    ("kernel", "args", "error", "message"),
    [
        (raw_kernel(options=()), [1], CompileError, 'identifier "FACTOR" is undefined'),
        (raw_kernel(name="scled"), [1], InputError, "did you mean scaled"),
        (SimpleNamespace(), [1], InputError, "SimpleNamespace holds no source"),
        (
            SimpleNamespace(code=None, file_path="/no/such.cu", name="k", options=()),
            [1], InputError, "/no/such.cu: cannot read the source: No such file",
        ),
        (raw_kernel(), [kc.f32(4)], InputError, "is missing: 1 given, 3 needed"),
        (raw_kernel(), ["x"], InputError, "scaled: argument 0: str is no argument; give a number"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(kernel, args, error, message):
    with pytest.raises(error, match=message) as caught:
        of(kernel, args)
    assert "\n" not in str(caught.value)
