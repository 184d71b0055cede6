"""What a load from global memory takes of the L1 cache: by hand, and beside what chips took."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelcast import api
from kernelcast.hierarchy.l1_cache import load_cycles
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import Array, Kernel, Launch, OpClass, Space
from kernelcast.machines.machine import Machine
from kernelcast.measurements.gpu_benches import Strided, read_table
from kernelcast.models.terms.base import Bottleneck, Case
from kernelcast.models.terms.throughput import worksheet
from kernelcast.profiling.profile import AccessProfile

TABLES = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/RRZE-HPC+gpu-benches/gpu-strides"
)
SOURCE = """
template <typename T>
__global__ void rows(const T *from, T *to, int row, int step, int pitch)
{
    const T *at = from + threadIdx.x % row * step + (threadIdx.x / row % 32 + 1) * pitch;
    T sum = 0;
    for (int i = 0; i < 32; i += 8)
        sum += at[i] * at[i + 4];
    to[threadIdx.x] = sum;
}
"""
THREADS = 1024
TYPES = {"float": "f32", "double": "f64"}
PITCH = 4098
"""Words from a row to the next in gpu-strides."""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kernel]:
    file = tmp_path_factory.mktemp("l1") / "rows.cu"
    file.write_text(SOURCE)
    return {word: api.load(file, kernel=f"rows<{word}>") for word in TYPES}


def loads(kernels: dict[str, Kernel], row: Strided) -> list[AccessProfile]:
    """The accesses of a warp that gpu-strides measured: eight loads, four words from each other."""
    if row.shape == "block":
        width, step, pitch = row.stride, 1, PITCH
    else:
        width, step, pitch = 64, row.stride, 0
    element = TYPES[row.word]
    words = 64 * step + 33 * pitch + 32
    args = {"from": Array(element, (words,)), "to": Array(element, (THREADS,))}
    sizes = {"row": width, "step": step, "pitch": pitch}
    case = api.case(kernels[row.word], Launch((1, 1, 1), (THREADS, 1, 1), args={**args, **sizes}))
    accesses = case.profile.accesses
    return [a for a in accesses if a.space is Space.GLOBAL and a.op_class is OpClass.LOAD]


def cycles_per_load(machine: Machine, accesses: list[AccessProfile]) -> float:
    cycles = [load_cycles(machine, access) for access in accesses]
    return sum(c for c in cycles if c is not None) / sum(a.requests for a in accesses)


@pytest.mark.parametrize(("gpu", "table"), [("a100-sxm-40gb", "a100"), ("a40", "a40")])
def test_loads_take_the_cycles_that_gpu_strides_measured(gpu, table, kernels):
    file = TABLES / f"{table}.txt"
    if not file.exists():
        pytest.skip("no tables of gpu-benches")
    machine = api.machine(gpu)
    errors = {}
    for row in read_table(str(file)).rows:
        assert isinstance(row, Strided)
        predicted = cycles_per_load(machine, loads(kernels, row))
        if row.word == "double":  # a fused multiply-add for every other load keeps its units busy
            predicted = max(predicted, 32 / machine.number("throughput.fp64", "this test") / 2)
        errors[row.word, row.shape, row.stride] = abs(predicted / row.cycles_per_load - 1)
    assert len(errors) == 144
    assert max(errors.values()) < 0.12, max(errors, key=lambda of: errors[of])
    assert sorted(errors.values())[136] < 0.06


def load(**sums: Any) -> AccessProfile:
    """One request of 32 lanes that ask for 4 bytes each."""
    known = AccessProfile(0, OpClass.LOAD, Space.GLOBAL, 4, None, requests=1, lanes=32)
    return replace(known, **sums)


@pytest.mark.parametrize(
    ("passes", "tag_passes", "a100", "a40", "rtx_2060"),
    [
        (1, 1, 128 / 126, 2, 2),  # a row of 32 words: the way back to the registers
        (2, 1, 2, 2, 4),  # two rows of 16 words whose banks overlap
        (4, 2, 4, 4, 8),  # four rows of 8
        (1, 5, 5, 5, 5),  # 16 pairs of words, side by side in the banks: their 16 lines
        (2, 9, 9, 9, 9),  # 32 words of 32 lines
        (32, 8, 32, 32, 32),  # a column: all in one bank, where each lane takes a cycle
    ],
)
def test_the_slowest_of_three_stages_counts(passes, tag_passes, a100, a40, rtx_2060):
    one = load(passes=passes, tag_passes=tag_passes)
    gpus = ("a100-sxm-40gb", "a40", "rtx-2060")
    found = [load_cycles(api.machine(gpu), one) for gpu in gpus]
    assert found == pytest.approx([a100, a40, rtx_2060])


def test_wide_loads_take_the_way_back_to_the_registers_in_turns():
    # 16 bytes a lane: four quarters of a warp, each a row of banks; the A40 returns 64 bytes.
    wide = load(access_bytes=16, passes=4, tag_passes=1)
    assert load_cycles(api.machine("a100-sxm-40gb"), wide) == pytest.approx(512 / 126)
    assert load_cycles(api.machine("a40"), wide) == 8


def test_a_product_of_matrices_with_blocks_of_16_by_16_takes_three_cycles_a_load_on_turing(
    make_case,
):
    # Half a warp reads one word of A, the other half that of the next row, in the same bank; of B
    # both read one row. Two passes and one, of two cycles each.
    read = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "access_bytes": 4}
    of_a = {"sectors": 2, "lines": 2, "passes": 2, "ideal_passes": 1, "tag_passes": 1}
    of_b = {"sectors": 2, "lines": 1, "passes": 1, "ideal_passes": 1, "tag_passes": 1}
    case = make_case(api.machine("rtx-2060"), [{**read, "access": of_a}, {**read, "access": of_b}])
    assert l1_cycles(case) == pytest.approx(2 * 3.0)


def test_stores_are_charged_by_the_sectors_that_pass_through(make_case):
    store = {"op_class": OpClass.STORE, "space": Space.GLOBAL, "access_bytes": 4}
    case = make_case(api.machine("a40"), [{**store, "access": {"sectors": 32}}])
    assert l1_cycles(case) == pytest.approx(32 * 32 / 64)


def test_before_volta_sectors_are_what_counts(make_case, set_numbers):
    # The L1 cache is none of shared memory's, and nobody has measured its tags.
    machine = set_numbers(api.machine("gtx-980"), {"l1.bandwidth": 64})
    assert load_cycles(machine, load(passes=2, tag_passes=9)) is None
    read = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "access_bytes": 4}
    case = make_case(machine, [{**read, "access": {"sectors": 8, "passes": 2, "tag_passes": 9}}])
    assert l1_cycles(case) == 8 * 32 / 64


@pytest.mark.parametrize("path", ["l1.tags", "l1.bandwidth", "shared.bandwidth"])
def test_without_one_of_the_rates_the_cycles_are_not_told(path, set_numbers):
    machine = set_numbers(api.machine("a40"), {path: None})
    assert load_cycles(machine, load(passes=2, tag_passes=1)) is None


def l1_cycles(case: Case) -> float:
    """Cycles of the L1 cache for a mean warp, by the worksheet."""
    uses = worksheet(case, Estimate.CENTRAL, "this test").uses
    (cycles,) = (u.cycles_per_warp for u in uses if u.resource is Bottleneck.L1_BANDWIDTH)
    return cycles
