"""The table of opcodes, and what it makes of an instruction's operands."""

from __future__ import annotations

import pytest
from tests.isas.sass.listings import listing

from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.dataflow import effects
from kernelcast.isas.sass.meaning import MEANINGS
from kernelcast.isas.sass.opcodes import Latency, MeaningStatus, coverage, opcode, opcode_table


def instruction(text: str):
    (found,) = parse_sass(listing(text)).function("k").instructions
    return found


def test_coverage_of_the_corpus(code, record_property):
    found = coverage(i for f in code.module.functions.values() for i in f.instructions)
    print(
        f"{code.target}: {found.total} instructions, {100 * found.known_share:.2f} % known, "
        f"{100 * found.proved_share:.2f} % proved; not proved: {dict(found.unsupported)}"
    )
    record_property("known_share", found.known_share)
    assert found.unknown == {}
    assert found.proved_share > 0.99


def test_an_unknown_opcode_is_named_and_counted():
    found = coverage([instruction("FROB R1, R2"), instruction("NOP")])
    assert (found.total, found.known, dict(found.unknown)) == (2, 1, {"FROB": 1})


def test_an_unsupported_opcode_is_known_but_not_proved():
    found = coverage([instruction("UTMAREDG.2D.ADD [UR8], [UR4]")])
    assert (found.known, found.proved, dict(found.unsupported)) == (1, 0, {"UTMAREDG": 1})


def test_the_table_is_whole():
    table = opcode_table()
    assert len(table) > 200
    assert sum(row.meaning is MeaningStatus.PROVED for row in table.values()) > 100


@pytest.mark.every_architecture
@pytest.mark.parametrize(
    ("target", "latency"),
    [("sm_80", Latency.SCOREBOARD), ("sm_90", Latency.FIXED), ("sm_90a", Latency.FIXED)],
)
def test_latency_may_depend_on_the_chip(target, latency):
    row = opcode("DFMA")
    assert row is not None and row.latency_on(target) is latency


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("IADD3 R0, P1, R2, R3, RZ", "R0 P1", "R2 R3"),
        ("IADD3.X R4, ~R5, R23, RZ, P0, !PT", "R4", "R5 R23 P0"),
        ("@!P2 IMAD.WIDE.U32 R2, P0, R4, 0x4, R6", "R2 R3 P0", "P2 R4 R6 R7"),
        ("IMAD.HI.U32 R9, R9, R13, R8", "R9", "R9 R13 R8 R9"),
        (
            "LDG.E.ENL2.256 R6, R16, desc[UR4][R2.64], 0x9d",
            "R6 R7 R16 R17 R18",
            "UR4 UR5 R2 R3",
        ),
        (
            "STG.E.ENL2.256 desc[UR4][R2.64], R8, R20",
            "",
            "UR4 UR5 R2 R3 R8 R9 R10 R11 R20 R21 R22 R23",
        ),
        ("TEX.LL RZ, R9, R8, R7, UR4, 0x0, 3D, 0x1", "R9", "R8 R9 R10 R7 UR4"),
        ("TEX.SCR.LL R6, R4, R4, R6, 0x0, 0x58, 3D", "R4 R5 R6 R7", "R4 R5 R6 R7"),
        ("TEX.SCR.B.LL RZ, R8, R10, R8, 2D, 0x9", "R8 R9", "R10 R11 R9 R8"),
        ("TLD.LZ RZ, R6, R5, UR4, 1D, 0x3", "R6 R7", "R5 UR4"),
        ("@!P1 SUST.D.BA.2D.64.STRONG.SM.TRAP [R10], R2, UR4", "", "P1 R10 R11 UR4 R2 R3"),
        ("ISETP.GE.AND P0, PT, R7, UR4, PT", "P0", "R7 UR4"),
        ("LOP3.LUT P1, RZ, R2, 0x1, RZ, 0xc0, !PT", "P1", "R2"),
        ("PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0", "P0", "P1 P2"),
        ("SEL R2, R3, 0x8, !P0", "R2", "R3 P0"),
        ("P2R R16, PR, RZ, 0x3", "R16", "P0 P1"),
        ("R2P PR, R16, 0x7f", "P0 P1 P2 P3 P4 P5 P6", "R16"),
        ("DFMA R8, R2, -R4, R6", "R8 R9", "R2 R3 R4 R5 R6 R7"),
        ("DSETP.GEU.AND P1, PT, R2, RZ, PT", "P1", "R2 R3"),
        ("F2F.F32.F64 R14, R16", "R14", "R16 R17"),
        ("F2F.F64.F32 R14, R16", "R14 R15", "R16"),
        ("I2F.F64.S64 R14, R18", "R14 R15", "R18 R19"),
        ("F2I.S64.F64.TRUNC R4, R6", "R4 R5", "R6 R7"),
        ("CS2R R4, SRZ", "R4 R5", ""),
        ("CS2R.32 R4, SR_CLOCKLO", "R4", ""),
        ("LDG.E.128.CONSTANT R4, desc[UR6][R2.64]", "R4 R5 R6 R7", "UR6 UR7 R2 R3"),
        ("LDS.64 R4, [R2.X4+UR5+0x8]", "R4 R5", "R2 UR5"),
        ("LDC.64 R6, c[0x3][R14+0x40]", "R6 R7", "R14"),
        ("LDG.E R0, [R2.U32+UR4]", "R0", "R2 UR4 UR5"),
        ("STG.E.64 desc[UR4][R2.64], R6", "", "UR4 UR5 R2 R3 R6 R7"),
        ("ATOMG.E.CAS.64 PT, R2, [R8], R4, R6", "R2 R3", "R8 R9 R4 R5 R6 R7"),
        ("SHFL.DOWN P0, R3, R6, 0x10, 0x1f", "P0 R3", "R6"),
        ("VOTE.ANY R5, PT, P1", "R5", "P1"),
        ("VOTE.ALL P0, P1", "P0", "P1"),
        ("HMMA.16816.F32 R8, R4, R2, R8", "R8 R9 R10 R11", "R4 R5 R6 R7 R2 R3 R8 R9 R10 R11"),
        ("RET.REL.NODEC R20 `(k)", "", "R20 R21"),
        ("FADD2 R4, R6.F32x2.HI_LO, R8.F32", "R4 R5", "R6 R7 R8"),
        ("BSSY B0, `(.L_x_1)", "B0", ""),
        ("MOV R1, RZ", "R1", ""),
    ],
)  # fmt: skip
def test_what_is_written_and_read(text, writes, reads):
    found = effects(instruction(text))
    assert " ".join(map(str, found.writes)) == writes
    assert " ".join(map(str, found.reads)) == reads


def test_what_counts_as_proved_has_a_meaning():
    proved = {name for name, row in opcode_table().items() if row.meaning is MeaningStatus.PROVED}
    assert proved <= set(MEANINGS)
    assert set(MEANINGS) <= set(opcode_table())
