"""Random but valid PTX kernels, as text, whose result is unique by the order of the executors.

Their lanes and warps may write the same words; see `ptx_unique.py` for kernels without races. At
the end every register is stored to an array of its own type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from hypothesis import strategies as st
from tests.properties.ptx_operations import ATOMICS, POOLS, SPECIAL, WIDTHS
from tests.properties.ptx_statements import (
    address,
    branch,
    carry_chain,
    combined_predicate,
    constant,
    filled,
    loop,
    lop3,
    operation,
    pack,
    predicate,
    selection,
    table_branch,
)
from tests.properties.ptx_writer import INPUT_WORDS, Program, Writer, elements, input_words

from kernelcast.ir import Array, Fill, Launch

SCRATCH_WORDS = 64
SHARED_WORDS = 64


class _Writer(Writer):
    def __init__(self, random: Random, *, full_warps: bool) -> None:
        chosen = random.sample("lhfdexgyw", 3)
        super().__init__(random, chosen, _statements, full_warps=full_warps)
        # One for the whole kernel: lanes of a warp may not wait at different barriers, and PTX
        # leaves open what a barrier does that some threads reach by another form.
        self.barrier = self.below(16)
        self.barrier_form = self.pick(("sync", "popc", "and", "or"))


def _special(w: Writer) -> None:
    w.emit_maybe(f"mov.u32 {w.register('r')}, %{w.pick(SPECIAL)}")


def _load(w: Writer) -> None:
    name, target, size = w.pick(
        (
            ("ld.global.u32", "{r}", 4),
            ("ld.global.nc.b32", "{r}", 4),
            ("ld.global.u8", "{r}", 1),
            ("ld.global.s8", "{r}", 1),
            ("ld.global.s8", "{h}", 1),
            ("ld.global.u16", "{r}", 2),
            ("ld.global.s16", "{l}", 2),
            ("ld.global.s32", "{l}", 4),
            ("ld.global.u64", "{l}", 8),
            ("ld.u32", "{r}", 4),
            ("ld.global.v2.u32", "{{%r0, %r3}}", 8),
            ("ld.global.v4.u16", "{{%r0, %h1, %h2, %r4}}", 8),
            ("ld.global.v4.u32", "{{%r0, %r1, _, %r2}}", 16),
            ("ld.global.v2.f64", "{{%d0, %d1}}", 16),
            ("ld.global.v2.f32", "{{%f0, %f3}}", 8),
        )
    )
    address(w, "%in", INPUT_WORDS, size)
    w.emit_maybe(f"{name} {filled(w, target)}, [%a0]")


def _store(w: Writer) -> None:
    """To words that other lanes and warps write too: the order of the executors is defined."""
    name, source, size = w.pick(
        (
            ("st.global.u32", "{r}", 4),
            ("st.global.u8", "{r}", 1),
            ("st.global.u16", "{h}", 2),
            ("st.global.u64", "{l}", 8),
            ("st.u32", "{r}", 4),
            ("st.global.v2.u32", "{{{r}, {r}}}", 8),
            ("st.global.v4.u32", "{{{r}, {r}, {r}, {r}}}", 16),
        )
    )
    address(w, "%scratch", SCRATCH_WORDS, size)
    w.emit_maybe(f"{name} [%a0], {filled(w, source)}")


def _shared(w: Writer) -> None:
    w.emit(f"and.b32 %t0, {w.register('r')}, {SHARED_WORDS - 1}")
    w.emit("shl.b32 %t0, %t0, 2")
    w.emit("add.u32 %t0, %t0, %tile")
    generic = w.below(3) == 0
    if generic:
        w.emit("cvt.u64.u32 %a0, %t0")
        w.emit("cvta.shared.u64 %a0, %a0")
    place, space = ("%a0", "") if generic else ("%t0", ".shared")
    choice = w.below(4)
    if choice == 0:
        w.emit_maybe(f"ld{space}.u32 {w.register('r')}, [{place}]")
    elif choice == 1:
        name = w.pick(ATOMICS)
        w.emit_maybe(f"atom{space}.{name} {w.register('r')}, [{place}], {w.source('r')}")
    else:
        w.emit_maybe(f"st{space}.u32 [{place}], {w.source('r')}")


def _local(w: Writer) -> None:
    w.emit(f"and.b32 %t0, {w.register('r')}, 15")
    w.emit("mul.wide.u32 %a0, %t0, 4")
    w.emit("add.s64 %a0, %a0, %stack")
    if w.below(2):
        w.emit_maybe(f"ld.local.u32 {w.register('r')}, [%a0]")
    else:
        w.emit_maybe(f"st.local.u32 [%a0], {w.source('r')}")


def _atomic(w: Writer) -> None:
    address(w, "%scratch", SCRATCH_WORDS, 4)
    choice = w.below(4)
    if choice == 0:
        operands = ", ".join(w.source("r") for _ in range(2))
        w.emit_maybe(f"atom.global.cas.b32 {w.register('r')}, [%a0], {operands}")
    elif choice == 1:
        w.emit_maybe(f"red.global.{w.pick(ATOMICS)} [%a0], {w.source('r')}")
    elif choice == 2:
        w.emit_maybe(f"atom.exch.b32 {w.register('r')}, [%a0], {w.source('r')}")
    else:
        name = w.pick(ATOMICS)
        w.emit_maybe(f"atom.global.{name} {w.register('r')}, [%a0], {w.source('r')}")


def _float_atomic(w: Writer) -> None:
    pool, name, base, size = w.pick(
        (
            ("f", "atom.global.add.f32", "%sumf", 4),
            ("d", "atom.global.add.f64", "%sumd", 8),
            ("x", "atom.global.add.noftz.f16x2", "%sumx", 4),
        )
    )
    address(w, base, SCRATCH_WORDS, size)
    w.emit_maybe(f"{name} {w.register(pool)}, [%a0], {w.register(pool)}")


def _vote(w: Writer) -> None:
    r, p = w.register("r"), w.register("p")
    w.emit(
        w.pick(
            (
                f"vote.sync.ballot.b32 {r}, {p}, 0xffffffff",
                f"vote.sync.all.pred {w.register('p')}, {p}, 0xffffffff",
                f"vote.sync.any.pred {w.register('p')}, !{p}, 0xffffffff",
                f"vote.sync.uni.pred {w.register('p')}, {p}, 0xffffffff",
                f"match.any.sync.b32 {r}, {w.register('r')}, 0xffffffff",
                f"match.all.sync.b64 {r}|{p}, {w.register('l')}, 0xffffffff",
                f"redux.sync.add.s32 {r}, {w.register('r')}, 0xffffffff",
                f"redux.sync.min.s32 {r}, {w.register('r')}, 0xffffffff",
                f"redux.sync.max.u32 {r}, {w.register('r')}, 0xffffffff",
                f"redux.sync.xor.b32 {r}, {w.register('r')}, 0xffffffff",
                f"elect.sync {r}|{p}, 0xffffffff",
                f"activemask.b32 {r}",
            )
        )
    )


def _shuffle(w: Writer) -> None:
    mode = w.pick(("up", "down", "bfly", "idx"))
    pool = w.pick(("r", "f", "x"))
    segment = w.pick((0, 16, 24)) << 8
    clamp = segment | (0 if mode == "up" else 31)
    b = w.pick(("1", "5", w.register("r")))
    w.emit(
        f"shfl.sync.{mode}.b32 {w.register(pool)}|{w.register('p')}, {w.register(pool)}, "
        f"{b}, {clamp}, 0xffffffff"
    )


def _barrier(w: _Writer) -> None:
    p, q, r = w.register("p"), w.register("p"), w.register("r")
    forms = {
        "sync": f"bar.sync {w.barrier}",
        "popc": f"bar.red.popc.u32 {r}, {w.barrier}, {p}",
        "and": f"barrier.cta.red.and.aligned.pred {p}, {w.barrier}, !{q}",
        "or": f"bar.red.or.pred {p}, {w.barrier}, {q}",
    }
    w.emit(forms[w.barrier_form])


def _early_exit(w: Writer) -> None:
    w.emit(f"@{w.register('p')} exit")
    w.full_warps = False


_SIMPLE: tuple[Callable[[Writer], None], ...] = (
    *(operation,) * 14,
    *(predicate,) * 2,
    *(selection, lop3, combined_predicate, carry_chain, pack, _special),
    *(_load, _store, _shared, _local, constant, _atomic, _float_atomic, _vote),
)


def _statements(w: Writer, depth: int, count: int) -> None:
    assert isinstance(w, _Writer)
    for _ in range(1 + w.below(count)):
        choice = w.below(12)
        if choice == 0 and depth < 3:
            branch(w, depth)
        elif choice == 1 and depth < 2 and w.loops < 4:
            loop(w, depth)
        elif choice == 2 and depth < 2:
            table_branch(w, depth)
        elif choice == 3 and (depth == 0 or w.below(4) == 0):
            _barrier(w)
        elif choice == 4 and depth == 0 and w.full_warps:
            _shuffle(w)
        elif choice == 5 and depth == 0 and w.below(4) == 0:
            _early_exit(w)
        else:
            w.pick(_SIMPLE)(w)


def _registers(lines: list[str]) -> list[tuple[str, int]]:
    """The pool and number of every register of a pool that the lines name."""
    return sorted({(m[1], int(m[2])) for line in lines for m in _POOLED.finditer(line)})


_POOLED = re.compile(r"%([rlhfdexgyw])(\d)\b")


def _prologue(w: Writer, used: list[tuple[str, int]]) -> None:
    for name in ("in", "scratch", "sumf", "sumd", "sumx", *(f"out_{pool}" for pool in POOLS)):
        w.emit(f"ld.param.u64 %{name}, [{name}]")
    w.emit("mov.u32 %t0, %ctaid.x")
    w.emit("mov.u32 %t1, %ntid.x")
    w.emit("mov.u32 %t2, %tid.x")
    w.emit("mad.lo.u32 %gid, %t0, %t1, %t2")
    w.emit("mov.u32 %tile, tile")
    w.emit("mov.u64 %stack, stack")
    w.emit("mov.u64 %table, table")
    # Thread t starts with the words from 2 * (7 t mod 64) of the input on.
    w.emit("mul.lo.u32 %t1, %gid, 7")
    w.emit("and.b32 %t1, %t1, 63")
    w.emit("mul.wide.u32 %a0, %t1, 8")
    w.emit("add.s64 %a0, %a0, %in")
    for place, (pool, at) in enumerate(used):
        w.emit(f"ld.global.{POOLS[pool][0]} %{pool}{at}, [%a0+{8 * place}]")
    for at in range(4):
        w.emit(f"setp.lt.s32 %p{at}, %r{at}, {(at - 1) << 29}")


def _epilogue(w: Writer, used: list[tuple[str, int]]) -> None:
    for pool, (type_name, count, _) in POOLS.items():
        numbers = [at for p, at in used if p == pool]
        size = WIDTHS[pool] // 8
        if numbers:
            w.emit(f"mul.wide.u32 %a0, %gid, {size * count}")
            w.emit(f"add.s64 %a0, %a0, %out_{pool}")
        for at in numbers:
            w.emit(f"st.global.{type_name} [%a0+{at * size}], %{pool}{at}")
    w.emit("ret")


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A kernel with a launch of one or two blocks of one or two warps, whole or not."""
    random = draw(st.randoms(use_true_random=False))
    threads = random.choice((32, 64, 40))
    blocks = random.choice((1, 2))
    writer = _Writer(random, full_warps=threads % 32 == 0)
    _statements(writer, 0, 10)
    body, writer.lines = writer.lines, []
    used = _registers([*body, "%r0 %r1 %r2 %r3"])
    _prologue(writer, used)
    writer.lines += body
    _epilogue(writer, used)
    names = ["in", "scratch", "sumf", "sumd", "sumx", *(f"out_{pool}" for pool in POOLS)]
    parameters = ", ".join(f".param .u64 {name}" for name in names)
    registers = [f"\t.reg .{t} %{pool}<{count}>;" for pool, (t, count, _) in POOLS.items()]
    text = "\n".join(
        [
            ".version 8.8\n.target sm_100\n.address_size 64",
            ".const .align 4 .b32 table[8] = {1, 2, 4, 255, 65535, 2147483648, 7, 4294967295};",
            f".visible .entry k({parameters})\n{{",
            f"\t.shared .align 4 .b8 tile[{4 * SHARED_WORDS}];",
            "\t.local .align 4 .b8 stack[64];",
            *registers,
            "\t.reg .pred %p<4>, %q;\n\t.reg .b32 %t<3>, %c<4>, %gid, %tile;",
            "\t.reg .b64 %a<1>, %stack, %table;",
            *(f"\t.reg .b64 %{name};" for name in names),
            *writer.lines,
            "}",
        ]
    )
    args = {
        "in": Array("u32", (INPUT_WORDS,)),
        "scratch": Array("u32", (SCRATCH_WORDS,), Fill("arange")),
        "sumf": Array("f32", (SCRATCH_WORDS,), Fill("ones")),
        "sumd": Array("f64", (SCRATCH_WORDS // 2,), Fill("ones")),
        "sumx": Array("f16", (SCRATCH_WORDS * 2,), Fill("ones")),
        **{
            f"out_{pool}": Array(element, (blocks * threads * elements(pool, count),))
            for pool, (_, count, element) in POOLS.items()
        },
    }
    launch = Launch((blocks, 1, 1), (threads, 1, 1), args)
    return Program(text, launch, input_words(random.randrange(4)))
