import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import kernelcast as kc

PACKAGE = Path(kc.__file__).parent
HEAVY = {"numpy", "llvmlite", "numba", "rich", "msgspec", "click", "elftools", "lz4"}

SAXPY = """
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, kernelcast; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & HEAVY


@pytest.mark.parametrize("name", kc.__all__)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(kc, name)
    if inspect.isfunction(value) or inspect.isclass(value):
        assert inspect.getdoc(value), name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = kc.frobnicate


def test_no_public_name_is_that_of_a_sub_package():
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert not packages & set(kc.__all__)


@pytest.fixture
def saxpy(tmp_path):
    file = tmp_path / "saxpy.cu"
    file.write_text(SAXPY)
    return file


def test_the_path_from_a_file_to_a_forecast(saxpy):
    n = 1 << 16
    kernel = kc.load(saxpy, gpu="h100-sxm")
    launch = kc.Launch(
        grid=n // 256,
        block=256,
        args={"n": n, "a": 2.0, "x": kc.f32(n, fill="random(1)"), "y": kc.f32(n)},
    )
    case = kc.case(kernel, launch, gpu="h100-sxm")
    forecast = kc.predict(case)
    assert str(forecast).startswith("saxpy<<<256, 256>>> on h100-sxm: ")
    assert forecast.as_dict()["time_s"] == forecast.time_s
    assert {p.model.name for p in kc.predict_all(case)} == set(kc.model_names())
    explanation = kc.explain(case, "roofline")
    assert "Instructions" in str(explanation)
    assert explanation.as_dict()["result"]["model"] == "roofline"


def test_a_source_may_be_a_text(saxpy):
    launch = kc.Launch(
        grid=256,
        block=256,
        args={"n": 1 << 16, "a": 2.0, "x": kc.f32(1 << 16), "y": kc.f32(1 << 16)},
    )
    of_text, of_file = kc.load_source(SAXPY, name=str(saxpy)), kc.load(saxpy)
    assert of_text == of_file
    ptx = "// a comment\n.version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n"
    assert kc.load_source(ptx).name == "k"
    assert kc.predict(kc.case(of_text, launch)).time_s > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "source: the file is empty"),
        ("hello", "source: no kernel found in this text"),
        ("__global__ void k() { oops; }", 'source:1: identifier "oops" is undefined'),
        ('#include "no.h"\n__global__ void k(T x) {}', "source"),
    ],
)
def test_a_text_that_is_no_source(text, message):
    with pytest.raises(kc.KernelcastError, match=message) as caught:
        kc.load_source(text)
    assert "\n" not in str(caught.value)


def test_two_dimensional_launches(tmp_path):
    file = tmp_path / "k.cu"
    file.write_text(
        'extern "C" __global__ void k(float* c) {'
        " int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;"
        " c[y * 64 + x] = x; }"
    )
    launch = kc.Launch(grid=(4, 4), block=(16, 16), args={"c": kc.f32(64, 64)})
    assert launch.threads == 64 * 64
    forecast = kc.predict(kc.case(kc.load(file), launch))
    assert str(forecast).startswith("k<<<4x4, 16x16>>> on h100-sxm")


def test_a_machine_with_a_number_of_ones_own(saxpy):
    half = kc.machine("h100-sxm", "dram.bandwidth=1e12")
    assert half.number("dram.bandwidth") == 1e12
    assert half.overrides == ("dram.bandwidth",)
    assert "h100-sxm" in kc.gpus()


def test_arrays():
    array = kc.f64(4, 8, fill="random(3)")
    assert (array.type, array.shape, str(array.fill)) == ("f64", (4, 8), "random(3)")
    assert kc.bf16(16).size_bytes == 32
    with pytest.raises(kc.KernelcastError, match="fill"):
        kc.f32(4, fill="randm(3)")
    with pytest.raises(kc.KernelcastError):
        kc.f32(0)


def test_errors_are_of_one_tree(tmp_path):
    with pytest.raises(kc.KernelcastError, match="no such file"):
        kc.load(tmp_path / "nothing.cu")
    with pytest.raises(kc.KernelcastError, match="did you mean"):
        kc.machine("h100-smx")


def test_the_library_prints_nothing(saxpy, capfd):
    launch = kc.Launch(
        grid=4, block=256, args={"n": 1024, "a": 1.0, "x": kc.f32(1024), "y": kc.f32(1024)}
    )
    str(kc.predict(kc.case(kc.load(saxpy), launch)))
    assert capfd.readouterr() == ("", "")
