"""Writing Accel-Sim's format: every line as its tracer would have written it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.profiling.synthetic_traces import enter, warp, words
from tests.traces.machine_code import HEAD, KERNEL, instruction, kernel, stream

from kernelcast.errors import ExecutionError, InputError, UnsupportedError
from kernelcast.ir import BasicBlock, Launch
from kernelcast.traces.accel_sim.export import export_trace
from kernelcast.traces.accel_sim.line import line_of
from kernelcast.traces.accel_sim.simulator import binary_version, opcodes_known
from kernelcast.traces.stored import TraceHead


def exported(folder: Path, head: TraceHead = HEAD, parts=None) -> str:
    with export_trace(folder, head) as writer:
        for part in [stream(head.blocks)] if parts is None else parts:
            writer.consume(part)
    return (folder / "kernel-1.traceg").read_text()


def test_the_head_says_what_was_launched(tmp_path):
    lines = exported(tmp_path / "t").splitlines()
    assert lines[:13] == [
        "-kernel name = _Z3sumPf",
        "-kernel id = 1",
        "-grid dim = (2,2,1)",
        "-block dim = (48,1,1)",
        "-shmem = 576",
        "-nregs = 24",
        "-binary version = 80",
        "-cuda stream id = 0",
        "-shmem base_addr = 0x0000000100000000",
        "-local mem base_addr = 0x0000000200000000",
        "-nvbit version = none",
        "-accelsim tracer version = 6",
        "-enable lineinfo = 0",
    ]
    assert lines[14].startswith("#traces format = ")


def test_the_list_names_the_arrays_of_the_launch_and_the_trace(tmp_path):
    exported(tmp_path / "t")
    assert (tmp_path / "t" / "kernelslist.g").read_text().splitlines() == [
        "MemcpyHtoD,0x0000001000000000,65536",  # not the table: the module's load brings it
        "kernel-1.traceg",
    ]


def test_a_warp_is_written_instruction_by_instruction(tmp_path):
    text = exported(tmp_path / "t")
    assert text.count("#BEGIN_TB") == text.count("#END_TB") == 4
    block = text[text.index("#BEGIN_TB") : text.index("#END_TB")]
    assert block.splitlines()[:5] == ["#BEGIN_TB", "", "thread block = 0,0,0", "", "warp = 0"]
    warp = block[block.index("warp = 1") :].splitlines()
    base = 0x1000000000
    assert [line.rstrip() for line in warp if line] == [
        "warp = 1",
        "insts = 13",
        "0000 0000ffff 1 R1 LDC 0 0 0",  # constant memory has no addresses there
        "0010 0000ffff 1 R2 IMAD.WIDE 2 R0 R4 0 4",  # the first register of a pair
        f"0020 0000ffff 1 R6 LDG.E.64 1 R2 8 1 {base:#x} 8 0",
        "0030 00005555 0 STS 2 R8 R6 4 2 0x4 8 8 8 8 8 8 8 0",  # active lanes with gaps
        "0040 0000ffff 1 R9 FADD 2 R6 R9 0 0",
        "0050 0000000f 0 BRA 0 0 0",  # those that go back
        f"0020 0000000f 1 R6 LDG.E.64 1 R2 8 2 {base:#x} 64 192 320 0",
        "0030 00000000 0 STS 2 R8 R6 4 1 0x0 0 0",  # switched off by its guard
        "0040 0000000f 1 R9 FADD 2 R6 R9 0 0",
        "0050 00000000 0 BRA 0 0 0",
        "0060 0000ffff 1 R9 LD.E 1 R2 4 1 0x100000010 4 0",
        "0070 0000ffff 1 R8 MOV 0 0 -16",
        "0080 0000ffff 0 EXIT 0 0 0",
    ]


def test_the_pc_is_where_the_code_stands(tmp_path):
    moved = replace(
        KERNEL,
        instructions=tuple(
            replace(i, code_offset=0x100 + 32 * i.index) for i in KERNEL.instructions
        ),
    )
    text = exported(tmp_path / "t", replace(HEAD, kernel=moved))
    assert "\n0100 ffffffff 1 R1 LDC 0 0 0\n0120 ffffffff 1 R2 IMAD.WIDE" in text


def test_the_parts_of_one_instruction_are_written_once(tmp_path):
    at = {3: 0x20}  # as where a copy is a load and a store
    copied = replace(
        KERNEL,
        instructions=tuple(
            replace(i, code_offset=at.get(i.index, 16 * i.index)) for i in KERNEL.instructions
        ),
    )
    text = exported(tmp_path / "t", replace(HEAD, kernel=copied))
    assert "STS" not in text
    assert "insts = 11\n" in text


def test_the_cut_of_the_stream_does_not_matter(tmp_path):
    all_words = stream()
    whole = exported(tmp_path / "one", HEAD, [all_words])
    cut = [all_words[:2], all_words[2:4], all_words[4:]]
    assert exported(tmp_path / "two", HEAD, cut) == whole


def test_a_sample_is_a_grid_of_its_own(tmp_path):
    text = exported(tmp_path / "t", replace(HEAD, blocks=(1, 3)))
    assert "-grid dim = (2,1,1)" in text
    assert [line for line in text.splitlines() if line.startswith("thread")] == [
        "thread block = 0,0,0",
        "thread block = 1,0,0",
    ]


def early() -> TraceHead:
    """A kernel where two lanes end under a guard, and the others later."""
    code = kernel(
        [
            instruction("ISETP.GE.AND P0, PT, R0, 0x5, PT"),
            instruction("EXIT", guard="P0"),
            instruction("MOV R1, R2"),
            instruction("EXIT"),
        ],
        [BasicBlock(0, 0, 2, (1,)), BasicBlock(1, 2, 4, ())],
    )
    return TraceHead(code, Launch((1, 1, 1), (8, 1, 1)), (0,), ())


def test_every_lane_ends_once(tmp_path):
    # Accel-Sim counts the lanes that EXIT; one that ends twice stops it.
    text = exported(tmp_path / "t", early(), [words(warp(0, 0), enter(0, 0xFF), enter(1, 0x3F))])
    assert "\n0010 000000c0 0 EXIT 0 0 0\n" in text
    assert "\n0030 0000003f 0 EXIT 0 0 0\n" in text
    assert "\n0020 0000003f 1 R1 MOV 1 R2 0 0\n" in text


@pytest.mark.parametrize(
    ("text", "target", "line"),
    [
        ("BAR.SYNC.DEFER_BLOCKING 0x1, 0x40", "sm_90", "0 BAR.SYNC.DEFER_BLOCKING 0 0 1 64"),
        ("DEPBAR.LE SB0, 0x2", "sm_80", "0 DEPBAR.LE 0 0 2"),
        ("IADD3 R1, R2, -0x10, RZ", "sm_80", "1 R1 IADD3 2 R2 R255 0 -16"),
        # Behind the sources of products by warp groups stands whether they close a group.
        (
            "HGMMA.64x8x16.F32 R24, gdesc[UR4], R24, gsb0",
            "sm_90",
            "1 R24 HGMMA.64x8x16.F32 1 R24 1 0 0",
        ),
        ("HGMMA.64x8x16.F32 R24, gdesc[UR4], R24", "sm_90", "1 R24 HGMMA.64x8x16.F32 1 R24 0 0 0"),
        # Way 4 of a bulk copy: a base and differences, here of no address.
        ("UBLKCP.S.G [UR8], [UR4], UR6", "sm_90", "0 UBLKCP.S.G 0 0 0x0 0 0 0 4 0x0 0 0"),
    ],
)
def test_lines_with_words_of_their_own(text, target, line):
    written = line_of(instruction(text), binary_version(target)).without_addresses(0xF)
    assert written == f"0000 0000000f {line}\n"


@pytest.mark.parametrize(
    ("text", "target", "name"),
    [
        ("REDG.E.ADD.STRONG.GPU [R2], R4", "sm_80", "RED.E.ADD.STRONG.GPU"),
        ("LDCU.64 UR4, c[0x0][0x358]", "sm_120", "ULDC.64"),
        ("UFADD UR4, UR5, UR6", "sm_100", "UMOV"),  # of the same unit
        ("QMMA.16832.F32 R4, R8, R6, R4", "sm_89", "HMMA.16832.F32"),
        ("ENDCOLLECTIVE B0", "sm_90", "NOP"),
        ("VIADD R1, R2, 0x1", "sm_90", "VIADD"),
    ],
)
def test_opcodes_that_accel_sim_does_not_know_are_written_as_others(text, target, name):
    written = line_of(instruction(text), binary_version(target)).registers
    assert name in written.split()


@pytest.mark.every_architecture
@pytest.mark.parametrize(
    ("target", "version"),
    [("sm_70", 70), ("sm_75", 75), ("sm_86", 86), ("sm_89", 86), ("sm_90a", 90), ("sm_121", 90)],
)
def test_the_binary_version_is_one_that_accel_sim_knows(target, version):
    assert binary_version(target) == version
    assert opcodes_known(version) >= {"LDG", "EXIT", "BAR"}


def test_what_was_changed_is_said_with_its_count(tmp_path):
    code = kernel(
        [
            instruction("LDCU UR4, c[0x0][0x358]"),
            instruction("SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R2], RZ"),
            instruction("EXIT"),
        ],
        [BasicBlock(0, 0, 3, ())],
    )
    head = TraceHead(replace(code, target="sm_100"), Launch((4, 1, 1), (64, 1, 1)), (1, 2), ())
    said: list[str] = []
    with export_trace(tmp_path / "t", head, said.append) as writer:
        writer.consume(words(*(r for b in (1, 2) for w in (0, 1) for r in (warp(b, w), enter(0)))))
    assert said == [
        "2 of 4 blocks were traced; they are written as a grid of their own",
        "Accel-Sim has no sm_100; the trace is written as one of sm_90",
        "4 warp instructions are written as others, since Accel-Sim does not know them: "
        "LDCU as ULDC",
        "Accel-Sim will stop at 4 warp instructions, which need values that the trace does not "
        "hold: SYNCS",
    ]


def test_only_machine_code_is_written(tmp_path):
    head = replace(HEAD, kernel=replace(KERNEL, isa="ptx"))
    with pytest.raises(UnsupportedError, match=r"machine code, this one is of PTX; .*--format own"):
        exported(tmp_path / "t", head)
    assert not [*tmp_path.iterdir()]


def test_what_is_there_already_is_kept(tmp_path):
    exported(tmp_path / "t")
    with pytest.raises(InputError, match=r"is there already; name a new folder"):
        exported(tmp_path / "t")


def test_what_goes_wrong_leaves_nothing(tmp_path):
    with pytest.raises(ExecutionError), export_trace(tmp_path / "t", HEAD) as writer:
        writer.consume(stream())
        raise ExecutionError("the kernel went wrong")
    with pytest.raises(InputError, match="2 blocks of the trace are missing"):
        exported(tmp_path / "t", HEAD, [stream((0, 1))])
    with pytest.raises(InputError, match="block 0 is not of this trace, or comes in parts"):
        exported(tmp_path / "t", HEAD, [stream((0, 1, 0, 2, 3))])
    assert not [*tmp_path.iterdir()]
