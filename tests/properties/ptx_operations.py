"""The instructions that random kernels are made of, by the registers they write and read."""

from __future__ import annotations

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


def _table(text: str) -> list[tuple[str, str, str]]:
    """Lines `pools: names`: the first pool is written, the others are read."""
    rows = []
    for line in text.strip().splitlines():
        pools, _, names = line.strip().partition(": ")
        rows += [(name, pools[0], pools[1:]) for name in names.split()]
    return rows


def within(rows: list[tuple[str, str, str]], pools: set[str]) -> list[tuple[str, str, str]]:
    return [row for row in rows if {row[1], *row[2]} <= pools]


OPERATIONS = _table("""
    rrr: add.u32 sub.s32 mul.lo.s32 mul.hi.u32 mul.hi.s32 div.u32 div.s32 rem.u32 rem.s32
    rrr: min.u32 max.s32 and.b32 or.b32 xor.b32 shl.b32 shr.u32 shr.s32 add.sat.s32 sub.sat.s32
    rrr: mul24.lo.u32 mul24.hi.s32 bmsk.clamp.b32 szext.wrap.s32 szext.clamp.u32
    rrr: set.lt.u32.s32 set.ge.s32.u32 add.u16x2 min.s16x2 max.u16x2
    rrrr: mad.lo.u32 mad.hi.s32 mad24.lo.s32 sad.s32 sad.u32 dp4a.s32.u32 dp4a.u32.u32
    rrrr: dp2a.lo.s32.s32 dp2a.hi.u32.s32 shf.l.wrap.b32 shf.r.clamp.b32 shf.l.clamp.b32
    rrrr: bfe.u32 bfe.s32 prmt.b32 prmt.b32.f4e prmt.b32.b4e prmt.b32.rc8 prmt.b32.ecl
    rrrr: prmt.b32.ecr prmt.b32.rc16 slct.u32.s32
    rrrrr: bfi.b32
    rr: not.b32 neg.s32 abs.s32 cnot.b32 popc.b32 clz.b32 brev.b32 bfind.s32 bfind.shiftamt.u32
    rr: mov.b32 cvt.u8.u32 cvt.s8.s32 cvt.s16.s32 cvt.u32.u16 cvt.sat.s8.s32 cvt.sat.u16.s32
    rl: popc.b64 clz.b64 bfind.s64 bfind.u64 cvt.u32.u64 cvt.sat.s32.s64
    lll: add.s64 sub.u64 mul.lo.u64 mul.hi.u64 mul.hi.s64 div.u64 div.s64 rem.u64 rem.s64
    lll: min.s64 max.u64 and.b64 or.b64 xor.b64
    llr: shl.b64 shr.u64 shr.s64
    lrr: mul.wide.u32 mul.wide.s32
    lrrl: mad.wide.u32 mad.wide.s32
    llll: mad.lo.s64 sad.s64
    llrr: bfe.s64 bfe.u64
    lllrr: bfi.b64
    ll: not.b64 neg.s64 abs.s64 brev.b64 mov.b64
    lr: cvt.u64.u32 cvt.s64.s32 cvt.s64.s8
    hhh: add.s16 sub.u16 mul.lo.s16 mul.hi.u16 div.s16 rem.u16 min.s16 max.u16 and.b16 xor.b16
    hhr: shl.b16 shr.s16 shr.u16
    hr: cvt.u16.u32 cvt.s16.s8
    hhhh: mad.lo.u16
    rhh: mul.wide.s16 mul.wide.u16
    rh: cvt.u32.u16 cvt.s32.s16 cvt.u32.u8
    fff: add.f32 sub.f32 mul.f32 add.ftz.f32 mul.ftz.f32 sub.sat.f32 mul.rn.ftz.sat.f32 div.rn.f32
    fff: div.rn.ftz.f32 min.f32 max.f32 min.ftz.f32 max.NaN.f32 min.NaN.f32
    ffff: fma.rn.f32 fma.rn.ftz.f32 fma.rn.sat.f32 mad.rn.f32
    ff: sqrt.rn.f32 rcp.rn.f32 sqrt.rn.ftz.f32 neg.f32 abs.f32 neg.ftz.f32 mov.f32
    ff: cvt.rni.f32.f32 cvt.rzi.f32.f32 cvt.rmi.ftz.f32.f32 cvt.rpi.f32.f32 cvt.sat.f32.f32
    frr: set.gt.f32.s32
    ddd: add.f64 sub.f64 mul.f64 div.rn.f64 min.f64 max.f64
    dddd: fma.rn.f64
    dd: sqrt.rn.f64 neg.f64 abs.f64 cvt.rni.f64.f64 cvt.rmi.f64.f64
    eee: add.f16 sub.f16 mul.f16 min.f16 max.f16 add.sat.f16 max.NaN.f16
    eeee: fma.rn.f16 fma.rn.sat.f16
    ee: neg.f16 abs.f16
    xxx: add.f16x2 mul.f16x2 min.f16x2 sub.f16x2 set.lt.f16x2.f16x2
    xxxx: fma.rn.f16x2
    xff: cvt.rn.f16x2.f32
    ggg: add.bf16 mul.bf16 min.bf16 max.bf16
    gggg: fma.rn.bf16
    yyy: add.bf16x2 mul.bf16x2 max.bf16x2
    yyyy: fma.rn.bf16x2
    yff: cvt.rn.bf16x2.f32 cvt.rz.bf16x2.f32
    www: add.rn.f32x2 mul.rn.f32x2
    wwww: fma.rn.f32x2
    fr: cvt.rn.f32.s32 cvt.rz.f32.u32 cvt.rm.f32.s32 cvt.rp.f32.u32 cvt.rn.sat.f32.s32
    fl: cvt.rn.f32.s64 cvt.rz.f32.u64 cvt.rp.f32.s64
    fd: cvt.rn.f32.f64 cvt.rz.f32.f64 cvt.rm.ftz.f32.f64 cvt.rp.f32.f64
    fe: cvt.f32.f16 cvt.ftz.f32.f16
    fg: cvt.f32.bf16
    df: cvt.f64.f32 cvt.ftz.f64.f32
    dr: cvt.rn.f64.u32 cvt.rn.f64.s32
    dl: cvt.rn.f64.s64 cvt.rm.f64.u64
    ef: cvt.rn.f16.f32 cvt.rz.f16.f32 cvt.rm.f16.f32 cvt.rp.f16.f32 cvt.rn.sat.f16.f32
    er: cvt.rn.f16.s32 cvt.rz.f16.u32
    ed: cvt.rn.f16.f64
    gf: cvt.rn.bf16.f32 cvt.rz.bf16.f32
    rf: cvt.rni.s32.f32 cvt.rzi.u32.f32 cvt.rmi.ftz.s32.f32 cvt.rpi.s32.f32 cvt.rzi.s8.f32
    rd: cvt.rzi.s32.f64 cvt.rpi.u32.f64
    re: cvt.rni.s32.f16 cvt.rzi.u32.f16
    lf: cvt.rzi.s64.f32 cvt.rni.u64.f32
    ld: cvt.rzi.u64.f64 cvt.rmi.s64.f64
    he: cvt.rzi.s16.f16
    rff: set.lt.u32.f32 set.geu.s32.f32
""")

