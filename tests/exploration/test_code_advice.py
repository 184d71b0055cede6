"""What is advised of the code gains what the changed code gains."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelcast as kc
from kernelcast.analysis.remedies import Remedy, RemedyKind
from kernelcast.exploration.code_advice import (
    CodeChange,
    code_changes,
    fitting,
    time_together,
)
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import case_of_kernel
from kernelcast.ir import Launch
from kernelcast.ir.launch import GivenArgument
from kernelcast.machines.loader import load_machine
from kernelcast.models.teg import Teg

N = 1024
GPU = "a100-sxm-80gb"
TILE = """
extern "C" __global__ void turned(int n, const float* in, float* out) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
"""
FIELDS = """
#if APART
#define AT(field, i) p[field * n + i]
#else
#define AT(field, i) p[8 * i + field]
#endif
extern "C" __global__ void summed(int n, const float* p, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = AT(0, i) * AT(0, i) + AT(5, i) * AT(5, i);
}
"""
COLUMNS = """
extern "C" __global__ void columns(int n, const float* in, float* out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[y * n + x] = in[x * n + y];
}
"""
STAGED = """
extern "C" __global__ void staged(int n, const float* in, float* out) {
    __shared__ float tile[32][9];
    int t = threadIdx.y * 32 + threadIdx.x, row = t / 8, column = t % 8;
    tile[row][column] = in[(blockIdx.x * 32 + row) * n + blockIdx.y * 8 + column];
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
"""
SQUARE: dict[str, GivenArgument] = {"n": N, "in": kc.f32(N * N), "out": kc.f32(N * N)}


@pytest.fixture
def case(tmp_path):
    def made(source: str, launch: Launch, isa: str, before: str = ""):
        file = tmp_path / "code.cu"
        file.write_text(before + source)
        machine = load_machine(GPU)
        kernel = kc.load(file, gpu=GPU, build=Build(isa=isa))
        return case_of_kernel(kernel, launch, machine)

    return made


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_padding_gains_what_the_padded_tile_gains(case, isa):
    launch = Launch((N // 32, N // 32), (32, 32), SQUARE)
    (change,) = code_changes(case(TILE, launch, isa, "#define PAD 0\n"))
    remedy = change.remedy
    assert (remedy.kind, remedy.stride_bytes, remedy.pad_bytes) == (RemedyKind.PADDING, 128, 4)
    assert change.shared_bytes == 128
    assert [place.line for place in change.lines] == [9]
    padded = case(TILE, launch, isa, "#define PAD 1\n")
    assert code_changes(padded) == ()
    assert change.time_s == pytest.approx(Teg().predict(padded).time_s, rel=0.05)
    assert change.gain > 0.1


def test_fields_apart_gain_no_less_than_arrays_of_fields(case):
    """The gain is the most there is: what hits in L1 is taken to do so still."""
    size, isa = 1 << 19, "sass"
    launch = Launch(size // 256, 256, {"n": size, "p": kc.f32(8 * size), "y": kc.f32(size)})
    (change,) = code_changes(case(FIELDS, launch, isa, "#define APART 0\n"))
    assert (change.remedy.kind, change.remedy.array) == (RemedyKind.LAYOUT, "p")
    assert change.remedy.stride_bytes == 32
    apart = case(FIELDS, launch, isa, "#define APART 1\n")
    assert code_changes(apart) == ()
    after = Teg().predict(apart).time_s
    assert 0.7 * after < change.time_s <= after < 0.9 * change.before_s
    assert change.most_s is not None and after <= change.most_s <= 1.02 * change.before_s


def test_columns_of_global_memory_are_staged(case):
    launch = Launch((N // 32, N // 8), (32, 8), SQUARE)
    (change,) = code_changes(case(COLUMNS, launch, "sass"))
    assert (change.remedy.kind, change.remedy.array) == (RemedyKind.STAGING, "in")
    assert change.remedy.stride_bytes == 4 * N
    assert change.shared_bytes == 32 * 8 * 4
    assert change.is_chosen and change.gain >= change.least_gain > 0


def test_a_staged_tile_takes_what_lies_between_the_bounds(case):
    launch = Launch((N // 32, N // 8), (32, 8), SQUARE)
    (change,) = code_changes(case(COLUMNS, launch, "sass"))
    staged = case(STAGED, launch, "sass")
    assert code_changes(staged) == ()
    after = Teg().predict(staged).time_s
    assert change.most_s is not None
    assert 0.95 * change.time_s <= after <= 1.05 * change.most_s, (change, after)


def test_two_changes_together_gain_more_than_either(case):
    """The first field of structures goes through a tile whose columns lie in one bank."""
    source = TILE.replace("= in[y * n + x]", "= in[8 * (y * n + x)]")
    square: dict[str, GivenArgument] = {"n": N, "in": kc.f32(8 * N * N), "out": kc.f32(N * N)}
    launch = Launch((N // 32, N // 32), (32, 32), square)
    found = case(source, launch, "sass", "#define PAD 0\n")
    changes = code_changes(found)
    kinds = {change.remedy.kind for change in changes}
    assert kinds == {RemedyKind.PADDING, RemedyKind.LAYOUT}
    together_s = time_together(found, changes)
    assert together_s is not None
    assert together_s < min(change.time_s for change in changes)
    alone = time_together(found, changes[:1])
    assert alone == pytest.approx(changes[0].time_s, rel=1e-9)


def test_changes_that_do_not_fit_together_have_no_time(case):
    launch = Launch((N // 32, N // 8), (32, 8), SQUARE)
    found = case(COLUMNS, launch, "sass")
    (change,) = code_changes(found)
    assert time_together(found, [replace(change, shared_bytes=1 << 20)]) is None


def test_a_machine_that_cannot_be_simulated_gets_no_advice_on_code(case):
    found = case(COLUMNS, Launch((N // 32, N // 8), (32, 8), SQUARE), "sass")
    known = found.machine.quantities.items()
    quantities = {path: of for path, of in known if not path.startswith("latency.")}
    machine = replace(found.machine, quantities=quantities)
    assert code_changes(replace(found, machine=machine)) == ()


def tile(saved: float, size: int) -> CodeChange:
    remedy = Remedy(RemedyKind.STAGING, (0,), "a", 4096, 4)
    return CodeChange(remedy, (), 1.0, 1.0 - saved, size)


def test_the_best_choice_is_not_the_greedy_one():
    """The small one is worth most for each byte, but does not fit beside the large one."""
    small, large = tile(0.2, 10), tile(0.5, 95)
    assert fitting([small, large], 100) == (large,)
    many = [small, large, *(tile(0.0001, 1000) for _ in range(12))]
    assert fitting(many, 100) == (small,)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.floats(0.01, 0.5), st.integers(1, 50)), max_size=20), st.integers(0, 99)
)
def test_chosen_tiles_fit(items, room):
    tiles = [tile(*item) for item in items]
    chosen = fitting(tiles, room)
    assert sum(t.shared_bytes for t in chosen) <= room
    left = [t for t in tiles if not any(t is c for c in chosen)]
    free = room - sum(t.shared_bytes for t in chosen)
    assert all(t.shared_bytes > free for t in left)
