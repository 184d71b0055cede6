"""Random but valid PTX kernels, as text.

Registers are kept in pools by what they hold, so that the bits of a NaN, which may differ between
executors, never reach an integer. At the end every register is stored to an array of its own type.
A kernel computes in a few pools only: what takes time is its compilation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from ptx_operations import (
    ATOMICS,
    FLOATS_32,
    FLOATS_64,
    IMMEDIATES,
    OPERATIONS,
    POOLS,
    PREDICATES,
    SELECTIONS,
    SPECIAL,
    WIDTHS,
    within,
)

from kernelcast.ir import Array, Fill, Launch

INPUT_WORDS = 256
SCRATCH_WORDS = 64
SHARED_WORDS = 64


@dataclass(frozen=True)
class Program:
    """A generated kernel, a launch that fits it, and the words of its array `in`."""

    text: str
    launch: Launch
    words: NDArray[np.uint32]

    def __repr__(self) -> str:
        return f"{self.launch}\n{self.text}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let hypothesis show the kernel's text as it is."""
        printer.text(repr(self))


class _Writer:
    """Writes statements; every choice is drawn."""

    def __init__(self, draw: st.DrawFn, *, full_warps: bool) -> None:
        self.draw = draw
        chosen = draw(st.permutations("lhfdexgyw"))[:3]
        self.operations = within(OPERATIONS, {"r", "p", *chosen})
        self.predicates = within(PREDICATES, {"r", "p", *chosen})
        self.selections = within(SELECTIONS, {"r", "p", *chosen})
        self.lines: list[str] = []
        self.labels = 0
        self.loops = 0
        # One for the whole kernel: lanes of a warp may not wait at different barriers, and PTX
        # leaves open what a barrier does that some threads reach by another form.
        self.barrier = draw(st.integers(0, 15))
        self.barrier_form = draw(st.sampled_from(("sync", "popc", "and", "or")))
        self.full_warps = full_warps

    def pick(self, choices):  # type: ignore[no-untyped-def]
        return self.draw(st.sampled_from(choices))

    def below(self, count: int) -> int:
        return self.draw(st.integers(0, count - 1))

    def register(self, pool: str) -> str:
        return f"%{pool}{self.below(4 if pool == 'p' else POOLS[pool][1])}"

    def source(self, pool: str) -> str:
        """A register, now and then a literal where the pool has any."""
        if pool in ("r", "l", "f", "d") and self.below(5) == 0:
            literals = {"f": FLOATS_32, "d": FLOATS_64}.get(pool, IMMEDIATES)
            return str(self.pick(literals))
        return self.register(pool)

    def guard(self) -> str:
        choice = self.below(8)
        return (
            f"@{self.register('p')} "
            if choice == 0
            else (f"@!{self.register('p')} " if choice == 1 else "")
        )

    def emit(self, text: str) -> None:
        self.lines.append(f"\t{text};")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def new_label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"


def _operation(w: _Writer) -> None:
    name, target, sources = w.pick(w.operations)
    operands = ", ".join([w.register(target), *(w.source(s) for s in sources)])
    w.emit(f"{w.guard()}{name} {operands}")


def _lop3(w: _Writer) -> None:
    operands = ", ".join(w.register("r") for _ in range(4))
    w.emit(f"{w.guard()}lop3.b32 {operands}, {w.below(256)}")


def _predicate(w: _Writer) -> None:
    name, _, sources = w.pick(w.predicates)
    operands = ", ".join(w.register(s) for s in sources)
    w.emit(f"{w.guard()}{name} {w.register('p')}, {operands}")


def _combined_predicate(w: _Writer) -> None:
    p, q = w.draw(st.permutations(("%p0", "%p1", "%p2", "%p3")))[:2]
    name = w.pick(("setp.lt.and.s32", "setp.ge.or.u32", "setp.ne.xor.s32"))
    negation = w.pick(("", "!"))
    c = f"{negation}{w.register('p')}"
    w.emit(f"{name} {p}|{q}, {w.source('r')}, {w.source('r')}, {c}")


def _selection(w: _Writer) -> None:
    name, target, sources = w.pick(w.selections)
    operands = ", ".join([w.register(target), *(w.register(s) for s in sources)])
    w.emit(f"{w.guard()}{name} {operands}")


def _carry_chain(w: _Writer) -> None:
    pool, name = w.pick((("r", "u32"), ("l", "u64")))
    for opcode in w.pick((("add.cc", "addc.cc", "addc"), ("sub.cc", "subc.cc", "subc"))):
        w.emit(f"{opcode}.{name} " + ", ".join(w.register(pool) for _ in range(3)))
    if pool == "r":
        w.emit("mad.lo.cc.u32 " + ", ".join(w.register("r") for _ in range(4)))
        w.emit("madc.hi.u32 " + ", ".join(w.register("r") for _ in range(4)))


