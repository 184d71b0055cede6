"""Baghsorkhi et al. 2010 on the 8800 GTX, as Volkov 2016 works it out in section 7.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.baghsorkhi import Baghsorkhi, BaghsorkhiInputs, solve
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.mix import Mix, mix_work

WARPS = np.arange(1, 25)


def g80(n, alpha: float) -> BaghsorkhiInputs:
    """The numbers of section 7.2, per repeating group."""
    return BaghsorkhiInputs(
        n=n,
        num_alu=alpha,
        num_mem=1.0,
        num_waits=1.0,
        num_sync=0.0,
        alu_latency=20.0,
        alu_issue=4.0,
        issue=4.0,
        mem_lat=444.0,
        cyc_mem=37.0,
        repeats=np.inf,
    )


@pytest.mark.parametrize("alpha", [0, 1, 8, 11, 32, 512])
def test_warp_latency_as_summarised(alpha):
    """max(37, x, 440 - (n - 2) x) with x = alpha max(4, 20 / n) + 4."""
    x = alpha * np.maximum(4, 20 / WARPS) + 4
    expected = np.maximum(np.maximum(37, x), 440 - (WARPS - 2) * x)
    np.testing.assert_allclose(solve(g80(WARPS, alpha)).warp_latency, expected)


def test_loads_alone_from_the_machine_file():
    """1 / max(448 - 4 n, 37) instructions per cycle: over 100 warps for the peak."""
    x = Baghsorkhi().warp_throughput(mix_work(load_machine("8800-gtx"), Mix(0), WARPS))
    np.testing.assert_allclose(x, 1 / np.maximum(448 - 4 * WARPS, 37))
    n = np.arange(1, 200)
    assert n[solve(g80(n, 0)).warp_latency <= 37][0] == 103


def test_additions_alone_are_exact():
    """alpha = infinity: max(4, 20 / n) cycles each, as measured."""
    x = Baghsorkhi().warp_throughput(mix_work(load_machine("8800-gtx"), Mix(np.inf), WARPS))
    np.testing.assert_allclose(x, 1 / np.maximum(4, 20 / WARPS))


def test_barriers_stop_warps_and_shorten_what_others_cover():
    free = solve(g80(8, 11))
    stopped = solve(BaghsorkhiInputs(**{**fields(g80(8, 11)), "num_sync": 1.0}))
    assert stopped.nbc_avg == pytest.approx(free.nbc_avg / 2)
    assert stopped.warp_latency > free.warp_latency


def fields(inputs: BaghsorkhiInputs) -> dict[str, Any]:
    return {name: getattr(inputs, name) for name in inputs.__slots__}


def test_once_through_a_short_warp_counts_the_stop_at_its_end():
    """Equation 5 with its 1: one memory instruction gives two stretches to run between stops."""
    short = BaghsorkhiInputs(**{**fields(g80(8, 11)), "repeats": 1.0})
    assert solve(short).nbc_avg == pytest.approx(solve(g80(8, 11)).nbc_avg / 2)


def test_stores_wait_for_nothing():
    waits = {**fields(g80(1, 0)), "num_waits": 0.0}
    assert solve(BaghsorkhiInputs(**waits)).warp_latency == 37


def test_bottleneck_of_one_warp_of_loads_is_their_latency(make_case):
    load = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("x",)}
    machine = load_machine("8800-gtx")
    case = make_case(machine, [{**load, "times": 500}], blocks=16, threads=32)
    p = Baghsorkhi().predict(case)
    assert p.bottleneck is Bottleneck.MEMORY_LATENCY
    assert p.cycles == pytest.approx(500 * 444, rel=0.05)
