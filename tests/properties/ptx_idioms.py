"""Short sequences that NVIDIA's assembler turns into one machine instruction, or a rarer one."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.properties.ptx_operations import APPROXIMATIONS, IMMEDIATES, WITHIN_EIGHT
from tests.properties.ptx_unique_writer import UniqueWriter
from tests.properties.ptx_writer import by_opcode


class Idiom(NamedTuple):
    """Instructions in which `<r>` is any register of a pool, `<imm>` and `<shift>` any literal.

    `pools` are those named, and `since` the first architecture.
    """

    text: str
    pools: frozenset[str]
    since: int


def _idioms(text: str) -> list[Idiom]:
    rows = []
    for line in text.strip().splitlines():
        since, _, body = line.strip().rpartition("@")
        pools = frozenset(re.findall(r"<(\w)>", body))
        rows.append(Idiom(body, pools, int(since or 75)))
    return rows


IDIOMS = _idioms("""
    add.s32 %t0, <r>, <r>; add.s32 <r>, %t0, <r>
    add.s32 %t0, <r>, <r>; sub.s32 <r>, %t0, <r>
    sub.s32 %t0, <r>, <imm>; sub.s32 <r>, <r>, %t0
    shl.b32 %t0, <r>, <shift>; add.s32 <r>, %t0, <r>
    shl.b32 %t0, <r>, <shift>; sub.s32 <r>, <r>, %t0
    shr.u32 %t0, <r>, <shift>; add.s32 <r>, %t0, <r>
    mul.lo.s32 %t0, <r>, <r>; add.s32 <r>, %t0, <r>
    mul.lo.s32 %t0, <r>, <r>; sub.s32 <r>, <r>, %t0
    mul.lo.s32 <r>, <r>, <imm>
    min.s32 %t0, <r>, <r>; max.s32 <r>, %t0, <r>
    max.u32 %t0, <r>, <r>; min.u32 <r>, %t0, <r>
    max.s32 %t0, <r>, <r>; max.s32 <r>, %t0, <imm>
    add.s32 %t0, <r>, <r>; max.s32 <r>, %t0, <r>
    add.s32 %t0, <r>, <r>; min.u32 <r>, %t0, <r>
    add.s32 %t0, <r>, <r>; min.s32 %t0, %t0, <r>; max.s32 <r>, %t0, 0
    90@min.s16x2 %t0, <r>, <r>; max.s16x2 <r>, %t0, <r>
    90@add.u16x2 %t0, <r>, <r>; min.u16x2 <r>, %t0, <r>
    and.b32 %t0, <r>, <r>; or.b32 %t0, %t0, <r>; xor.b32 <r>, %t0, <r>
    and.b32 %t0, <r>, <imm>; setp.ne.s32 <p>, %t0, 0
    or.b32 %t0, <r>, <r>; setp.eq.s32 %q, %t0, 0; and.pred <p>, %q, <p>
    and.b32 %t0, <r>, <r>; popc.b32 <r>, %t0
    brev.b32 %t0, <r>; clz.b32 <r>, %t0
    shr.u32 %t0, <r>, 8; and.b32 %t0, %t0, 255; cvt.rn.f32.u32 <f>, %t0
    shr.u32 %t0, <r>, 16; cvt.s8.s32 %t0, %t0; cvt.rn.f32.s32 <f>, %t0
    shr.u32 %t0, <r>, 16; and.b32 <r>, %t0, 255
    and.b32 %t0, <r>, 65535; shl.b32 %t1, <r>, 16; or.b32 <r>, %t0, %t1
    mov.b32 %t0, <r>; shl.b32 %t1, %t0, 5; shr.u32 %t0, %t0, 27; or.b32 <r>, %t0, %t1
    selp.u32 %t0, 1, 0, <p>; add.s32 <r>, <r>, %t0
    selp.b32 <r>, <imm>, <r>, <p>
    selp.s32 %t0, -1, 0, <p>; and.b32 <r>, <r>, %t0
    setp.lt.s32 %q, <r>, <r>; setp.gt.and.u32 <p>, <r>, <r>, %q
    setp.lt.u32 %q, <r>, <imm>; setp.ge.or.s32 <p>, <r>, <imm>, %q
    and.pred %q, <p>, <p>; or.pred %q, %q, <p>; xor.pred <p>, %q, <p>
    setp.lt.s32 %q, <r>, <r>; selp.b32 <r>, <r>, <r>, %q
    shl.b64 %a0, <l>, <shift>; add.s64 <l>, %a0, <l>
    mul.wide.s32 %a0, <r>, 8; add.s64 <l>, <l>, %a0
    cvt.s64.s32 %a0, <r>; shl.b64 %a0, %a0, <shift>; add.s64 <l>, %a0, <l>
    mul.wide.u32 %a0, <r>, <r>; add.s64 <l>, %a0, <l>
    mul.wide.s32 %a0, <r>, <r>; shr.u64 %a0, %a0, 32; cvt.u32.u64 <r>, %a0
    cvt.u64.u32 %a0, <r>; mul.lo.s64 <l>, %a0, <l>
    add.s64 %a0, <l>, <l>; sub.s64 <l>, %a0, <l>
    and.b64 %a0, <l>, <l>; or.b64 <l>, %a0, <imm>
    setp.lt.s64 %q, <l>, <l>; selp.b64 <l>, <l>, <l>, %q
    setp.gt.u64 %q, <l>, <imm>; setp.ne.and.s64 <p>, <l>, <l>, %q
    min.s64 %a0, <l>, <l>; max.s64 <l>, %a0, <l>
    shr.u64 %a0, <l>, <shift>; cvt.u32.u64 <r>, %a0
    not.b64 %a0, <l>; popc.b64 <r>, %a0
    neg.f32 %tf0, <f>; fma.rn.f32 <f>, %tf0, <f>, <f>
    abs.f32 %tf0, <f>; add.rn.f32 <f>, %tf0, <f>
    abs.f32 %tf0, <f>; neg.f32 %tf0, %tf0; mul.rn.f32 <f>, %tf0, <f>
    neg.f32 %tf0, <f>; fma.rz.f32 <f>, <f>, <f>, %tf0
    min.f32 %tf0, <f>, <f>; max.f32 <f>, %tf0, <f>
    max.f32 %tf0, <f>, <f>; max.f32 <f>, %tf0, 0f00000000
    80@max.NaN.f32 %tf0, <f>, <f>; max.NaN.f32 <f>, %tf0, <f>
    setp.lt.f32 %q, <f>, <f>; selp.f32 <f>, <f>, <f>, %q
    abs.f32 %tf0, <f>; neg.f32 %tf0, %tf0; setp.gt.f32 <p>, %tf0, <f>
    abs.f32 %tf0, <f>; setp.equ.f32 <p>, %tf0, 0f7F800000
    setp.lt.f32 %q, <f>, <f>; setp.neu.or.f32 <p>, <f>, <f>, %q
    max.f32 %tf0, <f>, 0fFF7FFFFF; copysign.f32 <f>, %tf0, <f>
    86@max.f32 %tf0, <f>, -1.0; max.f32 %tf1, <f>, -2.0; min.xorsign.abs.f32 <f>, %tf0, %tf1
    cvt.f64.f32 %td0, <f>; add.rn.f64 <d>, %td0, <d>
    neg.f64 %td0, <d>; fma.rn.f64 <d>, %td0, <d>, <d>
    abs.f64 %td0, <d>; add.rn.f64 <d>, %td0, <d>
    abs.f64 %td0, <d>; mul.rn.f64 <d>, <d>, %td0
    abs.f64 %td0, <d>; setp.leu.f64 <p>, %td0, <d>
    setp.gt.f64 %q, <d>, <d>; selp.f64 <d>, <d>, <d>, %q
    neg.f16x2 %t0, <x>; fma.rn.f16x2 <x>, %t0, <x>, <x>
    abs.f16x2 %t0, <x>; add.rn.f16x2 <x>, %t0, <x>
    mov.b32 {%th0, %th1}, <x>; mov.b32 %t0, {%th1, %th1}; mul.rn.f16x2 <x>, %t0, <x>
    mov.b32 {%th0, %th1}, <x>; mov.b32 %t0, {%th0, %th0}; fma.rn.f16x2 <x>, <x>, %t0, <x>
    mov.b32 {%th0, %th1}, <x>; mov.b32 <x>, {%th1, %th0}
    mov.b32 {%th0, %th1}, <x>; add.rn.f16 <e>, %th1, <e>
    mov.b32 {%th0, %th1}, <x>; cvt.f32.f16 <f>, %th1
    setp.lt.f16x2 <p>|%q, <x>, <x>; and.pred <p>, <p>, %q
    neg.f16 %th0, <e>; fma.rn.f16 <e>, %th0, <e>, <e>
    abs.f16 %th0, <e>; setp.lt.f16 <p>, %th0, <e>
    setp.gt.f16 %q, <e>, <e>; selp.b16 <e>, <e>, <e>, %q
    80@neg.bf16x2 %t0, <y>; fma.rn.bf16x2 <y>, %t0, <y>, <y>
    80@mov.b32 {%th0, %th1}, <y>; fma.rn.bf16 <g>, %th1, <g>, <g>
    90@abs.bf16x2 %t0, <y>; add.rn.bf16x2 <y>, %t0, <y>
    mul.wide.s16 %t0, <h>, <h>; add.s32 <r>, %t0, <r>
    min.s16 %th0, <h>, <h>; max.s16 <h>, %th0, <h>