def _pack(w: _Writer) -> None:
    w.emit(
        w.pick(
            (
                "mov.b64 {l}, {{{r}, {s}}}",
                "mov.b32 {r}, {{{h}, {i}}}",
                "mov.b64 {{{r}, {s}}}, {l}",
                "mov.b64 {{_, {s}}}, {l}",
                "mov.b32 {{{h}, {i}}}, {r}",
                "mov.b64 {l}, {{{h}, {i}, {h}, {i}}}",
                "mov.b64 {w}, {{{f}, {k}}}",
                "mov.b64 {{{f}, {k}}}, {w}",
                "mov.b32 {x}, {{{e}, {e}}}",
            )
        ).format(
            l=w.register("l"),
            **dict(zip("rs", w.draw(st.permutations(("%r0", "%r1", "%r2"))), strict=False)),
            **dict(zip("hi", w.draw(st.permutations(("%h0", "%h1", "%h2"))), strict=False)),
            **dict(zip("fk", w.draw(st.permutations(("%f0", "%f1", "%f2"))), strict=False)),
            **{pool: w.register(pool) for pool in ("w", "x", "e")},
        )
    )


def _special(w: _Writer) -> None:
    w.emit(f"{w.guard()}mov.u32 {w.register('r')}, %{w.pick(SPECIAL)}")


def _global_address(w: _Writer, base: str, words: int, size: int) -> None:
    """%a0 = base + an index within bounds, aligned to the access."""
    w.emit(f"and.b32 %t0, {w.register('r')}, {words * 4 // size - 1}")
    w.emit(f"mul.wide.u32 %a0, %t0, {size}")
    w.emit(f"add.s64 %a0, %a0, {base}")


def _load(w: _Writer) -> None:
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
    _global_address(w, "%in", INPUT_WORDS, size)
    w.emit(f"{w.guard()}{name} {_filled(w, target)}, [%a0]")


def _store(w: _Writer) -> None:
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
    _global_address(w, "%scratch", SCRATCH_WORDS, size)
    w.emit(f"{w.guard()}{name} [%a0], {_filled(w, source)}")


def _filled(w: _Writer, text: str) -> str:
    return text.format(**{pool: w.register(pool) for pool in ("r", "l", "h")})


def _shared(w: _Writer) -> None:
    w.emit(f"and.b32 %t0, {w.register('r')}, {SHARED_WORDS - 1}")
    w.emit("shl.b32 %t0, %t0, 2")
    w.emit("add.u32 %t0, %t0, %tile")
    generic = w.below(3) == 0
    if generic:
        w.emit("cvt.u64.u32 %a0, %t0")
        w.emit("cvta.shared.u64 %a0, %a0")
    address, space = ("%a0", "") if generic else ("%t0", ".shared")
    choice = w.below(4)
    if choice == 0:
        w.emit(f"{w.guard()}ld{space}.u32 {w.register('r')}, [{address}]")
    elif choice == 1:
        operation = w.pick(ATOMICS)
        w.emit(
            f"{w.guard()}atom{space}.{operation} {w.register('r')}, [{address}], {w.source('r')}"
        )
    else:
        w.emit(f"{w.guard()}st{space}.u32 [{address}], {w.source('r')}")


def _local(w: _Writer) -> None:
    w.emit(f"and.b32 %t0, {w.register('r')}, 15")
    w.emit("mul.wide.u32 %a0, %t0, 4")
    w.emit("add.s64 %a0, %a0, %stack")
    if w.below(2):
        w.emit(f"{w.guard()}ld.local.u32 {w.register('r')}, [%a0]")
    else:
        w.emit(f"{w.guard()}st.local.u32 [%a0], {w.source('r')}")


def _constant(w: _Writer) -> None:
    w.emit(f"and.b32 %t0, {w.register('r')}, 7")
    w.emit("mul.wide.u32 %a0, %t0, 4")
    w.emit("add.s64 %a0, %a0, %table")
    w.emit(f"{w.guard()}ld.const.u32 {w.register('r')}, [%a0]")


def _atomic(w: _Writer) -> None:
    _global_address(w, "%scratch", SCRATCH_WORDS, 4)
    choice = w.below(4)
    if choice == 0:
        operands = ", ".join(w.source("r") for _ in range(2))
        w.emit(f"{w.guard()}atom.global.cas.b32 {w.register('r')}, [%a0], {operands}")
    elif choice == 1:
        w.emit(f"{w.guard()}red.global.{w.pick(ATOMICS)} [%a0], {w.source('r')}")
    elif choice == 2:
        w.emit(f"{w.guard()}atom.exch.b32 {w.register('r')}, [%a0], {w.source('r')}")
    else:
        name = w.pick(ATOMICS)
        w.emit(f"{w.guard()}atom.global.{name} {w.register('r')}, [%a0], {w.source('r')}")


