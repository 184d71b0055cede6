"""Kernel Tuner's loop with forecasts, and its files read by its own tools."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.kept import CACHE

import kernelcast as kc
from kernelcast.api import Build
from kernelcast.errors import CompileError, InputError, NotFoundError, UnsupportedError

kernel_tuner = pytest.importorskip(
    "kernel_tuner", reason="Kernel Tuner is not installed (kernelcast[kernel-tuner])"
)
from kernelcast.adapters.kernel_tuner import tune_kernel  # noqa: E402

BUILD = Build(cache=CACHE)
N = 1 << 12
SOURCE = """
extern "C" __global__ void scaled(const float* x, float* y, float a, int n) {
    int i = (blockIdx.x * block_size_x + threadIdx.x) * per;
    for (int k = 0; k < per; k++) if (i + k < n) y[i + k] = a * x[i + k];
}
"""
PARAMETERS = {"block_size_x": [64, 2048], "per": [1, 8]}
X = np.random.default_rng(1).random(N, dtype=np.float32)
GIVEN = [X, np.zeros(N, np.float32), np.float32(3), np.int32(N)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where Kernel Tuner writes the sources of what fails."""
    monkeypatch.chdir(tmp_path)


def tuned(source=SOURCE, arguments=None, parameters=PARAMETERS, **more):
    settings = {"build": BUILD} | more.pop("settings", {})
    return tune_kernel(
        "scaled", source, N, GIVEN if arguments is None else arguments, parameters,
        grid_div_x=["block_size_x", "per"], quiet=True, settings=settings,
        **{"gpu": "a100-sxm-80gb"} | more,
    )  # fmt: skip


def test_the_loop_finds_what_is_forecast_fastest():
    results, environment = tuned(answer=[None, 3 * X, None, None])
    assert [(r["block_size_x"], r["per"]) for r in results] == [(64, 1), (64, 8)]
    assert environment["device_name"] == "a100-sxm-80gb"
    for result in results:
        kernel = kc.load_source(
            f"#define block_size_x 64\n#define per {result['per']}\n{SOURCE}",
            gpu="a100-sxm-80gb",
            build=BUILD,
        )
        launch = kc.Launch(
            N // 64 // result["per"], 64, {"x": kc.f32(N), "y": kc.f32(N), "a": 3.0, "n": N}
        )
        expected = kc.predict(kc.case(kernel, launch, "a100-sxm-80gb", build=BUILD))
        assert result["time"] == pytest.approx(1e3 * expected.time_s)
        assert result["bound_by"] == str(expected.bottleneck)
    best = min(results, key=lambda r: r["time"])
    assert environment["best_config"]["per"] == best["per"]


def test_a_wrong_result_is_found():
    wrong = SOURCE.replace("i + k < n", "i + k < n - 1")
    with pytest.raises(RuntimeError, match="result verification failed"):
        tuned(wrong, answer=[None, 3 * X, None, None])


def test_its_files_are_read_by_its_own_tools(tmp_path):
    cache = str(tmp_path / "cache.json")
    parameters = {"block_size_x": [64], "per": [1, 8]}
    results, _ = tuned(parameters=parameters, cache=cache)
    header = json.loads((tmp_path / "cache.json").read_text())
    assert header["device_name"] == "a100-sxm-80gb" and len(header["cache"]) == 2
    simulated, _ = kernel_tuner.tune_kernel(
        "scaled", SOURCE, N, GIVEN, parameters, lang="CUDA", grid_div_x=["block_size_x", "per"],
        cache=cache, simulation_mode=True, quiet=True,
    )  # fmt: skip
    times = {(r["block_size_x"], r["per"]): r["time"] for r in simulated if "time" in r}
    assert times == {(r["block_size_x"], r["per"]): r["time"] for r in results}

    from kernel_tuner.file_utils import output_file_schema, store_output_file

    store_output_file(str(tmp_path / "results.json"), results, parameters)
    import jsonschema

    stored = json.loads((tmp_path / "results.json").read_text())
    jsonschema.validate(stored, output_file_schema("results")[1])
    assert [r["invalidity"] for r in stored["results"]] == ["correct", "correct"]


@pytest.mark.parametrize("strategy", ["random_sample", "greedy_mls"])
def test_other_strategies(strategy):
    options = {"max_fevals": 2}
    results, _ = tuned(strategy=strategy, strategy_options=options, settings={"model": "roofline"})
    assert results


def test_equal_launches_are_forecast_once(monkeypatch):
    from kernelcast.adapters import common, forecast_backend

    launches = []
    once = common.forecast_of

    def counted(module, launch, *rest, **options):
        launches.append(launch)
        return once(module, launch, *rest, **options)

    monkeypatch.setattr(forecast_backend, "forecast_of", counted)
    results, _ = tuned(iterations=5)
    assert len(launches) == 2
    assert all(len(r["times"]) == 5 for r in results)


def test_dynamic_shared_memory_and_what_does_not_fit():
    source = SOURCE.replace("int i =", "extern __shared__ float s[]; s[threadIdx.x] = a; int i =")
    results, _ = tuned(source, smem_args={"size": "block_size_x * 4"})
    assert len(results) == 2
    results, _ = tuned(source, smem_args={"size": 1 << 20})
    assert {type(r["__error__"]).__name__ for r in results} == {"RuntimeFailedConfig"}


def test_values_of_constant_variables():
    source = "__constant__ float factors[2];\n" + SOURCE.replace("a * x", "factors[1] * x")
    factors = np.array([7, 5], np.float32)
    results, _ = tuned(source, cmem_args={"factors": factors}, answer=[None, 5 * X, None, None])
    assert len(results) == 2


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"lang": "OpenCL"}, InputError, "lang: kernels in OpenCL are not forecast"),
        ({"gpu": "h100-smx"}, NotFoundError, "did you mean h100-sxm"),
        ({"source": SOURCE.replace("a * x", "nothing * x")}, CompileError, "nothing"),
        ({"cmem_args": {"c": np.zeros(3)}}, InputError, "c"),
        ({"texmem_args": {"t": np.zeros(3)}}, UnsupportedError, "textures"),
        ({"arguments": ["x", *GIVEN[1:]]}, TypeError, "argument|str"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(change, error, message):
    with pytest.raises(error, match=message):
        tuned(**change)
