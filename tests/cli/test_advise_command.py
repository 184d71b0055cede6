"""`kernelcast advise`: what is tried, what is advised, and what is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kernelcast.reporting.documents.advise import advise_schema

EXAMPLES = Path(__file__).parents[2] / "examples"
NARROW = """
/* kernelcast
n = 512
[[launch]]
kernel = "copy"
grid = "n // 2, n // 32"
block = [2, 32]
args = { n = "n", x = "f32[n, n] random(1)", y = "f32[n, n]" }
*/
extern "C" __global__ void copy(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * 32 + threadIdx.y;
    if (i < n && j < n) y[j * n + i] = 2 * x[j * n + i];
}
"""
FIXED = """
/* kernelcast
[[launch]]
grid = 64
block = 128
args = { x = "f32[8192]" }
*/
extern "C" __global__ void fixed(float* x) { x[blockIdx.x * 128 + threadIdx.x] += 1; }
"""
WIDE = """
/* kernelcast
n = 16384
[[launch]]
grid = "n // 256"
block = 256
args = { x = "f32[n + 96 * 37] random(1)", y = "f32[n]" }
*/
extern "C" __global__ void wide(const float* x, float* y) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float held[96];
#pragma unroll
    for (int k = 0; k < 96; k++) held[k] = x[i + 37 * k];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 96; k++) sum += held[k] * held[95 - k];
    y[i] = sum;
}
"""

ROWS = """
/* kernelcast
[[launch]]
grid = 8192
block = 128
args = { x = "f32[8192, 1024] random(1)", y = "f32[8192]" }
*/
extern "C" __global__ void rows(const float* x, float* y) {
    __shared__ float of_warp[32];
    float own = 0;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) own += x[blockIdx.x * 1024 + i];
    for (int apart = 16; apart; apart /= 2) own += __shfl_xor_sync(~0u, own, apart);
    of_warp[threadIdx.x / 32] = own;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < blockDim.x / 32; w++) sum += of_warp[w];
    y[blockIdx.x] = sum;
}
"""


@pytest.fixture
def advise(run, tmp_path):
    """The only result of `advise --json` for a source."""

    def call(source: str, *arguments: str):
        file = tmp_path / "code.cu"
        file.write_text(source)
        outcome = run("advise", file, "--gpu", "a100-sxm-80gb", *arguments, "--json")
        assert outcome.status == 0, outcome.err
        document = json.loads(outcome.out)
        jsonschema.validate(document, advise_schema())
        (result,) = document["results"]
        return result

    return call


def test_narrow_blocks_are_widened(advise):
    """Rows of two words: a wider block is advised, with the same results and a gain by both."""
    result = advise(NARROW)
    best = result["best"]
    assert best["block"][0] >= 8
    assert best["results"] == "leaves the same in memory"
    assert result["gain"] == pytest.approx(1 - best["time_s"] / result["time_s"])
    before, after = result["confirmed_s"]
    assert after < before
    assert result["change"].startswith(f"launch blocks of {best['block'][0]},")
    rows = result["candidates"]
    assert [c["time_s"] for c in rows] == sorted(c["time_s"] for c in rows)
    assert all(
        c["grid"][0] * c["block"][0] == 512 and c["grid"][1] * c["block"][1] == 512 for c in rows
    )
    # The code fixes the height.
    assert {c["block"][1] for c in rows} == {32}
    assert any(c["by"] == "three strategies" for c in rows)


def test_any_model_searches(advise):
    assert advise(FIXED, "--model", "resios")["model_label"] == "resios"


def test_a_launch_that_is_fast_already_is_left_alone(run):
    out = run("advise", EXAMPLES / "saxpy.cu", "--gpu", "a100-sxm-80gb", "--sample", 32).out
    assert out.startswith("saxpy<<<262144, 256>>> on a100-sxm-80gb: leave it as it is\n")
    assert "No launch that leaves the same in memory is more than 2.0 % faster" in out
    assert "three strategies" in out


def test_another_block_that_computes_something_else_is_not_advised(run):
    """The tile of the transpose is 32 wide, whatever the block."""
    outcome = run("advise", EXAMPLES / "transpose.cu", "--gpu", "a100-sxm-80gb", "--json")
    (result,) = json.loads(outcome.out)["results"]
    assert result["best"] is None
    wrong = [c["results"] == "leaves something else in memory" for c in result["candidates"]]
    assert any(wrong) and wrong == sorted(wrong), "what may be used stands first"
    assert any("outside every array" in c["refused"] for c in result["candidates"])


def test_every_launch_that_would_be_faster_is_compared(advise):
    """A block takes a row: larger blocks are fewer, and leave rows out, all of them."""
    result = advise(ROWS)
    faster = [c for c in result["candidates"] if not c["refused"] and c["gain"] > 0.02]
    assert len(faster) > 4
    assert {c["results"] for c in faster} == {"leaves something else in memory"}
    assert result["best"] is None


def test_blocks_that_the_code_fixes_are_not_tried(advise):
    result = advise(FIXED)
    assert result["fixed"] == "the kernel does not ask how large its blocks are"
    assert result["best"] is None and result["change"] == "leave it as it is"
    assert result["candidates"] == []


def test_registers_are_capped_where_they_limit_occupancy(advise):
    result = advise(WIDE)
    caps = [c["registers"] for c in result["candidates"]]
    assert caps and all(caps)
    held = {c["registers"]: c["warps_per_sm"] for c in result["candidates"]}
    assert held[min(held)] > held[max(held)]


def test_several_models_are_refused(run, tmp_path):
    file = tmp_path / "code.cu"
    file.write_text(FIXED)
    outcome = run("advise", file, "--model", "volkov,resios")
    assert outcome.status == 2
    assert "one model expected, 2 given" in outcome.err


def test_brief_is_the_advice_alone(run, tmp_path):
    file = tmp_path / "code.cu"
    file.write_text(FIXED)
    out = run("advise", file, "--quiet").out
    assert out == "fixed<<<64, 128>>> on h100-sxm: leave it as it is\n"
