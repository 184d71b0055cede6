"""Traces written by hand: what they say, and what is wrong with those that are wrong."""

from pathlib import Path

import numpy as np
import pytest

from kernelcast import errors
from kernelcast.execution.trace import RecordKind, decode
from kernelcast.forecasting.traced import cases_of_traces
from kernelcast.ir import OpClass, Space
from kernelcast.isas.sass.early import early_instruction
from kernelcast.machines.loader import load_machine
from kernelcast.models import load_model
from kernelcast.traces.file import read_trace, write_trace
from kernelcast.traces.open import open_trace
from kernelcast.traces.written.expressions import Expression
from kernelcast.traces.written.reader import parse_written
from kernelcast.traces.written.stream import stored_trace

SUM = """\
# sums of columns
written trace 1
target sm_13
kernel sums
let rows = 4
let n = 64*rows
grid 2
block 64
registers 6
shared 256
array data f32 n
array out f32 128

code
start:
    S2R R0, SR_TID
    MVI R2, 0x0
row:
    GLD.U32 R1, global14[R0]   @ data + 4*(64*r + thread)
    FADD32 R2, R1, R2
    BRA C0.NE, row
last:
    GST.U32 global14[R0], R2   @ out + 4*(64*block + thread) when lane < 16
    EXIT

path
start
repeat r rows
    row
end
last
"""


def words_of(text, **numbers):
    return np.concatenate(list(stored_trace(parse_written(text, "sums", numbers)).words()))


def test_a_written_trace_is_what_its_text_says():
    trace = parse_written(SUM, "sums")
    assert [b.successors for b in trace.kernel.blocks] == [(1,), (2, 1), ()]
    assert trace.kernel.target == "sm_13"
    records = list(decode(words_of(SUM)))
    own = [r for r in records if (r.block, r.warp) == (1, 1)]
    path = [r.id for r in own if r.kind is RecordKind.BLOCK]
    assert path == [0, 1, 1, 1, 1, 2]
    loads = [r for r in own if r.kind is RecordKind.ADDRESSES and r.id == 2]
    data, out = (region.address for region in trace.regions)
    assert [r.addresses[3] - data for r in loads] == [4 * (64 * r + 35) for r in range(4)]
    (store,) = (r for r in own if r.id == 5 and r.kind is RecordKind.ADDRESSES)
    assert store.mask == 0xFFFF
    assert store.addresses[15] - out == 4 * (64 + 32 + 15)


def test_numbers_of_a_written_trace_can_be_given():
    assert len(words_of(SUM, rows=8)) - len(words_of(SUM)) == 2 * 2 * 4 * (1 + 33)
    with pytest.raises(errors.NotFoundError, match="number 'row'"):
        parse_written(SUM, "sums", {"row": 1})


def test_a_written_trace_comes_back_from_a_file(tmp_path: Path):
    trace = stored_trace(parse_written(SUM, "sums"))
    with write_trace(tmp_path / "sums.kct", trace.head, trace.maker) as writer:
        for words in trace.words():
            writer.consume(words)
    again = read_trace(tmp_path / "sums.kct")
    assert np.array_equal(np.concatenate(list(again.words())), words_of(SUM))
    before, after = trace.head.kernel.instructions, again.head.kernel.instructions
    assert [i.traits for i in after] == [i.traits for i in before]


def test_a_written_trace_is_recognised_and_forecast(tmp_path: Path):
    file = tmp_path / "anything"
    file.write_text(SUM)
    assert open_trace(file).maker == "written"
    (case,) = cases_of_traces(file, [load_machine("gtx-280")])
    assert case.profile.total.warp == 2 * 2 * (2 + 3 * 4 + 2)
    for name in ("volkov", "teg"):
        assert load_model(name).predict(case).cycles > 4 * 434


@pytest.mark.parametrize(
    "text, op_class, space, reads, writes",
    [
        ("FADD32 R4, R4, R2;", "fp32", None, ["R4", "R2"], ["R4"]),
        ("DFMA R2, R4, R6, R2", "fp64", None, ["R4", "R5", "R6", "R7", "R2", "R3"], ["R2", "R3"]),
        ("GLD.U64 R2, global14[R8]", "load", "global", ["R8"], ["R2", "R3"]),
        ("GST.U64 global14[R8], R2", "store", "global", ["R8", "R2", "R3"], []),
        ("MOV R3, g[A1+0x10]", "load", "shared", ["A1"], ["R3"]),
        ("FADD32 R2, g[A1+0xb], R2", "load", "shared", ["A1", "R2"], ["R2"]),
        ("@!C0.NE ISET.C1 o[0x7f], R1, R2", "compare", None, ["R1", "R2", "C0"], ["C1"]),
        ("BRA C0.NE, there", "branch", None, ["C0"], []),
    ],
)
def test_early_native_code(text, op_class, space, reads, writes):
    i = early_instruction(text, 0, "here")
    assert (i.op_class, i.space) == (op_class, space)
    assert sorted(r.name for r in i.reads) == sorted(reads)
    assert [r.name for r in i.writes] == writes