def _float_atomic(w: _Writer) -> None:
    pool, name, base, size = w.pick(
        (
            ("f", "atom.global.add.f32", "%sumf", 4),
            ("d", "atom.global.add.f64", "%sumd", 8),
            ("x", "atom.global.add.noftz.f16x2", "%sumx", 4),
        )
    )
    _global_address(w, base, SCRATCH_WORDS, size)
    w.emit(f"{w.guard()}{name} {w.register(pool)}, [%a0], {w.register(pool)}")


def _vote(w: _Writer) -> None:
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


def _shuffle(w: _Writer) -> None:
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


def _branch(w: _Writer, depth: int) -> None:
    otherwise, end = w.new_label(), w.new_label()
    w.emit(f"@{w.pick(('', '!'))}{w.register('p')} bra {otherwise}")
    _statements(w, depth + 1, 3)
    if w.below(2):
        w.emit(f"bra {end}")
        w.label(otherwise)
        _statements(w, depth + 1, 3)
    else:
        w.label(otherwise)
    w.label(end)


def _loop(w: _Writer, depth: int) -> None:
    """At most four rounds, as many as each lane's register says; some lanes leave early."""
    counter = f"%c{w.loops}"
    w.loops += 1
    head, end = w.new_label(), w.new_label()
    w.emit(f"and.b32 {counter}, {w.register('r')}, 3")
    w.label(head)
    _statements(w, depth + 1, 3)
    if w.below(3) == 0:
        w.emit(f"@{w.register('p')} bra {end}")
        _statements(w, depth + 1, 2)
    w.emit(f"sub.u32 {counter}, {counter}, 1")
    w.emit(f"setp.ge.s32 %q, {counter}, 0")
    w.emit(f"@%q bra {head}")
    w.label(end)


def _table_branch(w: _Writer, depth: int) -> None:
    labels = [w.new_label() for _ in range(3)]
    end = w.new_label()
    w.emit(f"rem.u32 %t0, {w.register('r')}, 3")
    w.lines.append(f"{end}_table: .branchtargets {', '.join(labels)};")
    w.emit(f"brx.idx %t0, {end}_table")
    for label in labels:
        w.label(label)
        _statements(w, depth + 1, 2)
        w.emit(f"bra {end}")
    w.label(end)


def _early_exit(w: _Writer) -> None:
    w.emit(f"@{w.register('p')} exit")
    w.full_warps = False


_SIMPLE: tuple[Callable[[_Writer], None], ...] = (
    *(_operation,) * 14,
    *(_predicate,) * 2,
    *(_selection, _lop3, _combined_predicate, _carry_chain, _pack, _special),
    *(_load, _store, _shared, _local, _constant, _atomic, _float_atomic, _vote),
)


def _statements(w: _Writer, depth: int, count: int) -> None:
    for _ in range(1 + w.below(count)):
        choice = w.below(12)
        if choice == 0 and depth < 3:
            _branch(w, depth)
        elif choice == 1 and depth < 2 and w.loops < 4:
            _loop(w, depth)
        elif choice == 2 and depth < 2:
            _table_branch(w, depth)
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


def _prologue(w: _Writer, used: list[tuple[str, int]]) -> None:
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


def _epilogue(w: _Writer, used: list[tuple[str, int]]) -> None:
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
    threads = draw(st.sampled_from((32, 64, 40)))
    blocks = draw(st.integers(1, 2))
    writer = _Writer(draw, full_warps=threads % 32 == 0)
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
            f"out_{pool}": Array(element, (blocks * threads * _elements(pool),))
            for pool, (_, _, element) in POOLS.items()
        },
    }
    launch = Launch((blocks, 1, 1), (threads, 1, 1), args)
    return Program(text, launch, _input(draw(st.integers(0, 3))))


def _input(seed: int) -> NDArray[np.uint32]:
    """Words of which a third are random bits, a third small numbers, a third floats near 1."""
    generator = np.random.default_rng(seed)
    kinds = (
        generator.integers(0, 1 << 32, INPUT_WORDS, dtype=np.uint32),
        generator.integers(-40, 40, INPUT_WORDS, dtype=np.int32).view(np.uint32),
        generator.normal(size=INPUT_WORDS).astype(np.float32).view(np.uint32),
    )
    return np.choose(generator.integers(0, 3, INPUT_WORDS), kinds)


def _elements(pool: str) -> int:
    _, count, _ = POOLS[pool]
    return count * (2 if pool in "xyw" else 1)