""")


UNIFORM_IDIOMS = _idioms("""
    setp.lt.s32 <u>, <n>, <imm>
    setp.ge.u32 <u>, <n>, <n>
    setp.lt.and.s32 <u>, <n>, <n>, <u>
    and.pred <u>, <u>, <u>; or.pred <u>, <u>, <u>
    setp.lt.f32 <u>, <k>, <k>
    setp.ne.s64 <u>, <o>, <o>
    selp.b32 <n>, <n>, <n>, <u>
    selp.f32 <k>, <k>, <k>, <u>
    selp.b64 <o>, <o>, <o>, <u>
    mov.b32 <n>, %ctaid.x
    mov.b32 <n>, %nctaid.x
    brev.b32 <n>, <n>
    popc.b32 <n>, <n>; clz.b32 <n>, <n>
    min.s32 <n>, <n>, <n>; max.u32 <n>, <n>, <imm>
    shl.b32 <n>, <n>, <shift>; add.s32 <n>, <n>, <n>
    mad.lo.s32 <n>, <n>, <n>, <n>
    prmt.b32 <n>, <n>, <n>, <n>
    and.b32 <n>, <n>, <n>; or.b32 <n>, <n>, <imm>
    mul.wide.u32 <o>, <n>, <n>; add.s64 <o>, <o>, <o>
    shr.s64 <o>, <o>, <shift>; cvt.u32.u64 <n>, <o>
    add.rn.f32 <k>, <k>, <k>; mul.rn.f32 <k>, <k>, <k>
    fma.rn.f32 <k>, <k>, <k>, <k>
    neg.f32 <k>, <k>; min.f32 <k>, <k>, <k>; max.f32 <k>, <k>, <k>
    cvt.rn.f32.s32 <k>, <n>; cvt.rni.f32.f32 <k>, <k>
    cvt.rzi.s32.f32 <n>, <k>
    add.s32 <r>, <r>, <n>
    mad.lo.s32 <r>, <n>, <r>, <n>
    setp.lt.s32 <p>, <r>, <n>
    add.s64 <l>, <l>, <o>
    fma.rn.f32 <f>, <k>, <f>, <k>
