"""Triton's functions: what is compiled, what is passed, and what the code computes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.execution.machine_code import image
from tests.kept import CACHE

import kernelcast as kc
from kernelcast.api import Build
from kernelcast.errors import CompileError, InputError, NotFoundError, ToolError
from kernelcast.ir import TensorMap

triton = pytest.importorskip("triton", reason="Triton is not installed (kernelcast[triton])")
tl = pytest.importorskip("triton.language")

from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

from kernelcast.adapters.triton import descriptor, forecast, perf_model  # noqa: E402

BUILD = Build(cache=CACHE)
N = 4096


class FakeTensor:
    """What a descriptor asks of a tensor, under the name of PyTorch's tensors without memory."""

    def __init__(self, values):
        self.values = values
        self.dtype, self.shape = values.dtype, values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values

    def reshape(self, shape):
        return FakeTensor(self.values.reshape(shape))


@triton.jit
def wrong(x, y, n, factor, BLOCK: tl.constexpr):
    tl.store(y, tl.load(x).foo())


@triton.jit
def scaled(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n) * factor, i < n)


@triton.jit
def column_sums(x, y, rows, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        total += tl.load(x + row * stride + i)
    tl.store(y + i, total)


@triton.jit
def product(a, b, c, n, SIZE: tl.constexpr):
    r = tl.arange(0, SIZE)
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for start in range(0, n, SIZE):
        left = tl.load(a + r[:, None] * n + start + r[None, :])
        right = tl.load(b + (start + r[:, None]) * SIZE + r[None, :])
        total += tl.dot(left, right)
    tl.store(c + r[:, None] * SIZE + r[None, :], total)


@triton.jit
def product_of_tiles(a, b, c, n, M: tl.constexpr, N: tl.constexpr, DEPTH: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, n, DEPTH):
        total += tl.dot(a.load([row, start]), b.load([start, column]))
    c.store([row, column], total)


@triton.jit
def doubled_tile(x, y, M: tl.constexpr, N: tl.constexpr):
    at = [tl.program_id(0) * M, tl.program_id(1) * N]
    y.store(at, x.load(at) * 2)


def of_scaled(n=N, gpu="h100-sxm", signature=None, x=None, factor=3.0, **more):
    args = {"x": kc.f32(N) if x is None else x, "y": kc.f32(N), "n": n, "factor": factor}
    grid = (-(-N // 256),)
    return forecast(scaled, signature, {"BLOCK": 256}, grid, gpu, args=args, build=BUILD, **more)


@pytest.mark.parametrize("gpu", ["h100-sxm", "rtx-4090"])
def test_what_a_launch_computes(gpu):
    x = np.random.default_rng(1).random(N, dtype=np.float32)
    case = of_scaled(n=N - 5, gpu=gpu, x=x).case
    assert case.kernel.isa == "sass"
    y = np.frombuffer(image(case.kernel, case.launch)["y"], np.float32)
    assert np.array_equal(y[: N - 5], 3 * x[: N - 5])
    assert not y[N - 5 :].any()


def test_the_metadata_says_warps_and_shared_memory():
    size = 64
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-3, 4, (size, size)).astype(np.float16) for _ in range(2))
    args = {"a": a, "b": b, "c": kc.f32(size, size), "n": size}
    found = forecast(
        product, None, {"SIZE": size}, 1, "rtx-4090", args=args, build=BUILD,
        compile_options={"num_warps": 2},
    ).case  # fmt: skip
    assert found.launch.block == (64, 1, 1)
    assert found.launch.smem_bytes >= 2 * size * size  # at least a tile of f16
    c = np.frombuffer(image(found.kernel, found.launch)["c"], np.float32).reshape(size, size)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("gpu", ["h100-sxm", "rtx-5090", "rtx-4090"])
def test_descriptors_are_tensor_maps_or_pointers(gpu):
    """Of a tile of 64 x 128 numbers two boxes are copied, which a swizzle of 128 bytes fits; rows
    of tiles that reach beyond the array are neither read nor written."""
    x = np.random.default_rng(3).integers(-9, 9, (100, 256)).astype(np.float16)
    args = {
        "x": descriptor(x, (64, 128)),
        "y": TensorDescriptor(FakeTensor(np.zeros_like(x)), [100, 256], [256, 1], [64, 128]),
    }
    found = forecast(doubled_tile, None, {"M": 64, "N": 128}, (2, 2), gpu, args=args, build=BUILD)
    given = found.case.launch.args
    y = np.frombuffer(image(found.case.kernel, found.case.launch)["y"], np.float16)
    assert np.array_equal(y.reshape(x.shape), 2 * x)
    assert (given["x.shape[0]"], given["x.stride[0]"], given["x.stride[1]"]) == (100, 256, 1)
    if gpu == "rtx-4090":  # it knows no tensor maps
        assert isinstance(given["x"], kc.Array)
        assert given["x.base.shape[1]"] == 256
    else:
        assert isinstance(given["x"], TensorMap)
        assert given["x"] == TensorMap(given["x"].array, (64, 64), (0, 1), swizzle_bytes=128)


def test_a_product_of_tiles_that_descriptors_name():
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((128, 192), (192, 64)))
    args = {
        "a": descriptor(a, (64, 64)), "b": descriptor(b, (64, 64)),
        "c": descriptor(kc.f32(128, 64), (64, 64)), "n": 192,
    }  # fmt: skip
    sizes = {"M": 64, "N": 64, "DEPTH": 64}
    case = forecast(product_of_tiles, None, sizes, 2, "h100-sxm", args=args, build=BUILD).case
    c = np.frombuffer(image(case.kernel, case.launch)["c"], np.float32).reshape(128, 64)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def of_part(shape, strides, **changes):
    tensor = FakeTensor(np.zeros((128, 128), np.float32))
    made = TensorDescriptor(tensor, shape, strides, [64, 32])
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (of_part([64, 128], [128, 1]), r"a part of its tensor, of shape \[64, 128\]"),
        (of_part([128, 64], [128, 1]), "give one of the whole, in rows without gaps"),
        (of_part([128, 128], [128, 1], padding="nan"), "pads with NaN"),
        (of_part([128, 128], [128, 1], round_f32_to_tf32=True), "rounds to TF32"),
    ],
)
def test_descriptors_that_are_not_taken_say_so_in_a_line(x, message):
    args = {"x": x, "y": descriptor(kc.f32(128, 128), (64, 32))}
    with pytest.raises(InputError, match=message) as caught:
        forecast(doubled_tile, None, {"M": 64, "N": 32}, 4, args=args, build=BUILD)
    assert "\n" not in str(caught.value)


