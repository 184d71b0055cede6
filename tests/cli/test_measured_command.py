"""`kernelcast validate measured`: forecasts beside a tuner's times."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kernelcast.errors import MissingNumberError
from kernelcast.models import model_names
from kernelcast.models.cuda_guide import CudaGuide

SOURCE = """/* kernelcast
block_size_x = 128
[[launch]]
kernel = "scale"
grid = "cdiv(1 << 18, block_size_x * per_thread)"
block = "block_size_x"
args = { x = "f32[1 << 18]" }
*/
extern "C" __global__ void scale(float* x) {
    for (int k = 0; k < per_thread; ++k)
        x[(blockIdx.x * per_thread + k) * block_size_x + threadIdx.x] *= 2.0f;
}
"""
CONFIGURATIONS = [(64, 1), (128, 2), (256, 4)]


@pytest.fixture
def given_files(tmp_path):
    """A kernel, and a tuner's cache in which one more configuration failed."""
    keys = ["block_size_x", "per_thread"]
    cache: dict[str, dict[str, Any]] = {
        f"{block},{count}": {**dict(zip(keys, (block, count), strict=True)), "time": ms}
        for (block, count), ms in zip(CONFIGURATIONS, (0.02, 0.01, 0.04), strict=True)
    }
    cache["1024,8"] = {"block_size_x": 1024, "per_thread": 8, "time": "CompilationFailedConfig"}
    document = {
        "device_name": "Some GPU",
        "kernel_name": "scale",
        "tune_params_keys": keys,
        "cache": cache,
    }
    source, data = tmp_path / "scale.cu", tmp_path / "cache.json"
    source.write_text(SOURCE)
    data.write_text(json.dumps(document))
    return data, source


def test_every_configuration_is_compiled_and_launched_as_its_parameters_say(run, given_files):
    data, source = given_files
    done = run("validate", "measured", data, "--workload", source, "--gpu", "h100-sxm", "--json")
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert (answer["set"], answer["gpu"], answer["device"]) == ("measured", "h100-sxm", "Some GPU")
    assert (answer["observations"], answer["failed"]) == (3, 1)
    (score,) = answer["models"].values()
    assert [one["measured_s"] for one in score["launches"]] == pytest.approx([2e-5, 1e-5, 4e-5])
    assert len({one["predicted_s"] for one in score["launches"]}) == 3
    assert answer["missing"] == []


def test_the_first_line_says_how_far_to_believe(run, given_files):
    data, source = given_files
    options = ("--workload", source, "--gpu", "h100-sxm", "--model", "volkov")
    done = run("validate", "measured", data, *options)
    assert done.status == 0, done.err
    first, *_ = done.out.splitlines()
    assert first.startswith("Half of the 3 predictions are off by ")
    assert "by the volkov model" in first
    assert "Worst by volkov" in done.out
    assert "registers" not in done.out


def test_a_drawn_part_is_the_same_in_every_run(run, given_files):
    data, source = given_files
    options = ("--workload", source, "--gpu", "h100-sxm", "--configurations", "2", "--json")
    first, second = (run("validate", "measured", data, *options) for _ in range(2))
    assert first.out == second.out
    (score,) = json.loads(first.out)["models"].values()
    assert len(score["launches"]) == 2


def test_what_took_too_short_is_left_out(run, given_files):
    data, source = given_files
    options = ("--workload", source, "--gpu", "h100-sxm", "--longer-than", "15", "--json")
    answer = json.loads(run("validate", "measured", data, *options).out)
    (score,) = answer["models"].values()
    assert [one["place"] for one in score["launches"]] == [0, 2]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (["--gpu", "h100-smx"], "did you mean h100-sxm"),
        (["--gpu", "h100-sxm,a40"], "one GPU expected"),
        (["--gpu", "h100-sxm", "--model", "volkow"], "did you mean volkov"),
        (["--gpu", "h100-sxm", "--only", "scala"], "did you mean scale"),
        (["--gpu", "h100-sxm", "--longer-than", "1e6"], "nothing took 1 s or longer"),
        (["--gpu", "h100-sxm", "-D", "scale=1x"], "nothing can be compared"),
        (["--gpu", "h100-sxm", "--nvrtc", "1.0"], "NVRTC 1.0 is not installed"),
        (["--gpu", "a40", "--compiler", "nvcc", "--nvrtc", "12.3"], "12.3 is a version of NVRTC"),
    ],
)
def test_bad_input_is_one_line(run, given_files, more, what):
    data, source = given_files
    done = run("validate", "measured", data, "--workload", source, *more)
    assert (done.status, done.out) == (2, "")
    assert what in done.err
    assert done.err.count("\n") == 1


def test_a_missing_file_and_a_missing_option_are_one_line(run, given_files):
    data, source = given_files
    for given, what in (
        (["nothing.json", "--workload", source, "--gpu", "a40"], "cannot be read"),
        ([data, "--gpu", "a40"], "Missing option '--workload'"),
        ([data, "--workload", "nothing.cu", "--gpu", "a40"], "nothing.cu"),
    ):
        done = run("validate", "measured", *given)
        assert (done.status, done.out) == (2, ""), given
        assert what in done.err
        assert done.err.count("\n") == 1


def test_a_model_without_its_numbers_does_not_silence_those_after_it(run, given_files, monkeypatch):
    """All were asked for: what one of them lacks on the machine says nothing of the others."""

    def predict(model, case):
        raise MissingNumberError("h100-sxm", "latency.dram", model.name)

    monkeypatch.setattr(CudaGuide, "predict", predict)
    data, source = given_files
    options = ("--workload", source, "--gpu", "h100-sxm", "--json", "--model")
    done = run("validate", "measured", data, *options, "all")
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert answer["missing"] == ["scale: cuda-guide needs a number that h100-sxm lacks"]
    assert set(answer["models"]) == set(model_names()) - {"cuda-guide"}
    assert all(len(score["launches"]) == 3 for score in answer["models"].values())
    asked_for = run("validate", "measured", data, *options, "cuda-guide")
    assert asked_for.status == 2
    assert "latency.dram" in asked_for.err