""")
"""Of values that are the same in the whole block; the last ones bring them to each thread's."""


def idiom(w: UniqueWriter) -> None:
    """One of those whose pools the kernel computes in."""
    _place(w, IDIOMS, w.pools | {"p"})


def uniform_idiom(w: UniqueWriter) -> None:
    """One of those of a block, where its threads are together."""
    _place(w, UNIFORM_IDIOMS, w.pools | {"p", "u", "n", "o", "k"})


def _place(w: UniqueWriter, idioms: list[Idiom], pools: frozenset[str]) -> None:
    usable = [i for i in idioms if i.pools <= pools and i.since <= w.architecture]

    def chosen(found: re.Match[str]) -> str:
        if found[1] == "imm":
            return str(w.pick(IMMEDIATES))
        if found[1] == "shift":
            return str(w.below(32))
        return w.register(found[1])

    for line in re.sub(r"<(\w+)>", chosen, w.pick(usable).text).split("; "):
        w.emit(line)


def bits_to_predicates(w: UniqueWriter) -> None:
    """A flag for each of some bits of one register."""
    r = w.register("r")
    for at in range(1 + w.below(w.counts["p"])):
        w.emit(f"and.b32 %t0, {r}, {1 << at}")
        w.emit(f"setp.{w.pick(('ne', 'eq'))}.s32 %p{at}, %t0, 0")


