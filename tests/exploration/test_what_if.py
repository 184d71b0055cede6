"""What bottlenecks cost: launches with and without one beside each other, and pairs of removals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.kept import CACHE

import kernelcast as kc
from kernelcast.api import Build, CompileOptions
from kernelcast.errors import InputError, NotFoundError
from kernelcast.exploration.gains import Gain, Interplay
from kernelcast.exploration.what_if import _pair, read_removals, simulating_model
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.volkov import Volkov
from kernelcast.simulation.removals import MEANINGS, Removal

TRANSPOSE = Path(__file__).parents[2] / "examples" / "transpose.cu"

MATMUL = """
/* kernelcast
N = 512
[[launch]]
kernel = "matmul"
grid = ["N // 32", "N // 32"]
block = [32, 8]
args = { n = "N", A = "f32[N, N] random(1)", B = "f32[N, N] random(2)", C = "f32[N, N]" }
*/
#ifndef PAD
#define PAD 0
#endif
// C = A times B transposed: a warp reads 32 rows of b at one column.
extern "C" __global__ void matmul(int n, const float* A, const float* B, float* C) {
    __shared__ float a[32][32], b[32][32 + PAD];
    int x = threadIdx.x, y = threadIdx.y;
    float s[4] = {};
    for (int k = 0; k < n; k += 32) {
        for (int j = y; j < 32; j += 8) {
            a[j][x] = A[(blockIdx.y * 32 + j) * n + k + x];
            b[j][x] = B[(blockIdx.x * 32 + j) * n + k + x];
        }
        __syncthreads();
        for (int q = 0; q < 32; q++)
            for (int j = 0; j < 4; j++) s[j] += a[y + 8 * j][q] * b[x][q];
        __syncthreads();
    }
    for (int j = 0; j < 4; j++) C[(blockIdx.y * 32 + y + 8 * j) * n + blockIdx.x * 32 + x] = s[j];
}
"""

STRUCTURES = """
/* kernelcast
n = "1 << 18"
[[launch]]
kernel = "squares"
grid = "cdiv(n, 256)"
block = 256
args = { n = "n", from = "f32[16 * n] random(1)", to = "f32[n]" }
*/
#ifdef ARRAYS
#define AT(i, f) ((f) * n + (i))
#else
#define AT(i, f) (16 * (i) + (f))
#endif
#ifndef STEP
#define STEP 1
#endif
extern "C" __global__ void squares(int n, const float* from, float* to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int f = 0; f < 16; f += STEP) s += from[AT(i, f)] * from[AT(i, f)];
    to[i] = s;
}
"""

SIDES = """
/* kernelcast
n = "1 << 20"
[[launch]]
kernel = "sides"
grid = "cdiv(n, 256)"
block = 256
args = { n = "n", from = "f32[n] random(1)", to = "f32[n]" }
*/
#ifdef ALIGNED
#define SIDE (threadIdx.x >> 5 & 1)
#else
#define SIDE (threadIdx.x & 1)
#endif
extern "C" __global__ void sides(int n, const float* from, float* to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = from[i];
    if (SIDE) {
        for (int k = 0; k < 200; k++) x = x * 1.01f + 0.5f;
    } else {
        for (int k = 0; k < 200; k++) x = (x + 0.7f) * x;
    }
    to[i] = x;
}
"""

TRIPS = """
/* kernelcast
n = "1 << 18"
[[launch]]
kernel = "trips"
grid = "cdiv(n, 256)"
block = 256
args = { n = "n", from = "f32[n] random(1)", to = "f32[n]" }
*/
#ifdef ALIGNED
#define IS_LONG (threadIdx.x >> 7)
#else
#define IS_LONG (threadIdx.x & 1)
#endif
extern "C" __global__ void trips(int n, const float* from, float* to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = from[i];
    for (int k = 0; k < 50 + 150 * IS_LONG; k++) x = x * 1.01f + 0.5f;
    to[i] = x;
}
"""

GPUS = ("h100-sxm", "rtx-2080-ti")


def case_of(file: Path, gpu: str, *defines: str) -> kc.api.Case:
    build = Build(CompileOptions(defines), cache=CACHE)
    (case,) = kc.cases(kc.workload(file), [kc.machine(gpu)], build=build)
    return case


def times(file, gpu, removal, *defines, fix):
    """With the bottleneck, without it, and of the kernel that does not have it."""
    model, case = Teg(), case_of(file, gpu, *defines)
    return (
        model.predict(case).time_s,
        model.predict(case, frozenset([removal])).time_s,
        model.predict(case_of(file, gpu, *defines, fix)).time_s,
    )


# ------------------------------------------------- the kernel without it tells the gain


@pytest.mark.parametrize("gpu", GPUS)
def test_a_tile_without_padding_loses_what_padding_gains(gpu):
    conflicts, without, padded = times(TRANSPOSE, gpu, Removal.BANK_CONFLICTS, fix="PAD=1")
    assert conflicts > 1.5 * padded
    assert without == pytest.approx(padded, rel=0.1)


@pytest.mark.parametrize("gpu", GPUS)
def test_a_product_of_matrices_loses_what_padding_gains(gpu, tmp_path):
    file = tmp_path / "matmul.cu"
    file.write_text(MATMUL)
    conflicts, without, padded = times(file, gpu, Removal.BANK_CONFLICTS, fix="PAD=4")
    assert conflicts > 1.5 * padded
    assert without == pytest.approx(padded, rel=0.1)


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("step", [1, 4], ids=["all fields", "every fourth field"])
def test_an_array_of_structures_loses_what_arrays_gain(gpu, step, tmp_path):
    """Where all fields are used, the L1 cache keeps the lines from one field to the next."""
    file = tmp_path / "structures.cu"
    file.write_text(STRUCTURES)
    removal = Removal.UNCOALESCED_ACCESS
    structures, without, arrays = times(file, gpu, removal, f"STEP={step}", fix="ARRAYS")
    assert structures > 1.15 * arrays
    assert without == pytest.approx(arrays, rel=0.1)


@pytest.mark.parametrize("gpu", GPUS)
def test_lanes_that_part_lose_what_parted_warps_gain(gpu, tmp_path):
    file = tmp_path / "sides.cu"
    file.write_text(SIDES)
    lanes, without, warps = times(file, gpu, Removal.DIVERGENCE, fix="ALIGNED")
    assert lanes > 1.3 * warps
    assert without == pytest.approx(warps, rel=0.1)


@pytest.mark.parametrize("gpu", GPUS)
def test_loops_of_unequal_trips_lose_what_equal_ones_of_a_warp_gain(gpu, tmp_path):
    """Each sub-partition has as many warps of either kind, whose trips are equal."""
    file = tmp_path / "trips.cu"
    file.write_text(TRIPS)
    lanes, without, warps = times(file, gpu, Removal.DIVERGENCE, fix="ALIGNED")
    assert lanes > 1.15 * warps
    assert without == pytest.approx(warps, rel=0.1)


# ----------------------------------------------------------------- what the answer says


@pytest.fixture(scope="module")
def transposed() -> kc.api.Costs:
    names = ("bank-conflicts", "shared-memory-bandwidth", "l2-misses", "divergence")
    return kc.what_if(case_of(TRANSPOSE, "h100-sxm"), *names, pairs=True)


def test_gains_are_ranked_and_told_from_the_same_base(transposed):
    gains = [gain.gain_s for gain in transposed.gains]
    assert gains == sorted(gains, reverse=True)
    for gain in transposed.gains:
        assert gain.time_s + gain.gain_s == pytest.approx(transposed.base.time_s)


def test_what_the_launch_does_not_have_is_named(transposed):
    assert transposed.absent == (Removal.DIVERGENCE,)
    assert Removal.DIVERGENCE not in [gain.removed[0] for gain in transposed.gains]


def test_conflicts_and_the_banks_bandwidth_are_the_same_cycles(transposed):
    (pair,) = [p for p in transposed.pairs if Removal.L2_MISSES not in p.gain.removed]
    assert pair.relation is Interplay.SWALLOWS
    assert pair.gain.gain_s < pair.alone_s
    assert len(transposed.swallowed_by) == 1


def test_memory_matters_more_without_conflicts(transposed):
    hidden = [p for p in transposed.pairs if Removal.L2_MISSES in p.gain.removed]
    assert all(p.gain.gain_s > 1.1 * p.alone_s for p in hidden)


def test_several_can_be_removed_together():
    case = case_of(TRANSPOSE, "h100-sxm")
    found = kc.what_if(case, "bank-conflicts+l2-misses", "bank-conflicts")
    both, one = found.gains
    assert both.removed == (Removal.BANK_CONFLICTS, Removal.L2_MISSES)
    assert both.gain_s > one.gain_s


def test_what_another_order_of_warps_makes_is_no_gain():
    """Where rows of a tile share banks, blocks that begin a cycle later take another time; a pipe
    that is hardly used then seems to cost as much."""
    done: list[float] = []
    case = case_of(TRANSPOSE, "rtx-2080-ti")
    found = kc.what_if(case, "bank-conflicts", "fp32-pipe", progress=done.append)
    conflicts, pipe = found.gains
    assert 0.01 < found.noise < 0.1
    assert abs(pipe.gain_s) < found.noise * found.base.time_s < conflicts.gain_s
    assert done == sorted(done)
    assert done[-1] == 1
    steady = kc.what_if(case_of(TRANSPOSE.parent / "saxpy.cu", "rtx-2080-ti"), "tail")
    assert steady.noise == 0.01


@pytest.mark.parametrize(
    ("both_s", "relation"),
    [
        (5.05, Interplay.SWALLOWS),
        (6.0, Interplay.OVERLAPS),
        (6.95, Interplay.ADDS),
        (8.0, Interplay.HIDES),
    ],
)
def test_the_relation_of_two_removals_by_their_gains(both_s, relation):
    two = (Removal.BARRIERS, Removal.TAIL)
    alone = {Removal.BARRIERS: 5.0, Removal.TAIL: 2.0}
    gain = Gain(two, 10 - both_s, both_s, Bottleneck.TAIL)
    assert _pair(gain, alone, 0.1).relation is relation


# ------------------------------------------------------------------------- the removals


def test_every_removal_says_what_it_means():
    assert MEANINGS.keys() == set(Removal)


def test_limits_of_occupancy_are_lifted_one_by_one(tmp_path):
    case = case_of(TRANSPOSE, "h100-sxm")
    held = replace(case.kernel.resources, registers=128)
    full = replace(case, kernel=replace(case.kernel, resources=held))
    found = kc.what_if(full, "register-limit", "shared-memory-limit")
    assert found.absent == (Removal.SHARED_MEMORY_LIMIT,)
    (gain,) = found.gains
    assert gain.time_s == pytest.approx(Teg().predict(case).time_s, rel=0.02)


def test_an_unknown_removal_has_its_nearest_names():
    with pytest.raises(NotFoundError, match="did you mean barriers"):
        read_removals(["barier"])


@pytest.mark.parametrize("models", [[Volkov()], [Teg(), Teg(sms="1")]])
def test_one_simulation_is_asked_for(models):
    with pytest.raises(InputError, match="teg"):
        simulating_model(models)
