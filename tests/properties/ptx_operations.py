"""The instructions that random kernels are made of, by the registers they write and read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

POOLS = {
    # pool: register type, number of registers, element type of the array it is stored to
    "r": ("b32", 5, "u32"),
    "l": ("b64", 4, "u64"),
    "h": ("b16", 3, "u16"),
    "f": ("f32", 4, "f32"),
    "d": ("f64", 3, "f64"),
    "e": ("b16", 3, "f16"),
    "x": ("b32", 2, "f16"),
    "g": ("b16", 2, "bf16"),
    "y": ("b32", 2, "bf16"),
    "w": ("b64", 2, "f32"),
}
"""32, 64 and 16-bit integers; f32, f64, f16, f16x2, bf16, bf16x2, f32x2."""

WIDTHS = {"r": 32, "l": 64, "h": 16, "f": 32, "d": 64, "e": 16, "x": 32, "g": 16, "y": 32, "w": 64}


class Operation(NamedTuple):
    """An instruction's name, the pool it writes (`p`: predicates), those it reads, and the first
    architecture that has it, by NVIDIA's assembler.
    """

    name: str
    target: str
    sources: str
    since: int = 75


def _table(text: str) -> list[Operation]:
    """Lines `pools: names` or `pools@since: names`: the first pool is written, others are read."""
    rows = []
    for line in text.strip().splitlines():
        head, _, names = line.strip().partition(": ")
        pools, _, since = head.partition("@")
        rows += [
            Operation(name, pools[0], pools[1:], int(since or 75))
            for pattern in names.split()
            for name in _spelt_out(pattern)
        ]
    return list(dict.fromkeys(rows))


def _spelt_out(pattern: str) -> Iterator[str]:
    """`min.{u,s}32` is `min.u32` and `min.s32`."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        yield pattern
        return
    for word in found[1].split(","):
        yield from _spelt_out(pattern[: found.start()] + word + pattern[found.end() :])


def within(rows: list[Operation], pools: set[str]) -> list[Operation]:
    return [row for row in rows if {row.target, *row.sources} <= pools]


