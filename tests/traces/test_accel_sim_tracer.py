"""Traces letter by letter as NVBit's tracer prints them and its post-processing groups them: every
version is read, and files of the tracer that are no such trace are told apart."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from kernelcast.errors import InputError
from kernelcast.ir import Launch, OpClass, Space
from kernelcast.profiling.profile import Count
from kernelcast.profiling.stored import profile_of
from kernelcast.traces.open import open_trace
from kernelcast.traces.recognise import is_trace


def head(version: int, binary: int = 80) -> str:
    return (
        "-kernel name = _Z6vecAddPdS_S_i\n"
        "-kernel id = 1\n"
        "-grid dim = (2,1,1)\n"
        "-block dim = (64,1,1)\n"
        "-shmem = 0\n"
        "-nregs = 12\n"
        f"-binary version = {binary}\n"
        "-cuda stream id = 0\n"
        "-shmem base_addr = 0x00007f63f4000000\n"
        "-local mem base_addr = 0x00007f63f2000000\n"
        "-nvbit version = 1.7.5\n"
        f"-accelsim tracer version = {version}\n"
        "-enable lineinfo = 0\n"
        "\n"
        "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] "
        "mem_width [adrrescompress?] [mem_addresses] immediate\n"
        "\n"
    )


def block(x: int, warps: list[list[str]], cluster: bool = True) -> str:
    text = f"\n#BEGIN_TB\n\nthread block = {x},0,0\n"
    if cluster:
        text += f"cluster id = {x},0,0\ncluster cta = 0,0,0\ncluster rank = 0\n"
    for number, lines in enumerate(warps):
        text += f"\nwarp = {number}\ninsts = {len(lines)}\n" + "".join(f"{n}\n" for n in lines)
    return text + "\n#END_TB\n"


def lines(warp: int, addresses: str) -> list[str]:
    """What a warp did; every word is followed by a space, as the tracer prints it."""
    return [
        "0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 0 ",
        f"0010 ffffffff 1 R4 LDG.E.64 1 R2 8 {addresses}0 ",
        "0020 0000ffff 0 BRA 0 0 80 ",
        "0030 ffff0000 1 R4 DADD 2 R4 R4 0 0 ",
        f"0040 ffffffff 0 STG.E.64 2 R2 R4 8 1 0x7f63c{warp}000400 8 0 ",
        "0050 ffffffff 0 EXIT 0 0 0 ",
    ]


def address_forms(base: int) -> tuple[str, str, str]:
    """The same 32 addresses, 8 bytes apart, as a stride, as differences and as a list."""
    return (
        f"1 {base:#x} 8 ",
        f"2 {base:#x} " + "8 " * 31,
        "0 " + "".join(f"0x{base + 8 * lane:016x} " for lane in range(32)),
    )


def folder(path: Path, text: str, name: str = "kernel-1.traceg") -> Path:
    (path / name).write_text(text)
    (path / "kernelslist.g").write_text(
        f"MemcpyHtoD,0x00007f63c0000000,1024\nMemcpyHtoD,0x00007f63c1000000,1024\n{name}\n"
    )
    return path / "kernelslist.g"


@pytest.mark.parametrize("form", range(3))
@pytest.mark.parametrize(("version", "cluster"), [(3, False), (4, False), (5, False), (5, True)])
def test_every_way_and_version_says_the_same(tmp_path, version, cluster, form):
    text = head(version) + "".join(
        block(
            x,
            [lines(w, address_forms(0x7F63_C000_0000 + 256 * w)[form]) for w in range(2)],
            cluster,
        )
        for x in range(2)
    )
    trace = open_trace(folder(tmp_path, text))
    assert trace.head.kernel.label == "vecAdd"
    assert trace.head.launch == Launch((2, 1, 1), (64, 1, 1))
    assert [(r.address, r.size_bytes) for r in trace.head.regions] == [
        (0x7F63_C000_0000, 1024),
        (0x7F63_C000_0400, 256),  # stored to, and in no copy
        (0x7F63_C100_0000, 1024),
        (0x7F63_C100_0400, 256),
    ]
    found = profile_of(trace)
    assert found.counts[OpClass.LOAD] == Count(4, 128)
    assert found.counts[OpClass.FP64].warp == 4
    assert {a.op_class: a.sectors for a in found.accesses} == {OpClass.LOAD: 32, OpClass.STORE: 32}


def test_numbers_of_block_and_warp_stand_before_old_lines(tmp_path):
    old = "".join(
        block(
            x,
            [[f"{x} 0 0 {w} {n}" for n in lines(w, address_forms(1 << 40)[0])] for w in range(2)],
            False,
        )
        for x in range(2)
    )
    found = profile_of(open_trace(folder(tmp_path, head(2) + old)))
    assert found.counts[OpClass.LOAD] == Count(4, 128)


def test_a_trace_of_a_context_is_found_packed(tmp_path):
    text = head(5) + block(0, [lines(0, address_forms(1 << 40)[0]), []])
    name = "kernel-1-ctx_0x6165bdd7ec90.traceg.xz"
    (tmp_path / name).write_bytes(lzma.compress(text.encode(), preset=1))
    (tmp_path / "kernelslist.g").write_text(f"{name}\n")
    assert is_trace(tmp_path / "kernelslist.g")
    assert open_trace(tmp_path / "kernelslist.g").head.blocks == (0,)


# Version 6 names registers of all kinds, and ends a line with two immediates and values.
HOPPER = [
    "0000 ffffffff 1 P0 ISETP.GE.AND 2 R0 UR4 0 0 0 NoVal ",
    "0010 ffffffff 1 UR8 ULEA 3 UR4 UR5 UP7 0 4 0 NoVal ",
    "0020 00000001 0 UTMALDG.2D 2 UR8 UR4 4096 1000 0 4096 0 4 0x7f63c0000000 2 2048 0 0 NoVal ",
    "0030 ffffffff 0 SYNCS.PHASECHK.TRANS64.TRYWAIT 2 R3 R2 8 1 0x400 0 0 0 Val 1 0 32 "
    + "1 " * 32,
    "0040 ffffffff 1 R24 HGMMA.64x128x16.F32 2 UR8 R24 1 0 0 0 NoVal ",
    "0050 ffffffff 0 BAR.SYNC.DEFER_BLOCKING 0 0 1 64 NoVal ",
    "0060 ffffffff 1 R4 LDG.E.128 2 R2 UR4 16 2 0x7f63c0000000 " + "16 " * 31 + "0 0 NoVal ",
    "0070 ffffffff 0 EXIT 0 0 0 0 NoVal ",
]


def test_registers_and_words_of_version_6_are_read(tmp_path):
    trace = open_trace(folder(tmp_path, head(6, 90) + block(0, [HOPPER, HOPPER])))
    by_pc = {i.code_offset: i for i in trace.head.kernel.instructions}
    assert [(r.name, r.type) for r in by_pc[0x00].writes] == [("P0", "pred")]
    assert [r.name for r in by_pc[0x00].reads] == ["R0", "UR4"]
    assert [r.name for r in by_pc[0x10].reads] == ["UR4", "UR5"]  # UP7 is always true
    assert [r.name for r in by_pc[0x60].writes] == ["R4", "R5", "R6", "R7"]
    assert by_pc[0x40].op_class is OpClass.TENSOR
    found = profile_of(trace)
    # Copies of tiles and waits for them have no addresses of lanes.
    assert [(a.space, a.sectors) for a in found.accesses] == [(Space.GLOBAL, 2 * 2 * 16)]
    assert found.total.warp == 2 * 2 * len(HOPPER)


def test_a_trace_that_is_not_grouped_by_blocks_is_told(tmp_path):
    raw = "".join(f"0 0 0 0 {line}\n" for line in lines(0, address_forms(1 << 40)[0]))
    (tmp_path / "kernel-1.trace").write_text(head(5) + raw)
    (tmp_path / "kernelslist").write_text("kernel-1.trace\n")
    for name in ("kernel-1.trace", "kernelslist"):
        assert is_trace(tmp_path / name)
        with pytest.raises(InputError, match=r"not grouped by blocks; .* post-traces-processing"):
            open_trace(tmp_path / name)


def test_a_binary_trace_is_told(tmp_path):
    path = tmp_path / "kernel-1.tracez"
    path.write_bytes(head(6).encode() + b"\0\x10\0\0\0\x28\xb5\x2f\xfd")
    assert is_trace(path)
    with pytest.raises(InputError, match=r"not text; unpack a \.tracez with .* traceDsm"):
        open_trace(path)
