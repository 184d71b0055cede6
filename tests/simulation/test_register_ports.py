"""Registers of one bank are read one in a cycle, within the three cycles of an instruction.

R. Huerta et al.: Analyzing Modern NVIDIA GPU cores. MICRO 2025, section 5.3 and Listing 1.
"""

from __future__ import annotations

import pytest
from tests.simulation.straight_code import ALL_THERE, played, straight_code

from kernelcast.simulation import layout

COUNT = 60


def bubbles(reads, count=COUNT, others=None, hardware=ALL_THERE):
    """Cycles for which instructions issued later than one in a cycle."""
    code = straight_code(count, reads=reads, reads_after_others=others or reads)
    found = played(code, hardware)
    return found.cycles - (count + 1)


@pytest.mark.parametrize(
    ("reads", "each"),
    [((3, 0), 2), ((0, 3), 2), ((2, 0), 1), ((2, 1), 1), ((1, 1), 0), ((0, 0), 0)],
)
def test_further_registers_of_one_bank_take_a_cycle_each(reads, each):
    """FFMA with three in one bank 2, FMUL with two 1, spread out none; the first ones fit."""
    assert bubbles(reads) == pytest.approx(COUNT * each, abs=3)


@pytest.mark.parametrize(("second", "cycles"), [((1, 2), 0), ((2, 1), 1), ((3, 0), 2)])
def test_two_instructions_of_listing_1(second, cycles):
    """FFMA R11, R10, R12, R14; FFMA R13, R16, RX, RY: 5, 6 and 7 cycles between the clocks."""
    reads = [(0, 0), (3, 0), second, (0, 0)]
    assert bubbles(reads, count=len(reads)) == cycles


def test_what_is_kept_is_not_read_again_until_another_warp_comes_between():
    assert bubbles((1, 1), others=(3, 0)) == 0
    # Two warps of one scheduler, each of which has to wait after its own instruction.
    code = straight_code(COUNT, reads=(1, 1), reads_after_others=(3, 0), stall=2)
    found = played(code, ALL_THERE, warps=5)
    assert found.stalls[:, layout.DISPATCH].sum() > 0


def test_a_machine_without_the_number_reads_all_at_once():
    assert bubbles((3, 0), hardware={**ALL_THERE, "read_cycles": 0.0}) == 0


@pytest.mark.parametrize(("reads", "interval"), [((1, 1), 2), ((2, 0), 2), ((3, 0), 3)])
def test_a_pipe_of_half_the_width_hides_a_second_register_but_no_third(reads, interval):
    """As on Turing, where FP32 instructions issue every other cycle."""
    code = straight_code(COUNT, reads=reads, reads_after_others=reads, interval=2)
    found = played(code, ALL_THERE)
    assert found.cycles == pytest.approx(COUNT * interval, abs=3)


def test_stall_counts_stand_still_while_registers_are_read():
    """Two warps of DFMA on an H100, one behind the other: 9 cycles each time, not the 8 of one."""
    code = straight_code(COUNT, reads=(3, 3), reads_after_others=(3, 3), stall=8, interval=2)
    alone, two = (played(code, ALL_THERE, warps=warps).cycles for warps in (1, 5))
    assert alone == pytest.approx(8 * COUNT, abs=3)
    assert two == pytest.approx(9 * COUNT, abs=8)


def test_an_instruction_may_begin_to_read_while_the_one_before_still_does():
    """FFMA with two registers of a bank, then one that has most of them kept, waits for nothing."""
    hardware = {**ALL_THERE, "read_cycles": 2.0}
    pair = straight_code(2, reads=[(2, 1), (1, 0)], reads_after_others=[(2, 1), (2, 1)])
    assert played(pair, hardware).stalls[:, layout.DISPATCH].sum() == 0
    same = straight_code(2, reads=[(2, 1), (2, 1)], reads_after_others=[(2, 1), (2, 1)])
    assert played(same, hardware).stalls[:, layout.DISPATCH].sum() == 1
