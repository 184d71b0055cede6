"""The rule of the CUDA C Programming Guide, after Volkov 2016, section 4.8."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelcast.machines.loader import load_machine
from kernelcast.models.cuda_guide import CudaGuide, CudaGuideInputs, inputs_of_work, solve
from kernelcast.models.terms.mix import Mix, mix_work

TABLE_4_3 = {
    "8800-gtx": (16, 6.9),
    "gtx-280": (16, 6.8),
    "gtx-480": (32, 16),
    "gtx-680": (32, 38),
    "gtx-980": (64, 23),
}


def test_the_example_of_the_guide():
    """600 cycles, 4 cycles per instruction, 30 of them per load: about 5 warps, refined about 6."""
    inputs = CudaGuideInputs(n=1, waits=1, arithmetic=30, mem_lat=600, instruction_time=4)
    assert solve(inputs).warps_needed == 5
    assert solve(inputs, refined=True).warps_needed == pytest.approx(600 / (4 * 31) + 1)


@pytest.mark.parametrize("name", TABLE_4_3)
def test_table_4_3_from_the_machine_files(name):
    alpha, printed = TABLE_4_3[name]
    inputs = inputs_of_work(mix_work(load_machine(name), Mix(alpha), 1))
    assert float(f"{float(solve(inputs).warps_needed):.2g}") == printed


@pytest.mark.parametrize("refined", [False, True])
def test_the_needed_warps_are_where_throughput_stops_growing(refined):
    inputs = CudaGuideInputs(n=1, waits=1, arithmetic=30, mem_lat=600, instruction_time=4)
    r = solve(inputs, refined=refined)
    needed = float(r.warps_needed)
    assert float(r.cycles_per_warp(needed)) == pytest.approx(float(r.busy))
    assert float(r.cycles_per_warp(0.9 * needed)) > float(r.busy)


def test_without_arithmetic_no_number_of_warps_suffices():
    inputs = inputs_of_work(mix_work(load_machine("gtx-680"), Mix(0), 8))
    assert solve(inputs).warps_needed == math.inf
    assert CudaGuide().warp_throughput(mix_work(load_machine("gtx-680"), Mix(0), 8)) == 8 / 301


def test_without_loads_none_are_needed():
    inputs = inputs_of_work(mix_work(load_machine("gtx-680"), Mix(np.inf), 8))
    assert solve(inputs).warps_needed == 0
