"""Reading Accel-Sim's traces: code, blocks and counts out of lines; one clear line for errors."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
from tests.traces.machine_code import HEAD, stream

from kernelcast.errors import InputError
from kernelcast.execution.trace import RecordKind, TraceRecord, decode
from kernelcast.ir import Launch, Location, OpClass, Space
from kernelcast.profiling.profile import Count, Profile
from kernelcast.profiling.stored import builder_for, profile_of
from kernelcast.traces.accel_sim.export import export_trace
from kernelcast.traces.file import read_trace, write_trace
from kernelcast.traces.open import open_trace
from kernelcast.traces.recognise import is_trace

HEADER = """-kernel name = _Z4copyPfi
-kernel id = 7
-grid dim = (4,1,1)
-block dim = (64,1,1)
-shmem = 128
-nregs = 10
-binary version = 70
-cuda stream id = 0
-shmem base_addr = 0x00007f2a00000000
-local mem base_addr = 0x00007f2a01000000
-nvbit version = 1.5.5
-accelsim tracer version = 4
-enable lineinfo = 0

#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] ...

"""
# Lanes 0-3 take one way (0x50), the others the other (0x70); they meet at 0x90.
BRANCHING = """
#BEGIN_TB

thread block = 2,0,0

warp = 0
insts = 12
0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 0
0010 ffffffff 1 R4 LDG.E.64.SYS 1 R2 8 1 0x7f2b00000000 8 0
0020 ffffffff 0 ISETP.GE.AND 2 R4 R5 0 0
0030 ffffffff 0 BSSY 0 0 0
0040 0000000f 0 BRA 0 0 0
0070 fffffff0 1 R8 LDS.U 1 R255 4 1 0x7f2a00000010 4 0
0080 fffffff0 0 BSYNC 0 0 0
0050 0000000f 1 R8 DADD 2 R4 R6 0 0
0060 0000000f 0 BRA 0 0 0
0090 00000000 0 STG.E.SYS 2 R2 R8 4 1 0x0 0 0
00a0 ffffffff 0 ST.E.U16.SYS 2 R2 R8 2 0 {scattered} 0
00b0 ffffffff 0 EXIT 0 0 0

warp = 1
insts = 0

