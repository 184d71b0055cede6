"""Names taken apart, operands, reads and writes: PTX ISA 9.0, sections 4.5, 6 and 9.7."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcast.errors import ParseError, UnsupportedError
from kernelcast.ir import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Kernel,
    Negated,
    OpClass,
    Operand,
    Register,
    Space,
    SpecialRegister,
    Symbol,
    Vector,
)
from kernelcast.isas.ptx import unsupported_instructions
from kernelcast.isas.ptx.literals import literal
from kernelcast.isas.ptx.opcodes import form

Read = Callable[[str], Instruction]
Build = Callable[..., Kernel]


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("mov.u32 %r1, 42;", Immediate(42)),
        ("mov.u32 %r1, -42;", Immediate(-42)),
        ("mov.u32 %r1, 0x1fU;", Immediate(31)),
        ("mov.u32 %r1, 017;", Immediate(15)),
        ("mov.u32 %r1, 0b101;", Immediate(5)),
        ("mov.u32 %r1, WARP_SZ;", Immediate(32)),
        ("mov.u32 %r1, (1 << 4) + 0x2;", Immediate(18)),
        ("mov.u32 %r1, ~7;", Immediate(-8)),
        ("mov.f32 %f1, 0f3F800000;", Immediate(0x3F800000, "f32")),
        ("mov.f64 %fd1, 0d3FF0000000000000;", Immediate(0x3FF0000000000000, "f64")),
        ("mov.f64 %fd1, 0.5;", Immediate(0x3FE0000000000000, "f64")),
        ("mov.f32 %f1, 0.5;", Immediate(0x3F000000, "f32")),
        ("mov.f32 %f1, 0d3FE0000000000000;", Immediate(0x3F000000, "f32")),
        ("mov.u32 %r1, %tid.x;", SpecialRegister("tid.x")),
        ("mov.u32 %r1, %laneid;", SpecialRegister("laneid")),
        ("mov.u64 %rd1, %clock64;", SpecialRegister("clock64")),
        ("mov.u32 %r1, %envreg31;", SpecialRegister("envreg31")),
        ("mov.u32 %r1, %dynamic_smem_size;", SpecialRegister("dynamic_smem_size")),
        ("mov.u64 %rd1, array;", Symbol("array")),
        ("mov.u64 %rd1, array+8;", Symbol("array", 8)),
        ("mov.u64 %rd1, array-8;", Symbol("array", -8)),
        ("ld.global.u32 %r1, [%rd2];", Address(Register("rd2", "b64"), 0)),
        ("ld.global.u32 %r1, [%rd2+12];", Address(Register("rd2", "b64"), 12)),
        ("ld.global.u32 %r1, [ %rd2 + 0x10 ];", Address(Register("rd2", "b64"), 16)),
        ("ld.global.u32 %r1, [%rd2+-12];", Address(Register("rd2", "b64"), -12)),
        ("ld.global.u32 %r1, [%rd2-12];", Address(Register("rd2", "b64"), -12)),
        ("ld.global.u32 %r1, [array+4];", Address(Symbol("array"), 4)),
        ("ld.global.u32 %r1, [4096];", Address(None, 4096)),
        ("ld.param.u64 %rd1, [parameter+0];", Address(Symbol("parameter"), 0)),
        ("mov.b32 %r1, { %r2 };", Register("r2", "b32")),
        ("and.pred %p1, !%p2, %p3;", Negated(Register("p2", "pred"))),
    ],
)
def test_second_operand(one: Read, text: str, operand: Operand) -> None:
    assert one(text).operands[1] == operand


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("ld.global.v2.f32 {%f1, %f2}, [%rd1];", ("f1", "f2")),
        ("ld.global.v2.f32 {%f1,_}, [%rd1];", ("f1", None)),
        ("shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;", ("r1", "p1")),
        ("shfl.sync.down.b32 %r1 | %p1, %r2, 1, 31, -1;", ("r1", "p1")),
        ("setp.eq.s32 %p1|%p2, %r1, 0;", ("p1", "p2")),
        ("elect.sync _|%p1, -1;", (None, "p1")),
    ],
)
def test_pairs_and_vectors_are_written_element_by_element(
    one: Read, text: str, elements: tuple[str | None, ...]
) -> None:
    instruction = one(text)
    vector = instruction.operands[0]
    assert isinstance(vector, Vector)
    assert tuple(e and str(e) for e in vector.elements) == elements
    assert [r.name for r in instruction.writes] == [e for e in elements if e]


def test_vector_source_may_hold_literals(one: Read) -> None:
    instruction = one("st.global.v2.f32 [%rd1], {%f1, 0f00000000};")
    assert instruction.operands[1] == Vector((Register("f1", "f32"), Immediate(0, "f32")))
    assert [r.name for r in instruction.reads] == ["rd1", "f1"]


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("add.s32 %r1, %r2, %r3;", "r2 r3", "r1"),
        ("add.s32 %r1, %r1, 1;", "r1", "r1"),
        ("@%p1 add.s32 %r1, %r2, 1;", "p1 r2", "r1"),
        ("@!%p1 st.global.u32 [%rd1+4], %r2;", "p1 rd1 r2", ""),
        ("ld.global.u32 %r1, [%rd1];", "rd1", "r1"),
        ("atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", "rd1 r2 r3", "r1"),
        ("atom.global.add.u32 _, [%rd1], %r2;", "rd1 r2", ""),
        ("red.global.add.u32 [%rd1], %r2;", "rd1 r2", ""),
        ("selp.b32 %r1, %r2, %r3, %p1;", "r2 r3 p1", "r1"),
        ("xor.pred %p1, %p2, !%p3;", "p2 p3", "p1"),
        ("mov.b64 {%r1, %r2}, %rd1;", "rd1", "r1 r2"),
        ("mov.b64 %rd1, {%r1, %r2};", "r1 r2", "rd1"),
        ("bar.sync %r1, %r2;", "r1 r2", ""),
        ("barrier.sync.aligned %r1;", "r1", ""),
        ("bar.red.popc.u32 %r1, 0, %p1;", "p1", "r1"),
        ("barrier.cta.red.or.aligned.pred %p1, 0, !%p2;", "p2", "p1"),
        ("prefetch.global.L2 [%rd1];", "rd1", ""),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1];", "r1", "rd1"),
        ("mbarrier.init.shared.b64 [%r1], %r2;", "r1 r2", ""),
        ("st.async.shared::cluster.b32 [%r1], %r2, [%r3];", "r1 r2 r3", ""),
    ],
)
def test_reads_and_writes(one: Read, text: str, reads: str, writes: str) -> None:
    instruction = one(text)
    assert [r.name for r in instruction.reads] == reads.split()
    assert [r.name for r in instruction.writes] == writes.split()


def test_name_guard_and_line(one: Read) -> None:
    instruction = one(
        "@!%p3 ld.global.nc.L1::evict_last.L2::128B.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];"
    )
    assert instruction.opcode == "ld"
    assert instruction.modifiers == ("global", "nc", "L1::evict_last", "L2::128B", "v4", "f32")
    assert instruction.guard == Guard(Register("p3", "pred"), negated=True)
    assert (instruction.space, instruction.access_bytes) == (Space.GLOBAL, 16)
    assert instruction.line == 8


@pytest.mark.parametrize(
    ("name", "space", "access_bytes"),
    [
        ("ld.global.f32", Space.GLOBAL, 4),
        ("ld.u8", Space.GENERIC, 1),
        ("ld.volatile.shared.v2.f64", Space.SHARED, 16),
        ("ld.shared::cluster.b16", Space.SHARED, 2),
        ("ld.param::entry.b128", Space.PARAM, 16),
        ("ld.const.v4.u8", Space.CONST, 4),
        ("ld.acquire.gpu.global.L2::cache_hint.v8.b32", Space.GLOBAL, 32),
        ("st.local.b64", Space.LOCAL, 8),
        ("atom.relaxed.gpu.global.add.noftz.f16x2", Space.GLOBAL, 4),
        ("atom.global.v2.f32.add", None, 0),
        ("red.add.u64", Space.GENERIC, 8),
        ("add.s32", None, 0),
    ],
)
def test_space_and_width(name: str, space: Space | None, access_bytes: int) -> None:
    known = form(name)
    if name == "atom.global.v2.f32.add":  # the type stands last, or the name is wrong
        assert known is None
    else:
        assert known is not None
        assert (known.space, known.access_bytes) == (space, access_bytes)


@pytest.mark.parametrize(
    ("names", "op_class"),
    [
        ("add.s32 sub.u64 neg.s16 abs.s32 add.cc.u32 addc.u32 add.u16x2", OpClass.INT),
        (
            "mul.lo.s32 mad.wide.u32 madc.hi.cc.u32 mul24.lo.u32 sad.u32 dp4a.u32.u32",
            OpClass.INT_MUL,
        ),
        ("div.s32 rem.u64", OpClass.INT_MUL),
        ("add.f32 mul.rn.ftz.f32 fma.rn.f32 neg.f32 abs.ftz.f32 copysign.f32", OpClass.FP32),
        ("fma.rn.f32x2 add.f32.bf16", OpClass.FP32),
        ("add.f64 fma.rn.f64 div.rn.f64 sqrt.rn.f64 rcp.approx.ftz.f64 copysign.f64", OpClass.FP64),
        ("add.f16 fma.rn.relu.bf16x2 mul.rn.f16x2 neg.bf16", OpClass.FP16),
        ("rcp.rn.f32 rsqrt.approx.f32 sqrt.rn.f32 div.full.f32 sin.approx.f32", OpClass.SFU),
        ("ex2.approx.ftz.bf16x2 lg2.approx.f32 tanh.approx.f32", OpClass.SFU),
        ("and.b32 or.pred xor.b64 not.b16 cnot.b32 lop3.b32", OpClass.LOGIC),
        ("shl.b32 shr.s64 shf.l.wrap.b32", OpClass.SHIFT),
        ("bfe.u32 bfi.b64 prmt.b32.f4e fns.b32", OpClass.BITFIELD),
        ("brev.b32 popc.b64 clz.b32 bfind.s32", OpClass.BIT_COUNT),
        (
            "setp.lt.and.f32 set.eq.u32.f32 selp.f64 slct.s32.f32 min.s32 max.NaN.f16x2",
            OpClass.COMPARE,
        ),
        ("cvt.rn.f32.s32 cvt.rn.bf16x2.f32 cvt.pack.sat.u8.s32.b32", OpClass.CONVERT),
        ("mov.b64 cvta.to.global.u64 isspacep.shared", OpClass.MOVE),
        (
            "ld.global.f32 ldu.global.u32 ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            OpClass.LOAD,
        ),
        ("st.shared.u8 stmatrix.sync.aligned.m8n8.x4.shared.b16", OpClass.STORE),
        ("atom.shared.cas.b64 red.global.add.f32", OpClass.ATOMIC),
        ("shfl.sync.idx.b32 shfl.up.b32", OpClass.SHUFFLE),
        ("vote.sync.ballot.b32 activemask.b32", OpClass.VOTE),
        ("redux.sync.add.s32", OpClass.REDUCE),
        ("match.any.sync.b64", OpClass.MATCH),
        (
            "bar.sync bar.red.popc.u32 bar.arrive barrier.sync.aligned barrier.cta.red.and.pred",
            OpClass.BARRIER,
        ),
        ("membar.gl fence.acq_rel.gpu fence.proxy.async", OpClass.FENCE),
        ("bra.uni brx.idx.uni ret.uni exit trap call.uni", OpClass.BRANCH),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", OpClass.TENSOR),
        (
            "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 "
            "movmatrix.sync.aligned.m8n8.trans.b16",
            OpClass.TENSOR,
        ),
        ("tcgen05.mma.cta_group::1.kind::f16", OpClass.TENSOR),
        (
            "cp.async.commit_group cp.async.bulk.wait_group mbarrier.init.shared.b64",
            OpClass.ASYNC_COPY,
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 st.async.b32",
            OpClass.ASYNC_COPY,
        ),
        ("wgmma.fence.sync.aligned wgmma.wait_group.sync.aligned", OpClass.OTHER),
        ("prefetch.global.L2 nanosleep.u32 griddepcontrol.wait bar.warp.sync", OpClass.OTHER),
    ],
)
def test_op_classes(names: str, op_class: OpClass) -> None:
    for name in names.split():
        known = form(name)
        assert known is not None, name
        assert known.op_class is op_class, name


@pytest.mark.parametrize(
    "name",
    ["foo.bar.f32", "add", "add.q32", "ld.global", "istypep.texref", "barrier.grid.wait"],
)
def test_unknown_instruction_is_named_with_its_line(build: Build, name: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        build(f"add.s32 %r1, %r1, 1;\n{name} %r1, %r2;")
    assert str(caught.value) == f"test.ptx:9: instruction {name} is not supported"


def test_known_but_not_executable_instructions_are_listed(build: Build) -> None:
    kernel = build(
        "add.s32 %r1, %r1, 1;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;\n"
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];\n"
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};\n"
        "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};"
    )
    assert [(i.opcode, i.line) for i in unsupported_instructions(kernel)] == [
        ("cp", 9),
        ("mma", 12),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add.s32 %r1, %r2;", "expected 3 operands of add, found 2"),
        ("add.s32 %r1, %r2, %r3, %r4;", "expected 3 operands of add, found 4"),
        ("setp.lt.s32 %p1, %r2;", "expected 3 to 4 operands of setp, found 2"),
        ("add.s32 5, %r2, %r3;", "expected a register to write to, found 5"),
        ("ld.global.u32 %r1, %rd1;", "expected an address in brackets, found rd1"),
        ("st.global.u32 %r1, [%rd1];", "expected an address in brackets, found r1"),
        ("add.s32 %r1, %r2, %r99;", "unknown register '%r99'"),
        ("add.s32 %r1, %r2, nothing;", "unknown name 'nothing'"),
        ("add.s32 %r1, %r2, 3x;", "expected an operand, found '3x'"),
        ("add.s32 %r1, %r2, 08;", "expected an operand, found '08'"),
        ("add.s32 %r1,, %r2;", "expected an operand"),
        ("ld.global.u32 %r1, [%rd1+%r2];", "expected a constant offset, found '%r2'"),
        ("ld.global.u32 %r1, [1.0];", "expected an address, found '[1.0]'"),
        ("@%q1 add.s32 %r1, %r1, 1;", "unknown predicate '%q1'"),
        ("add.s32 %r1, %r2, %r3\nadd.s32 %r1, %r2, %r3;", "expected ',' or ';' after '%r3'"),
        ("bra nowhere;", "unknown label 'nowhere'"),
        ("brx.idx %r1, nowhere;", "expected an index and a table of labels"),
        (".nonsense 3;", "unknown directive '.nonsense'"),
        (".reg .q32 %x;", "unknown directive or type '.q32'"),
        (".reg .b32 3;", "expected a register name, found '3'"),
        (".shared .b8 tile[%r1];", "expected a number of elements, found '%r1'"),
    ],
)
def test_what_is_expected_is_said_with_the_line(one: Read, text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        one(text)
    assert str(caught.value) == f"test.ptx:8: {message}"


@settings(deadline=None)
@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_are_read_in_every_base(value: int) -> None:
    sign, digits = ("-", -value) if value < 0 else ("", value)
    for text in (f"{digits}", f"0x{digits:X}", f"0{digits:o}", f"0b{digits:b}", f"{digits}U"):
        assert literal(sign + text) == Immediate(value), text


@settings(deadline=None)
@given(st.floats(width=32, allow_nan=False))
def test_decimal_floats_are_rounded_to_the_instructions_type(value: float) -> None:
    text = f"{abs(value):.60e}" if abs(value) != float("inf") else "1.0e999"
    bits = literal(text)
    (expected,) = struct.unpack("<Q", struct.pack("<d", abs(value)))
    assert bits == Immediate(expected, "f64")