PREDICATES = _table("""
    prr: setp.eq.s32 setp.ne.u32 setp.lt.s32 setp.lo.u32 setp.ge.s32 setp.hi.u32
    pll: setp.lt.s64 setp.hs.u64 setp.ne.s64
    phh: setp.gt.s16 setp.le.u16
    pff: setp.lt.f32 setp.geu.f32 setp.eq.ftz.f32 setp.neu.f32 setp.num.f32 setp.nan.f32
    pdd: setp.gt.f64 setp.leu.f64 setp.ne.f64
    pee: setp.lt.f16 setp.equ.f16
    pf: testp.finite.f32 testp.subnormal.f32 testp.notanumber.f32
    ppp: and.pred or.pred xor.pred
    pp: not.pred
""")

SELECTIONS = _table("""
    rrrp: selp.b32 selp.s32
    lllp: selp.b64
    hhhp: selp.b16
    fffp: selp.f32
    dddp: selp.f64
    xxxp: selp.b32
""")

SPECIAL = ("tid.x", "ntid.x", "ctaid.x", "nctaid.x", "laneid", "warpid", "lanemask_lt", "tid.y")
ATOMICS = ("add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32")
IMMEDIATES = (0, 1, 2, 5, 31, 32, 33, 255, -1, -128, 0x7FFFFFFF, -0x80000000)
FLOATS_32 = ("0f00000000", "0f3F800000", "0fBF000000", "0f7F800000", "0f00000001", "0f4B800001")
FLOATS_64 = ("0d3FF0000000000000", "0dC005BF0A8B145769", "0d0000000000000001")