#END_TB
""".format(scattered=" ".join(f"{0x7F2B00800000 + 6 * lane:#x}" for lane in range(32)))


def file(folder: Path, text: str, name: str = "kernel-7.traceg") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def imported(tmp_path):
    return open_trace(file(tmp_path, HEADER + BRANCHING))


def test_the_head_becomes_kernel_and_launch(imported):
    head = imported.head
    assert imported.maker == "Accel-Sim"
    assert (head.kernel.name, head.kernel.label) == ("_Z4copyPfi", "copy")
    assert (head.kernel.isa, head.kernel.target) == ("sass", "sm_70")
    assert head.launch == Launch((4, 1, 1), (64, 1, 1))
    assert head.blocks == (2,)
    resources = head.kernel.resources
    assert (resources.registers, resources.static_shared_bytes) == (10, 128)


def test_lines_become_instructions(imported):
    by_pc = {i.code_offset: i for i in imported.head.kernel.instructions}
    assert [*by_pc] == [16 * n for n in range(12)]
    load, shared, double, store, generic = (by_pc[pc] for pc in (0x10, 0x70, 0x50, 0x90, 0xA0))
    assert (load.name, load.op_class, load.space) == ("LDG.E.64.SYS", OpClass.LOAD, Space.GLOBAL)
    assert load.access_bytes == 8
    assert [r.name for r in load.writes] == ["R4", "R5"]
    assert [r.name for r in load.reads] == [r.name for r in load.address_reads] == ["R2"]
    assert (shared.space, shared.access_bytes, shared.reads) == (Space.SHARED, 4, ())
    assert double.op_class is OpClass.FP64
    assert [r.name for r in double.writes] == ["R8", "R9"]
    assert (store.op_class, store.writes) == (OpClass.STORE, ())
    assert (generic.space, generic.access_bytes) == (Space.GENERIC, 2)
    assert by_pc[0].reads == ()  # RZ


def test_blocks_follow_from_what_was_executed(imported):
    kernel = imported.head.kernel
    assert [(b.start, b.end, b.successors) for b in kernel.blocks] == [
        (0, 5, (1, 2)),
        (5, 7, (3,)),
        (7, 9, (3,)),
        (9, 12, ()),
    ]


def test_words_say_what_the_lines_said(imported):
    records = [r for chunk in imported.words() for r in decode(chunk)]
    accesses = {r.id: r for r in records if r.kind is not RecordKind.BLOCK}
    entered = [(r.id, r.mask) for r in records if r.kind is RecordKind.BLOCK]
    blocks = imported.head.kernel.blocks
    assert [(blocks[b].start, mask) for b, mask in entered] == [
        (0, 0xFFFF_FFFF),
        (7, 0xFFFF_FFF0),
        (5, 0x0000_000F),
        (9, 0xFFFF_FFFF),
    ]
    assert accesses[1] == TraceRecord(
        2, 0, RecordKind.AFFINE, 1, 0xFFFF_FFFF, tuple(0x7F2B_0000_0000 + 8 * n for n in range(32))
    )
    assert accesses[7].addresses[4:] == tuple(0x10 + 4 * n for n in range(28))  # an offset
    assert 9 not in accesses  # no lane stored
    assert accesses[10].addresses == tuple(0x7F2B_0080_0000 + 6 * n for n in range(32))


def test_the_profile_of_an_imported_trace(imported):
    found = profile_of(imported)
    assert found.sample.scale == 4
    assert found.counts[OpClass.LOAD] == Count(4 * 2, 4 * (32 + 28))
    assert found.counts[OpClass.FP64] == Count(4, 4 * 4)
    assert found.total.warp == 4 * 12
    assert found.divergent_branches == 4
    by_space = {a.space: a for a in found.accesses if a.op_class is OpClass.LOAD}
    assert by_space[Space.GLOBAL].sectors == 4 * 8
    assert by_space[Space.SHARED].passes == 4
    stored = next(a for a in found.accesses if a.op_class is OpClass.STORE)
    assert (stored.space, stored.sectors) == (Space.GLOBAL, 4 * 6)


def test_arrays_are_what_was_touched(imported):
    assert [(r.label, r.address, r.size_bytes) for r in imported.head.regions] == [
        ("0x7f2b00000000", 0x7F2B_0000_0000, 256),
        ("0x7f2b00800000", 0x7F2B_0080_0000, 6 * 31 + 2),
    ]


def test_arrays_are_what_was_copied_where_a_list_says_so(tmp_path):
    file(tmp_path, HEADER + BRANCHING)
    copies = "MemcpyHtoD,0x00007f2b00000000,64\nMemcpyHtoD,0x00007f2b00800000,4096\n"
    trace = open_trace(file(tmp_path, copies + "kernel-7.traceg\n", "kernelslist.g"))
    assert [(r.address, r.size_bytes) for r in trace.head.regions] == [
        (0x7F2B_0000_0000, 64),
        (0x7F2B_0000_0080, 128),  # touched, and in no copy
        (0x7F2B_0080_0000, 4096),
    ]
    assert profile_of(trace).total == profile_of(open_trace(tmp_path / "kernel-7.traceg")).total


def test_a_list_of_several_launches_needs_a_choice(tmp_path):
    file(tmp_path, HEADER + BRANCHING)
    file(tmp_path, HEADER.replace("copy", "last") + BRANCHING, "kernel-8.traceg")
    path = file(tmp_path, "kernel-7.traceg\nkernel-8.traceg\n", "kernelslist.g")
    assert is_trace(path)
    with pytest.raises(InputError, match="2 launches; choose one with --launch"):
        open_trace(path)
    assert open_trace(path, 2).head.kernel.label == "last"
    with pytest.raises(InputError, match="no launch 3; it lists 2"):
        open_trace(path, 3)


def test_a_trace_alone_is_the_first_launch(tmp_path, imported):
    path = tmp_path / "kernel-7.traceg"
    assert open_trace(path, 1).head == imported.head
    with pytest.raises(InputError, match="no launch 2; it holds 1"):
        open_trace(path, 2)


def test_a_folder_is_its_list(tmp_path, imported):
    assert not is_trace(tmp_path)
    file(tmp_path, "kernel-7.traceg\n", "kernelslist.g")
    assert is_trace(tmp_path)
    assert open_trace(tmp_path).head == imported.head


def test_packed_text_is_unpacked(tmp_path, imported):
    path = tmp_path / "kernel-7.traceg.xz"
    path.write_bytes(lzma.compress((HEADER + BRANCHING).encode()))
    assert is_trace(path)
    assert open_trace(path).head == imported.head


def test_older_and_annotated_lines_are_read(tmp_path, imported):
    old = HEADER.replace("version = 4", "version = 2")
    lines = (HEADER + BRANCHING).replace("lineinfo = 0", "lineinfo = 1")
    plain = [line for line in BRANCHING.splitlines() if " R" in line or line.endswith(" 0 0")]
    older, annotated = old + BRANCHING, lines
    for line in plain:
        older = older.replace(f"\n{line}", f"\n2 0 0 0 {line}")
        annotated = annotated.replace(f"\n{line}", f"\n33 {line}")
    assert open_trace(file(tmp_path, older, "old.traceg")).head == imported.head
    trace = open_trace(file(tmp_path, annotated, "lines.traceg"))
    assert {i.location for i in trace.head.kernel.instructions} == {Location("source", 33)}
    assert profile_of(trace).total == profile_of(imported).total


def test_an_opcode_nobody_knows_is_counted_as_other_with_a_warning(tmp_path):
    text = (HEADER + BRANCHING).replace("DADD", "XYZZY")
    found = profile_of(open_trace(file(tmp_path, text)))
    assert found.counts[OpClass.OTHER].warp == 4
    assert found.kernel.warnings == ("opcodes not known, counted as other: XYZZY",)


def test_a_copy_to_shared_memory_counts_as_the_load_that_it_is(tmp_path):
    text = (HEADER + BRANCHING).replace("LDG.E.64.SYS", "LDGSTS.E.BYPASS.128")
    by_pc = {i.code_offset: i for i in open_trace(file(tmp_path, text)).head.kernel.instructions}
    copy = by_pc[0x10]
    assert (copy.op_class, copy.space, copy.access_bytes) == (OpClass.LOAD, Space.GLOBAL, 16)


def counted(profile: Profile) -> dict[str, object]:
    """All counts that do not depend on names of arrays or on constant memory."""
    return {
        "instructions": profile.instruction_warps.tolist(),
        "threads": profile.instruction_threads.tolist(),
        "counts": profile.counts,
        "accesses": [
            (
                a.instruction,
                a.space,
                a.access_bytes,
                a.requests,
                a.lanes,
                a.sectors,
                a.lines,
                a.passes,
            )
            for a in profile.accesses
        ],
        "footprints": [
            (f.size_bytes, f.block_sectors, f.requested_sectors, f.written)
            for f in profile.footprints
        ],
        "branches": profile.branches,
        "divergent": profile.divergent_branches,
        "path": profile.warp.blocks.tolist(),
    }


def test_what_is_exported_is_imported_with_the_same_counts(tmp_path):
    with export_trace(tmp_path / "t", HEAD) as writer:
        writer.consume(stream())
    builder = builder_for(HEAD, is_observed=True)  # lanes are written as they stand in a record
    builder.consume(stream())
    back = open_trace(tmp_path / "t" / "kernelslist.g")
    assert back.head.blocks == HEAD.blocks
    assert counted(profile_of(back)) == counted(builder.finish())


def test_an_imported_trace_is_kept_as_any_other(tmp_path, imported):
    path = tmp_path / "x.kct"
    with write_trace(path, imported.head, imported.maker) as writer:
        for words in imported.words():
            writer.consume(words)
    kept = read_trace(path)
    assert kept.head == imported.head
    again = np.concatenate([*kept.words()])
    assert again.tolist() == np.concatenate([*imported.words()]).tolist()


def test_imported_traces_are_exported_again_as_they_were(tmp_path):
    with export_trace(tmp_path / "one", HEAD) as writer:
        writer.consume(stream())
    back = open_trace(tmp_path / "one" / "kernelslist.g")
    with export_trace(tmp_path / "two", back.head) as writer:
        for words in back.words():
            writer.consume(words)
    one, two = (
        [
            line.split()[:-1]  # immediates are not kept
            for line in (tmp_path / name / "kernel-1.traceg").read_text().splitlines()[16:]
        ]
        for name in ("one", "two")
    )
    assert one == two


WHOLE = HEADER + BRANCHING


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (WHOLE[: WHOLE.index("00b0")], "cut short"),
        (WHOLE[: WHOLE.index("#END_TB")], "cut short"),
        (HEADER, "cut short"),
        (HEADER.partition("-binary")[0], "its head does not say the binary version"),
        (WHOLE.replace("(4,1,1)", "(4,1)"), "its head cannot be read: .* no extent"),
        (WHOLE.replace("(64,1,1)", "(4096,1,1)"), "no launch is"),
        (WHOLE.replace("-nregs = 10", "nonsense"), "7.traceg:6: not a line of the head"),
        (WHOLE.replace("insts = 12", "insts = 11"), "an instruction more than its warp has"),
        (WHOLE.replace("insts = 12", "insts = 13"), "a warp before the one before it is complete"),
        (WHOLE.replace("insts = 12", "insts ="), "a number is missing"),
        (WHOLE.replace("warp = 1", "warp = 2"), "warp 2, which the block has not"),
        (WHOLE.replace("= 2,0,0", "= 4,0,0"), "a block outside the grid"),
        (WHOLE.replace("= 2,0,0", "= 2"), "not a block"),
        (WHOLE.replace("0020 ffffffff", "0020"), "not an instruction as"),
        (WHOLE.replace(" 8 1 0x7f2b00000000 8 0", " 8 1"), "not an instruction as"),
        (WHOLE.replace("0x7f2b00000000 8", "0xff2b00000000ffff 8"), "not an instruction as"),
        (
            WHOLE.replace("00b0 ffffffff 0 EXIT", "00a0 ffffffff 0 EXIT"),
            "EXIT where ST.E.U16.SYS stood",
        ),
    ],
)
def test_what_is_no_trace_is_told_in_one_line(tmp_path, text, told):
    with pytest.raises(InputError, match=told) as error:
        profile_of(open_trace(file(tmp_path, text)))
    assert "\n" not in str(error.value)
    assert "kernel-7.traceg" in str(error.value)


def test_packed_text_that_is_cut_short_is_told(tmp_path):
    packed = lzma.compress((HEADER + BRANCHING * 1).encode())
    for length in (len(packed) // 2, len(packed) - 3):
        path = tmp_path / f"{length}.traceg.xz"
        path.write_bytes(packed[:length])
        with pytest.raises(
            InputError, match=r"traceg\.xz: (the trace is damaged or cut short|not a)"
        ):
            open_trace(path)


def test_a_listed_trace_that_is_absent_is_told(tmp_path):
    with pytest.raises(InputError, match=r"kernel-9\.traceg: cannot be read: No such file"):
        open_trace(file(tmp_path, "kernel-9.traceg\n", "kernelslist.g"))