OPERATIONS = _table("""
    rrr: {add,sub,mul.lo,mul.hi,div,rem,min,max}.{u32,s32} {add,sub}.sat.s32 {and,or,xor}.b32
    rrr: shl.b32 shr.{u32,s32} mul24.{lo,hi}.{u32,s32} bmsk.{clamp,wrap}.b32
    rrr: szext.{wrap,clamp}.{u32,s32} set.{eq,ne,lt,le,gt,ge}.{u32,s32}.{u32,s32}
    rrr: set.{lo,ls,hi,hs}.u32.u32 cvt.pack.sat.{u16,s16}.s32
    rrr@90: {add,min,max}.{u16x2,s16x2}
    rrrr: mad.{lo,hi}.{u32,s32} mad24.{lo,hi}.{u32,s32} sad.{u32,s32}
    rrrr: dp4a.{u32,s32}.{u32,s32} dp2a.{lo,hi}.{u32,s32}.{u32,s32} shf.{l,r}.{wrap,clamp}.b32
    rrrr: bfe.{u32,s32} prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16} slct.{u32,s32}.s32
    rrrp: set.{lt,ne}.{and,or,xor}.{u32,s32}.{u32,s32}
    rrrr: cvt.pack.sat.{u8,s8}.s32.b32
    rrrrr: bfi.b32
    rr: {not,cnot}.b32 {neg,abs}.s32 {popc,clz,brev}.b32 bfind.{u32,s32} bfind.shiftamt.{u32,s32}
    rr: mov.b32 cvt{,.sat}.{u8,s8}.{u32,s32} cvt.{u32,s32}.{u8,s8} cvt.sat.{u32.s8,u32.s32,s32.u32}
    rr: cvt{,.sat}.{u16,s16}.s32 cvt.u32.u16
    rl: {popc,clz}.b64 bfind.{u64,s64} bfind.shiftamt.{u64,s64} cvt{,.sat}.{u8,s8,u32,s32}.{u64,s64}
    rll: set.{eq,lt,ge}.{u32,s32}.{u64,s64}
    lll: {add,sub,mul.lo,mul.hi,div,rem,min,max}.{u64,s64} {and,or,xor}.b64
    llr: shl.b64 shr.{u64,s64}
    lrr: mul.wide.{u32,s32}
    lrrl: mad.wide.{u32,s32}
    llll: mad.{lo,hi}.{u64,s64} sad.{u64,s64}
    lllr: slct.u64.s32
    llrr: bfe.{u64,s64}
    lllrr: bfi.b64
    ll: {not,cnot}.b64 {neg,abs}.s64 brev.b64 mov.b64 cvt.sat.{u64.s64,s64.u64}
    lr: cvt.{u64,s64}.{u8,s8,u32,s32} cvt.sat.u64.{s8,s32}
    lh: cvt.{u64,s64}.{u16,s16} cvt.sat.u64.s16
    hhh: {add,sub,mul.lo,mul.hi,div,rem,min,max}.{u16,s16} {and,or,xor}.b16
    hhr: shl.b16 shr.{u16,s16}
    hh: {not,cnot}.b16 {neg,abs}.s16 cvt.sat.{u16.s16,s16.u16}
    hr: cvt.{u16,s16}.{u8,s8,u32,s32} cvt.sat.{u16,s16}.{u32,s32} cvt.sat.u16.s8
    hl: cvt{,.sat}.{u16,s16}.{u64,s64}
    hhhh: mad.{lo,hi}.{u16,s16} sad.{u16,s16}
    hhhr: slct.b16.s32
    rhh: mul.wide.{u16,s16} set.{lt,ne}.u32.{u16,s16}
    rhhr: mad.wide.{u16,s16}
    rh: cvt{,.sat}.{u8,s8}.{u16,s16} cvt.{u32,s32}.{u16,s16} cvt.sat.u32.s16 cvt.u32.u8
    fff: {add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32 div{.rn,.rz,.rm,.rp}{,.ftz}.f32
    fff: {min,max}{,.ftz}.f32 set.{eq,ne,lt,geu,nan}{,.ftz}.f32.f32
    fff@80: {min,max}{,.ftz}.NaN.f32
    ffff: fma{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32 mad.rn.f32 slct{,.ftz}.f32.f32
    ffff@100: {min,max}{,.ftz}{,.NaN}.f32
    fffr: slct.f32.s32
    fffp: set.{lt,geu}.{and,or,xor}.f32.f32
    rrrf: slct{,.ftz}.u32.f32
    lllf: slct.b64.f32
    dddf: slct.f64.f32
    dddr: slct.f64.s32
    ff: {sqrt,rcp}{.rn,.rz,.rm,.rp}{,.ftz}.f32 {neg,abs}{,.ftz}.f32 mov.f32
    ff: cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f32.f32 cvt{,.ftz}.sat.f32.f32
    frr: set.{eq,lt,ge}.f32.{u32,s32}
    ddd: {add,sub,mul}{,.rn,.rz,.rm,.rp}.f64 div{.rn,.rz,.rm,.rp}.f64 {min,max}.f64
    dddd: fma{.rn,.rz,.rm,.rp}.f64
    dd: {sqrt,rcp}{.rn,.rz,.rm,.rp}.f64 {neg,abs}.f64
    dd: cvt{.rni,.rzi,.rmi,.rpi}{,.sat}.f64.f64 cvt.sat.f64.f64
    eee: {add,sub,mul}{,.rn}{,.sat}.f16 set.{lt,geu}.f16.f16
    eee@80: {min,max}{,.NaN}.f16
    eeee: fma.rn{,.sat}.f16
    ee: {neg,abs}.f16 cvt{.rni,.rzi,.rmi,.rpi}.f16.f16
    xxx: {add,sub,mul}{,.rn}{,.sat}.f16x2 set.{eq,lt,geu,nan}.f16x2.f16x2
    xxx@80: {min,max}{,.NaN}.f16x2
    xxxx: fma.rn{,.sat}.f16x2
    xx: {neg,abs}.f16x2
    rxx: set.{lt,neu}.u32.f16x2
    xff@80: cvt{.rn,.rz}.f16x2.f32
    ggg@80: {min,max}{,.NaN}.bf16
    ggg@90: {add,sub,mul}{,.rn}.bf16
    gggg@80: fma.rn.bf16
    gg@80: {neg,abs}.bf16
    yyy@80: {min,max}{,.NaN}.bf16x2
    yyy@90: {add,sub,mul}{,.rn}.bf16x2
    yyyy@80: fma.rn.bf16x2
    yy@80: {neg,abs}.bf16x2
    yff@80: cvt{.rn,.rz}.bf16x2.f32
    www@100: {add,sub,mul}.rn{,.ftz}.f32x2
    wwww@100: fma.rn{,.ftz}.f32x2
    fr: cvt{.rn,.rz,.rm,.rp}{,.sat}.f32.{u8,s8,u32,s32}
    fh: cvt{.rn,.rz,.rm,.rp}{,.sat}.f32.{u16,s16}
    fl: cvt{.rn,.rz,.rm,.rp}{,.sat}.f32.{u64,s64}
    fd: cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32.f64
    fe: cvt{,.ftz}{,.sat}.f32.f16
    fg@80: cvt.f32.bf16
    df: cvt{,.ftz}{,.sat}.f64.f32
    de: cvt{,.sat}.f64.f16
    dg@90: cvt.f64.bf16
    dr: cvt{.rn,.rz,.rm,.rp}{,.sat}.f64.{u8,s8,u32,s32}
    dh: cvt{.rn,.rz,.rm,.rp}{,.sat}.f64.{u16,s16}
    dl: cvt{.rn,.rz,.rm,.rp}{,.sat}.f64.{u64,s64}
    ef: cvt{.rn,.rn.ftz,.rz,.rm,.rp}{,.sat}.f16.f32
    er: cvt{.rn,.rz,.rm,.rp}{,.sat}.f16.{u8,s8,u32,s32}
    eh: cvt{.rn,.rz,.rm,.rp}.f16.{u16,s16}
    el: cvt{.rn,.rz,.rm,.rp}.f16.{u64,s64}
    ed: cvt.rn{,.sat}.f16.f64
    eg@90: cvt{.rn,.rz,.rm,.rp}.f16.bf16
    gf@80: cvt{.rn,.rz,.rm,.rp}.bf16.f32
    gr@90: cvt{.rn,.rz,.rm,.rp}.bf16.{u32,s32}
    gh@90: cvt{.rn,.rz,.rm,.rp}.bf16.{u16,s16}
    gl@90: cvt{.rn,.rz,.rm,.rp}.bf16.{u64,s64}
    ge@90: cvt{.rn,.rz,.rm,.rp}.bf16.f16
    gd@90: cvt.rn.bf16.f64
    rf: cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}.{u8,s8,u32,s32}.f32
    rd: cvt{.rni,.rzi,.rmi,.rpi}.{u8,s8,u32,s32}.f64
    re: cvt{.rni,.rzi,.rmi,.rpi}.{u8,s8,u32,s32}.f16
    rg@90: cvt{.rni,.rzi,.rmi,.rpi}.{u32,s32}.bf16
    lf: cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}.{u64,s64}.f32
    ld: cvt{.rni,.rzi,.rmi,.rpi}.{u64,s64}.f64
    le: cvt{.rni,.rzi,.rmi,.rpi}.{u64,s64}.f16
    lg@90: cvt{.rni,.rzi,.rmi,.rpi}.{u64,s64}.bf16
    hf: cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}.{u16,s16}.f32
    hd: cvt{.rni,.rzi,.rmi,.rpi}.{u16,s16}.f64
    he: cvt{.rni,.rzi,.rmi,.rpi}.{u16,s16}.f16
    hg@90: cvt{.rni,.rzi,.rmi,.rpi}.{u16,s16}.bf16
    rff: set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.{u32,s32}.f32
    rffp: set.{lt,geu}.{and,or,xor}.u32.f32
    rdd: set.{eq,lt,geu,nan}.u32.f64
    fdd: set.{ne,gt}.f32.f64
    ree: set.{lt,geu}.u32.f16
""")