def test_arithmetic_on_shared_memory_is_a_load_that_computes():
    i = early_instruction("FADD32 R2, g[A1+0xb], R2", 0, "here")
    assert (i.space, i.access_bytes, i.traits.computes) == (Space.SHARED, 4, OpClass.FP32)
    assert early_instruction("MOV R2, g[A1+0xb]", 0, "here").traits.computes is None


def changed(old, new):
    assert old in SUM
    return SUM.replace(old, new, 1)


WRONG = {
    "an unknown operation": (changed("FADD32", "FADD33"), "sums:20: unknown operation 'FADD33'"),
    "an unknown label": (changed("C0.NE, row", "C0.NE, raw"), "sums:21: unknown label 'raw'"),
    "an unknown place": (
        changed("\n    row\nend", "\n    raw\nend"),
        "sums:29: unknown label 'raw'",
    ),
    "no address": (changed("  @ data + 4*(64*r + thread)", ""), "sums:19: GLD.U32 has no address"),
    "an unknown name": (changed("64*r +", "64*q +"), "sums:19: unknown name 'q'"),
    "an access outside": (
        changed("data + 4*(64*r", "data + 4*(65*r"),
        r"sums:19: .* lane 29 of warp 1, block 0: instruction 2 \(GLD.U32\) accesses 4 bytes there",
    ),
    "a path that the code forbids": (
        changed("start\nrepeat", "repeat"),
        "sums:28: the path contradicts the code: warp 0 of block 0 enters 'row' first; "
        "possible: start",
    ),
    "a jump that the code forbids": (
        changed("repeat r rows\n    row\nend\n", ""),
        r"warp 0 of block 0 enters 'last' from 'start', behind instruction 1 \(MVI\)",
    ),
    "a path without an end": (
        changed("end\nlast\n", "end\n"),
        r"warp 0 of block 0 ends from 'row', behind instruction 4 \(BRA\)",
    ),
    "a loop without an end": (changed("end\nlast", "last"), "an `end` is missing"),
    "an end of nothing": (changed("end\n", "end\nend\n"), "sums:31: `end` of nothing"),
    "a version to come": (changed("trace 1", "trace 2"), "sums:2: a written trace of version 2"),
    "another target": (changed("sm_13", "sm_90"), "sums:3: a listing for sm_90"),
    "no block": (changed("block 64\n", ""), "no line 'block'"),
    "a large block": (changed("block 64", "block 2048"), "sums:8: 2048 is out of range"),
    "a zero grid": (changed("grid 2", "grid 0"), "sums:7: 0 is out of range"),
    "code without an end": (changed("    EXIT\n", ""), "the code ends without EXIT"),
    "no expression": (changed("4*(64*r", "4*((64*r"), "is no expression"),
    "a call": (changed("let rows = 4", "let rows = open(4)"), "sums:5: 'open.4.' is no arithmetic"),
    "a wide shift": (changed("64*rows", "1 << 64"), "sums:6: '1 << 64' shifts too far"),
    "division by zero": (changed("64*rows", "1 // 0"), "sums:6: '1 // 0' cannot be computed"),
    "turns that differ": (changed("repeat r rows", "repeat r lane"), "differs between threads"),
    "too many turns": (
        changed("let n = 64*rows", "let n = 1 << 30").replace("r rows", "r 1 << 23"),
        "does more than",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_trace_is_one_clear_line(case):
    text, message = WRONG[case]
    with pytest.raises(errors.InputError, match=message) as found:
        words_of(text)
    assert "\n" not in str(found.value)


def test_expressions_are_computed_for_all_threads():
    names = {"lane": np.arange(32), "n": np.asarray(5)}
    value = Expression.read("(lane // 4 % 2)*n - (lane == 31) + (1 << 3)", "here").value(names)
    assert value.tolist() == [(k // 4 % 2) * 5 - (k == 31) + 8 for k in range(32)]
