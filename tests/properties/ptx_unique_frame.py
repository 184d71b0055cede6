"""What stands around the statements of a kernel with one result: parameters, registers, results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tests.properties.ptx_operations import POOLS, WIDTHS
from tests.properties.ptx_private_memory import (
    BLOB_BYTES,
    CELLS,
    DATA_WORDS,
    OWN_BYTES,
    REDUCTIONS,
    TILE_BYTES,
    WIDE_REDUCTIONS,
)
from tests.properties.ptx_unique_writer import UNIFORM, UNIFORM_PREDICATES, UniqueWriter
from tests.properties.ptx_writer import INPUT_WORDS, elements

from kernelcast.ir import Argument, Array, Fill, Launch

Dim3 = tuple[int, int, int]

_NEAR = {"v": ("near", 3), "z": ("rough", 2)}
_TYPED = {"ownf": ("f32", 4), "ownd": ("f64", 2), "ownx": ("f16", 4), "owny": ("bf16", 4)}
"""Arrays of the thread's own numbers: type, and elements of a thread."""
_OUTPUTS = {
    **{f"out_{p}": (p, POOLS[p][1], POOLS[p][2]) for p in POOLS},
    **{f"out_{p}": (p, count, element) for p, (_, _, count, element) in UNIFORM.items()},
    **{name: (p, count, "f32") for p, (name, count) in _NEAR.items()},
    "out_p": ("p", 1, "u32"),
}
"""Arrays of the registers of a pool: the pool, registers of a thread, element type."""
_WIDTHS = {**WIDTHS, "n": 32, "o": 64, "k": 32, "v": 32, "z": 32, "p": 32}
_POINTERS = (*("in", "own", "common", "wide", "sums", "out_shared"), *_TYPED, *_OUTPUTS)
_POOLED = re.compile(r"%([rlhfdexgyw])(\d)\b")


@dataclass(frozen=True)
class Frame:
    """The launch, and the most registers of a thread; 0 where the assembler may choose."""

    architecture: int
    block: Dim3
    grid: Dim3
    most_registers: int

    @property
    def threads(self) -> int:
        """Threads in a block."""
        return prod(self.block)

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return prod(self.grid)


