"""A forecast warns where a kernel executes more code than an SM keeps."""

from __future__ import annotations

import pytest

from kernelcast import api

SOURCE = """
extern "C" __global__ void long_way(float *x, int rarely) {
    float a = x[threadIdx.x], b = a + 1;
    if (rarely) {
#pragma unroll
        for (int i = 0; i < STEPS; ++i) { a = a * b + 1.5f; b = b * a - 0.5f; }
    }
    x[threadIdx.x] = a + b;
}
"""


@pytest.fixture
def warnings(tmp_path):
    file = tmp_path / "long.cu"
    file.write_text(SOURCE)

    def found(gpu, steps, *, rarely=1, isa="sass"):
        build = api.Build(api.CompileOptions((f"STEPS={steps}",)), cache=None, isa=isa)
        launch = api.Launch(
            grid=2, block=32, args={"x": api.f32(32), "rarely": rarely}, kernel="long_way"
        )
        kernel = api.load(file, gpu=gpu, kernel="long_way", build=build)
        forecast = api.predict(api.case(kernel, launch, gpu, build=build), "volkov")
        return [text for text in forecast.warnings if text.startswith("fetching instructions")]

    return found


def test_code_beyond_the_instruction_cache_is_warned_of_with_both_sizes(warnings):
    """2 x 2000 multiply-adds of 16 B are 62 KiB; Turing keeps 46 (Jia et al. 2019)."""
    (text,) = warnings("rtx-2080-ti", 2000)
    assert "63 KiB are executed and an SM keeps 46" in text


def test_code_that_fits_is_not(warnings):
    assert warnings("rtx-2080-ti", 1000) == []


def test_what_is_not_executed_does_not_count(warnings):
    assert warnings("rtx-2080-ti", 2000, rarely=0) == []


def test_nothing_is_said_of_ptx_or_where_nobody_knows(warnings):
    assert warnings("rtx-2080-ti", 2000, isa="ptx") == []
    assert warnings("h100-sxm", 2000) == []
