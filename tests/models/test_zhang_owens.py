"""Zhang & Owens 2011, as Volkov 2016 states it in section 7.3."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.errors import InputError
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.mix import Mix, mix_work
from kernelcast.models.zhang_owens import ThroughputTable, ZhangOwens, ZhangOwensInputs, solve

WARPS = np.arange(1, 33)
ALU = np.minimum(8.0, WARPS * 32 / 24)
MEM = np.minimum(0.89, WARPS * 32 / 434)


@pytest.mark.parametrize("alpha", [1, 4, 16, 64])
def test_throughput_is_the_smaller_of_two(alpha):
    """32 alpha / Time = min(alu(n), alpha mem(n)), and the harmonic sum without overlap."""
    solved = solve(ZhangOwensInputs(alpha, 1, ALU, MEM))
    np.testing.assert_allclose(32 * alpha / solved.time(), np.minimum(ALU, alpha * MEM))
    apart = 1 / (1 / ALU + 1 / (alpha * MEM))
    np.testing.assert_allclose(32 * alpha / solved.time(overlap=False), apart)


def test_modelled_tables_are_the_limits_of_gt200():
    work = mix_work(load_machine("gtx-280"), Mix(16), WARPS)
    inputs = ZhangOwens().inputs_of_work(work)
    np.testing.assert_allclose(inputs.alu, ALU)
    np.testing.assert_allclose(inputs.mem, np.minimum(32 * 0.02773, WARPS * 32 / 434), rtol=1e-4)


def test_measured_tables_take_the_place_of_modelled_ones():
    table = ThroughputTable(tuple(map(float, WARPS)), tuple(ALU / 2))
    work = mix_work(load_machine("gtx-280"), Mix(np.inf), WARPS)
    np.testing.assert_allclose(
        ZhangOwens(alu=table).warp_throughput(work), ZhangOwens().warp_throughput(work) / 2
    )


def test_a_table_answers_between_its_entries_and_not_outside():
    table = ThroughputTable((2, 4), (1.0, 3.0))
    assert table.at(3.0) == 2.0
    with pytest.raises(InputError, match="outside the table"):
        table.at(5.0)


@pytest.mark.parametrize(
    ("warps", "rates"), [((), ()), ((1, 2), (1,)), ((2, 1), (1, 1)), ((1, 2), (1, 0))]
)
def test_tables_that_are_none(warps, rates):
    with pytest.raises(InputError):
        ThroughputTable(warps, rates)