def predicates_to_bits(w: UniqueWriter) -> None:
    """All flags in one register."""
    w.emit("mov.b32 %t0, 0")
    for at in range(w.counts["p"]):
        w.emit(f"selp.b32 %t1, {1 << at}, 0, %p{at}")
        w.emit("or.b32 %t0, %t0, %t1")
    w.emit(f"mov.b32 {w.register('r')}, %t0")


_TEMPORARIES = {"f": "%tf", "d": "%td", "e": "%th", "g": "%th"}
_NAMES = {"d": "f64", "e": "f16", "g": "bf16"}


def approximation(w: UniqueWriter) -> None:
    """A function of arguments for which it is good, into a register that nothing reads."""
    rows = [row for row in APPROXIMATIONS if row.since <= w.architecture]
    row = w.pick(w.pick(by_opcode(rows)))
    kind = row.sources[0]
    temporary = _TEMPORARIES[kind]
    for at in range(len(row.sources)):
        _argument(w, f"%tf{at}", within_eight=row.name.startswith(WITHIN_EIGHT))
        if kind != "f":
            rounding = "" if kind == "d" else ".rn"
            w.emit(f"cvt{rounding}.{_NAMES[kind]}.f32 {temporary}{at}, %tf{at}")
    sources = ", ".join(f"{temporary}{at}" for at in range(len(row.sources)))
    result = w.register(row.target)
    if kind == "f":
        w.emit(f"{row.name} {result}, {sources}")
    else:
        rounding = ".rn" if kind == "d" else ""
        w.emit(f"{row.name} {temporary}0, {sources}")
        w.emit(f"cvt{rounding}.f32.{_NAMES[kind]} {result}, {temporary}0")


def _argument(w: UniqueWriter, temporary: str, *, within_eight: bool) -> None:
    if "f" in w.pools:
        w.emit(f"mov.f32 {temporary}, {w.register('f')}")
    else:
        w.emit(f"cvt.rn.f32.s32 {temporary}, {w.register('r')}")
    if within_eight:
        low, high = "0fC1000000", "0f41000000"
    else:
        low, high = "0f38D1B717", "0f461C4000"
        w.emit(f"abs.f32 {temporary}, {temporary}")
    w.emit(f"max.f32 {temporary}, {temporary}, {low}")
    w.emit(f"min.f32 {temporary}, {temporary}, {high}")