PREDICATES = _table("""
    prr: setp.{eq,ne,lt,le,gt,ge}.{u32,s32} setp.{lo,ls,hi,hs}.u32
    pll: setp.{eq,ne,lt,le,gt,ge}.{u64,s64} setp.{lo,ls,hi,hs}.u64
    phh: setp.{eq,ne,lt,le,gt,ge}.{u16,s16} setp.{lo,ls,hi,hs}.u16
    pff: setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.f32
    pdd: setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f64
    pee: setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f16
    pgg@90: setp.{eq,lt,geu,nan}.bf16
    prrp: setp.{lt,ge,eq}.{and,or,xor}.{u32,s32}
    pllp: setp.{lt,ge,eq}.{and,or,xor}.{u64,s64}
    phhp: setp.{lt,ge}.{and,or}.s16
    pffp: setp.{lt,geu,nan}.{and,or,xor}{,.ftz}.f32
    pddp: setp.{lt,geu}.{and,or,xor}.f64
    peep: setp.{lt,geu}.{and,or,xor}.f16
    pf: testp.{finite,infinite,number,notanumber,normal,subnormal}.f32
    pd: testp.{finite,infinite,number,notanumber,normal,subnormal}.f64
    ppp: {and,or,xor}.pred
    pp: not.pred
""")

SELECTIONS = _table("""
    rrrp: selp.{b32,s32}
    lllp: selp.b64
    hhhp: selp.b16
    fffp: selp.f32
    dddp: selp.f64
    xxxp: selp.b32
    eeep: selp.b16
""")

APPROXIMATIONS = _table("""
    vf: {rcp,sqrt,rsqrt,sin,cos,lg2,ex2}.approx{,.ftz}.f32
    vff: div.{approx,full}{,.ftz}.f32
    vd: {rcp,rsqrt}.approx.ftz.f64 rsqrt.approx.f64
    zf: tanh.approx.f32
    ze: {ex2,tanh}.approx.f16
    zg@90: ex2.approx.ftz.bf16 tanh.approx.bf16
""")
"""Functions whose last bits PTX leaves open, by the type they are computed in: `v` holds results
good to about 16 bits, `z` to 6.
"""
WITHIN_EIGHT = ("sin", "cos", "ex2", "tanh")
"""Those that are good for arguments between -8 and 8; the others take 1e-4 to 1e4."""

SPECIAL = ("tid.x", "ntid.x", "ctaid.x", "nctaid.x", "laneid", "warpid", "lanemask_lt", "tid.y")
ATOMICS = ("add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32")
IMMEDIATES = (0, 1, 2, 5, 31, 32, 33, 255, -1, -128, 0x7FFFFFFF, -0x80000000)
FLOATS_32 = ("0f00000000", "0f3F800000", "0fBF000000", "0f7F800000", "0f00000001", "0f4B800001")
FLOATS_64 = ("0d3FF0000000000000", "0dC005BF0A8B145769", "0d0000000000000001")