def test_a_descriptor_is_of_an_array_and_has_a_length_for_every_dimension():
    with pytest.raises(InputError, match="a block of 1 dimensions of an array of 2"):
        descriptor(kc.f32(64, 64), (64,))
    with pytest.raises(InputError, match="a descriptor of 5; give an array"):
        descriptor(5, (64,))


def test_scratch_parameters_stand_behind_the_arguments():
    case = of_scaled().case
    assert list(case.launch.args) == ["x", "y", "n", "factor", "global_scratch", "profile_scratch"]
    assert case.launch.args["global_scratch"] == 0
    assert len(case.kernel.parameters) == 6


def test_lengths_that_16_divides_are_compiled_as_such():
    """As in a launch: where the mask is of whole pairs, two words are loaded at once."""

    def loads(n):
        return sum(i.opcode == "LDG" for i in of_scaled(n=n).case.kernel.instructions)

    assert (loads(N), loads(N - 1)) == (1, 2)


def test_the_number_one_is_a_constant_and_a_signature_says_otherwise():
    args = {"x": kc.f32(1, N), "y": kc.f32(N), "rows": 1, "stride": N}

    def passed(signature):
        found = forecast(column_sums, signature, {"BLOCK": 128}, N // 128, args=args, build=BUILD)
        return list(found.case.launch.args)[:-2]

    assert passed(None) == ["x", "y", "stride"]
    assert passed({"rows": "i32"}) == ["x", "y", "rows", "stride"]


def test_types_are_those_of_the_signature():
    case = of_scaled(signature={"n": "i64", "factor": "fp64"}).case
    assert [p.size_bytes for p in case.kernel.parameters[:4]] == [8, 8, 8, 8]
    assert [p.size_bytes for p in of_scaled().case.kernel.parameters[:4]] == [8, 8, 4, 4]


def test_a_grid_is_computed_of_the_constants():
    args = {"x": kc.f32(N), "y": kc.f32(N), "n": N, "factor": 1.5}
    grid = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), meta["num_warps"])  # noqa: E731
    found = forecast(
        scaled, None, {"BLOCK": 512}, grid, args=args, build=BUILD,
        compile_options={"num_warps": 2},
    )  # fmt: skip
    assert found.case.launch.grid == (8, 2, 1)


def test_a_report_names_the_lines_of_the_python_source():
    assert "test_triton.py:" in str(of_scaled())


def test_autotune_keeps_the_configurations_that_are_forecast_fastest():
    configurations = [triton.Config({"BLOCK": block}, num_warps=1) for block in (32, 256, 1024)]
    seconds = perf_model(
        scaled, lambda meta: (triton.cdiv(N, meta["BLOCK"]),), "h100-sxm", build=BUILD
    )
    tuned = triton.autotune(
        configurations, key=["n"], prune_configs_by={"perf_model": seconds, "top_k": 2}
    )(scaled)
    tuned.nargs = {"x": kc.f32(N), "y": kc.f32(N), "n": N, "factor": 2.0}
    times = {c: seconds(**tuned.nargs, **c.all_kwargs()) for c in configurations}
    assert tuned.prune_configs({}) == sorted(times, key=times.__getitem__)[:2]
    assert len(set(times.values())) > 1