def launch_of(frame: Frame, word: int) -> Launch:
    """The launch, with arrays as large as its threads need."""
    every = frame.threads * frame.blocks
    args: dict[str, Argument] = {
        "in": Array("u32", (INPUT_WORDS,)),
        "own": Array("u32", (every * OWN_BYTES // 4,), Fill("arange")),
        "common": Array("u32", (len(REDUCTIONS) * CELLS,), Fill("arange")),
        "wide": Array("u64", (len(WIDE_REDUCTIONS),), Fill("arange")),
        "sums": Array("f32", (1,)),
        "out_shared": Array("u32", (frame.blocks * 8,)),
    }
    for name, (element, count) in _TYPED.items():
        args[name] = Array(element, (every * count,), Fill("ones"))
    for name, (pool, count, element) in _OUTPUTS.items():
        args[name] = Array(element, (every * elements(pool, count),))
    args |= {
        "n0": word & 0xFFFF,
        "n1": word,
        "o0": word * 0x1_0000_0003 & (1 << 63) - 1,
        "k0": (word & 0xFF) / 16 - 4,
        "blob": Array("u8", (BLOB_BYTES,), Fill("arange")),
    }
    return Launch(frame.grid, frame.block, args)


def kernel_text(w: UniqueWriter, frame: Frame, functions: list[str]) -> str:
    """The module: variables, device functions, and the kernel around what has been written."""
    body, w.lines = w.lines, []
    used = _registers([*body, "%r0 %r1 %r2 %r3"])
    _prologue(w, frame, used, writes_local=any("%stack" in line for line in body))
    w.lines += body
    _epilogue(w, frame, used)
    parameters = [f".param .u64 {name}" for name in _POINTERS]
    parameters += [".param .u32 n0", ".param .u32 n1", ".param .u64 o0", ".param .f32 k0"]
    parameters.append(f".param .align 16 .b8 blob[{BLOB_BYTES}]")
    limit = f"\n.maxnreg {frame.most_registers}" if frame.most_registers else ""
    lines = [
        f".version 8.8\n.target sm_{frame.architecture}\n.address_size 64",
        ".const .align 16 .b32 table[8] = {1, 2, 4, 255, 65535, 2147483648, 7, 4294967295};",
        f".global .align 16 .b32 data[{DATA_WORDS}] = "
        f"{{{', '.join(str(n * n * 40503) for n in range(DATA_WORDS))}}};",
        ".global .align 16 .b32 tally[4];",
        *functions,
        f".visible .entry k({', '.join(parameters)}){limit}\n{{",
        f"\t.shared .align 16 .b8 tile[{frame.threads * TILE_BYTES}];",
        f"\t.shared .align 16 .b8 tilef[{frame.threads * TILE_BYTES}];",
        "\t.shared .align 16 .b8 pool[32];",
        f"\t.local .align 16 .b8 stack[{OWN_BYTES}];",
        *_declarations(w),
        "\t.reg .b32 %lane, %thread, %gid, %tile, %mine, %minef;",
        "\t.reg .b64 %stack, %table, %data, %blob;",
        *(f"\t.reg .b64 %{name};" for name in _POINTERS),
        *w.lines,
        "}",
    ]
    return "\n".join(lines) + "\n"


def function_text(number: int, w: UniqueWriter) -> str:
    """A device function of two words around what has been written."""
    body, w.lines = w.lines, []
    w.emit("ld.param.b32 %t0, [a]")
    w.emit("ld.param.b32 %t1, [b]")
    for pool, at in _registers([*body, "%r0 %r1"]):
        w.emit(f"mad.lo.u32 %t2, %t0, {2 * at + 1}, %t1")
        w.emit(_FROM_WORD[pool].format(f"%{pool}{at}"))
    for at in range(w.counts["p"]):
        w.emit(f"and.b32 %t2, %t0, {1 << at}")
        w.emit(f"setp.ne.s32 %p{at}, %t2, 0")
    w.lines += body
    w.emit("xor.b32 %r0, %r0, %r1")
    w.emit("st.param.b32 [c], %r0")
    w.emit("ret")
    head = f".func (.param .b32 c) f{number}(.param .b32 a, .param .b32 b)\n{{"
    return "\n".join([head, *_declarations(w), *w.lines, "}"])


_FROM_WORD = {
    **dict.fromkeys("rxy", "mov.b32 {}, %t2"),
    **dict.fromkeys("lw", "mul.wide.s32 {}, %t2, %t2"),
    **dict.fromkeys("heg", "cvt.u16.u32 {}, %t2"),
    "f": "cvt.rn.f32.s32 {}, %t2",
    "d": "cvt.rn.f64.s32 {}, %t2",
}


def _declarations(w: UniqueWriter) -> Iterator[str]:
    for pool, (type_name, count, _) in POOLS.items():
        yield f"\t.reg .{type_name} %{pool}<{count}>;"
    for pool, (_, type_name, count, _) in UNIFORM.items():
        yield f"\t.reg .{type_name} %{pool}<{count}>;"
    for pool, (_, count) in _NEAR.items():
        yield f"\t.reg .f32 %{pool}<{count}>;"
    yield f"\t.reg .pred %p<{w.counts['p']}>, %u<{UNIFORM_PREDICATES}>, %q;"
    yield "\t.reg .b32 %t<4>, %c<8>;\n\t.reg .b64 %a<2>;"
    yield "\t.reg .b16 %th<2>;\n\t.reg .f32 %tf<2>;\n\t.reg .f64 %td<2>;"


def _registers(lines: list[str]) -> list[tuple[str, int]]:
    """The pool and number of every register of a pool that the lines name."""
    return sorted({(m[1], int(m[2])) for line in lines for m in _POOLED.finditer(line)})


def _prologue(
    w: UniqueWriter, frame: Frame, used: list[tuple[str, int]], *, writes_local: bool
) -> None:
    for name in _POINTERS:
        w.emit(f"ld.param.u64 %{name}, [{name}]")
    # The thread's place in its block and in the grid.
    w.emit("mov.u32 %lane, %laneid")
    for at, axis in enumerate("xyz"):
        w.emit(f"mov.u32 %t{at}, %tid.{axis}")
    x, y, _ = frame.block
    w.emit(f"mad.lo.u32 %t1, %t2, {y}, %t1")
    w.emit(f"mad.lo.u32 %thread, %t1, {x}, %t0")
    w.emit("mov.u32 %t0, %ctaid.x")
    w.emit("mov.u32 %t1, %ctaid.y")
    w.emit("mov.u32 %t2, %nctaid.x")
    w.emit("mad.lo.u32 %t3, %t1, %t2, %t0")
    w.emit(f"mad.lo.u32 %gid, %t3, {frame.threads}, %thread")
    # Its own memory.
    w.emit(f"mad.wide.u32 %own, %gid, {OWN_BYTES}, %own")
    for name, (element, count) in _TYPED.items():
        size = count * {"f32": 4, "f64": 8}.get(element, 2)
        w.emit(f"mad.wide.u32 %{name}, %gid, {size}, %{name}")
    w.emit("mov.u32 %tile, tile")
    w.emit("mov.u32 %minef, tilef")
    w.emit(f"mad.lo.u32 %mine, %thread, {TILE_BYTES}, %tile")
    w.emit(f"mad.lo.u32 %minef, %thread, {TILE_BYTES}, %minef")
    for name in ("stack", "table", "data", "blob"):
        w.emit(f"mov.u64 %{name}, {name}")
    if writes_local:
        w.emit("mov.b64 %a0, 0")
        for at in range(0, OWN_BYTES, 8):
            w.emit(f"st.local.b64 [%stack+{at}], %a0")
    if w.shared_used:
        w.emit("mov.b64 %a0, 0")
        w.emit("st.shared.v2.b64 [%mine], {%a0, %a0}")
        w.emit("st.shared.v2.b64 [%minef], {%a0, %a0}")
        w.emit("setp.lt.u32 %q, %thread, 8")
        w.emit("mov.u32 %t1, pool")
        w.emit("mad.lo.u32 %t1, %thread, 4, %t1")
        w.emit("@%q st.shared.b32 [%t1], %thread")
        w.emit("bar.sync 0")
    _first_values(w, used)


def _first_values(w: UniqueWriter, used: list[tuple[str, int]]) -> None:
    """Thread t starts with the words from 2 * (7 t mod 64) of the input on."""
    w.emit("mul.lo.u32 %t1, %gid, 7")
    w.emit("and.b32 %t1, %t1, 63")
    w.emit("mad.wide.u32 %a0, %t1, 8, %in")
    for place, (pool, at) in enumerate(used):
        w.emit(f"ld.global.{POOLS[pool][0]} %{pool}{at}, [%a0+{8 * place}]")
    for at in range(w.counts["p"]):
        w.emit(f"setp.lt.s32 %p{at}, %r{at % 4}, {(at - 4) << 27}")
    for name in ("n0", "n1", "o0", "k0"):
        w.emit(f"ld.param.b{_WIDTHS[name[0]]} %{name}, [{name}]")
    w.emit("mov.b32 %n2, %ctaid.x")
    w.emit("mov.b32 %n3, %nctaid.y")
    w.emit("add.s64 %o1, %o0, 12345678912345")
    w.emit("cvt.rn.f32.s32 %k1, %n2")
    w.emit("mov.f32 %k2, 0f3FC00000")
    w.emit("setp.lt.s32 %u0, %n1, 0")
    w.emit("setp.eq.s32 %u1, %n2, 1")
    for pool, (_, count) in _NEAR.items():
        for at in range(count):
            w.emit(f"mov.f32 %{pool}{at}, 0f00000000")


def _epilogue(w: UniqueWriter, frame: Frame, used: list[tuple[str, int]]) -> None:
    for name, (pool, count, _) in _OUTPUTS.items():
        numbers = [at for p, at in used if p == pool] if pool in POOLS else range(count)
        size = _WIDTHS[pool] // 8
        if pool == "p":
            w.emit("mov.b32 %t0, 0")
            for at in range(w.counts["p"]):
                w.emit(f"selp.b32 %t1, {1 << at}, 0, %p{at}")
                w.emit("or.b32 %t0, %t0, %t1")
        if numbers:
            w.emit(f"mad.wide.u32 %a0, %gid, {size * count}, %{name}")
        for at in numbers:
            register = "%t0" if pool == "p" else f"%{pool}{at}"
            type_name = f"f{_WIDTHS[pool]}" if pool in "fdkvz" else f"b{_WIDTHS[pool]}"
            with w.unit():
                w.emit(f"st.global.{type_name} [%a0+{at * size}], {register}")
    if w.shared_used and w.everyone:
        w.emit("bar.sync 0")
        w.emit("setp.lt.u32 %q, %thread, 8")
        w.emit("mov.u32 %t1, pool")
        w.emit("mad.lo.u32 %t1, %thread, 4, %t1")
        w.emit("sub.u32 %t2, %gid, %thread")
        w.emit(f"div.u32 %t2, %t2, {frame.threads}")
        w.emit("mad.lo.u32 %t2, %t2, 8, %thread")
        w.emit("mad.wide.u32 %a0, %t2, 4, %out_shared")
        w.emit("@%q ld.shared.b32 %t0, [%t1]")
        w.emit("@%q st.global.b32 [%a0], %t0")
    w.emit("ret")
