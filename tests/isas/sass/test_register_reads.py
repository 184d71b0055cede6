"""Registers that instructions read from each bank: R. Huerta et al., MICRO 2025, section 5.3."""

from __future__ import annotations

import pytest
from tests.isas.sass.listings import listing

from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.register_reads import register_reads


def reads(*lines, target="sm_86"):
    function = parse_sass(listing(*lines)).function("k")
    return list(register_reads(function.instructions, target))


def from_register_file(*lines):
    return [found.after_own for found in reads(*lines)]


@pytest.mark.parametrize(
    ("text", "banks"),
    [
        ("FFMA R1, R2, R4, R6", (3, 0)),
        ("FFMA R1, R2, R5, R7", (1, 2)),
        ("FMUL R1, R3, R5", (0, 2)),
        ("FADD R2, R3, 1.5", (0, 1)),
        ("FFMA R1, R2, c[0x0][0x160], RZ", (1, 0)),
        ("MOV R1, c[0x0][0x28]", ()),
        ("@P0 IADD3 R1, P1, R2, R4, RZ", (2, 0)),
        ("ISETP.GE.AND P0, PT, R4, R6, PT", (2, 0)),
        # The addend is a pair, which lies in both banks.
        ("IMAD.WIDE R2, R4, R6, R8", (3, 1)),
        # These read when the banks are free.
        ("LDG.E R4, [R2.64]", ()),
        ("MUFU.RCP R4, R2", ()),
    ],
)
def test_the_lowest_bit_of_its_number_names_a_registers_bank(text, banks):
    assert from_register_file(text) == [banks]


def test_what_is_marked_is_kept_for_the_next_instruction_alone():
    """Example 1 of Listing 4."""
    assert from_register_file(
        "IADD3 R1, R2.reuse, R3, R4",
        "FFMA R5, R2, R7, R8",
        "IADD3 R10, R2, R12, R13",
    ) == [(2, 1), (1, 1), (2, 1)]


def test_what_is_marked_again_is_kept_again():
    """Example 2."""
    found = from_register_file(
        "IADD3 R1, R2.reuse, R3, R4",
        "FFMA R5, R2.reuse, R7, R8",
        "IADD3 R10, R2, R12, R13",
    )
    assert found == [(2, 1), (1, 1), (1, 1)]


def test_each_slot_of_each_bank_keeps_its_own():
    """Example 3: R2 is in another slot, and R7 of another bank leaves it where it is."""
    found = from_register_file(
        "IADD3 R1, R2.reuse, R3, R4",
        "FFMA R5, R7, R2, R8",
        "IADD3 R10, R2, R12, R13",
    )
    assert found == [(2, 1), (2, 1), (1, 1)]


def test_another_register_of_the_bank_in_its_slot_takes_it_away():
    """Example 4."""
    found = from_register_file(
        "IADD3 R1, R2.reuse, R3, R4",
        "FFMA R5, R4, R7, R8",
        "IADD3 R10, R2, R12, R13",
    )
    assert found == [(2, 1), (2, 1), (2, 1)]


def test_behind_another_warp_nothing_is_kept():
    *_, last = reads("FFMA R1, R2.reuse, R4.reuse, R6", "FFMA R3, R2, R4, R8")
    assert (last.after_own, last.after_others) == ((1, 0), (3, 0))


def test_a_register_in_two_slots_is_read_once():
    """F2FP of one register and HADD2, in turns, take 2.05 cycles together on an H100, not 3."""
    assert from_register_file("F2FP.F16.F32.PACK_AB R5, R4, R4") == [(1, 0)]


def test_the_addend_of_a_double_product_is_read_though_it_is_kept():
    """Chains of DFMA on an H100: 2.5 cycles with every other one marked so, not 2."""
    found = reads("DFMA R12, R8.reuse, R12, R10.reuse", "DFMA R14, R8, R14, R10", target="sm_90")
    assert [one.after_own for one in found] == [(3, 3), (2, 2)]