def test_a_configuration_that_does_not_fit_takes_for_ever():
    seconds = perf_model(product, 1, "rtx-4090", build=BUILD)
    n = 512
    args = {"a": kc.f16(n, n), "b": kc.f16(n, n), "c": kc.f32(n, n), "n": n}
    assert seconds(**args, SIZE=256, num_warps=16) == float("inf")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"missing": "y"}, InputError, "scaled: y has no value; add y to args"),
        ({"constexprs": {"BLOK": 1}}, NotFoundError, "did you mean BLOCK"),
        ({"constexprs": {"BLOCK": 100}}, CompileError, "Triton does not compile it for sm_90"),
        ({"grid": (0,)}, InputError, r"\(0,\) is no grid"),
        ({"grid": (1, 2, 3, 4)}, InputError, "is no grid"),
        ({"fn": len}, InputError, "'len' is no function of triton.jit"),
        ({"args": {"x": "f32[4]"}}, InputError, "scaled: x: str is no argument"),
        ({"args": {"x": np.zeros(4, complex)}}, InputError, "array of complex128 is no argument"),
        ({"args": {"x": np.zeros((0, 4))}}, InputError, "has no elements"),
        (
            {"args": {"x": descriptor(kc.f32(64, 64), (64, 32))}},
            CompileError,
            "Triton does not compile it for sm_90",
        ),
        ({"args": {"x": (1, 2)}}, InputError, "scaled: x: tuples are not taken as arguments"),
        ({"args": {"n": 1 << 70}}, InputError, r"argument 2 \(n\) is 11805.*, out of range"),
        ({"gpu": "gtx-280"}, CompileError, "Triton does not compile it for sm_13"),
        ({"caches": "hot"}, NotFoundError, "unknown state of the caches 'hot'"),
        ({"num_warps": 8}, InputError, "no option of a forecast; give it in compile_options"),
        ({"modl": "teg"}, NotFoundError, "unknown option 'modl'; did you mean model"),
        ({"compile_options": {"num_warp": 8}}, NotFoundError, "did you mean num_warps"),
        ({"constexprs": {}}, InputError, "BLOCK has no value; add BLOCK to constexprs"),
        ({"fn": triton.autotune([], key=["n"])(scaled)}, InputError, "give scaled.fn"),
        ({"fn": wrong}, CompileError, r"no attribute 'foo'.*, in `tl.store\(y, .*`"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(change, error, message):
    sound = {"x": kc.f32(N), "y": kc.f32(N), "n": N, "factor": 2.0}
    given = {"fn": scaled, "constexprs": {"BLOCK": 256}, "grid": 16, "gpu": "h100-sxm"} | change
    args = sound | given.pop("args", {})
    args.pop(given.pop("missing", ""), None)
    with pytest.raises(error, match=message) as caught:
        forecast(
            given.pop("fn"), None, given.pop("constexprs"), given.pop("grid"), given.pop("gpu"),
            args=args, build=BUILD, **given,
        )  # fmt: skip
    assert "\n" not in str(caught.value)


@triton.jit
def of_warps(x, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), num_warps)


@pytest.mark.parametrize("home", ["constexprs", "compile_options"])
def test_a_parameter_that_is_an_option_too_has_one_value(home):
    given: dict[str, dict[str, int]] = {"constexprs": {"BLOCK": 256}, "compile_options": {}}
    given[home]["num_warps"] = 8
    args = {"x": kc.s32(256)}
    found = forecast(
        of_warps, None, given["constexprs"], 1, "h100-sxm",
        args=args, build=BUILD, compile_options=given["compile_options"],
    )  # fmt: skip
    assert found.case.launch.block == (256, 1, 1)
    with pytest.raises(InputError, match="num_warps is 4 in constexprs and 8 in compile_options"):
        forecast(
            of_warps, None, {"BLOCK": 256, "num_warps": 4}, 1, "h100-sxm",
            args=args, build=BUILD, compile_options={"num_warps": 8},
        )  # fmt: skip


def test_an_array_of_no_dimensions_is_one_element():
    args = {"x": np.array(2.0, np.float32), "y": kc.f32(N), "n": 1, "factor": 2.0}
    assert forecast(scaled, None, {"BLOCK": 16}, 1, "h100-sxm", args=args, build=BUILD).time_s > 0


def test_without_triton_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "triton", None)
    with pytest.raises(ToolError, match=r"pip install 'kernelcast\[triton\]'"):
        of_scaled()
