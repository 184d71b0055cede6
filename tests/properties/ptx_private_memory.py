"""Accesses of random kernels that cannot race.

A thread reads what nobody writes, and reads and writes its own words. What threads share they only
reduce into, one commutative operation per word, and exactly: the order does not matter.
"""

from __future__ import annotations

from tests.properties.ptx_statements import address
from tests.properties.ptx_unique_writer import UniqueWriter
from tests.properties.ptx_writer import INPUT_WORDS

OWN_BYTES = 64
"""Of a thread in global memory, and in local memory."""
TILE_BYTES = 16
"""Of a thread in shared memory, of integers; as much again of f32."""
CELLS = 4
"""Words that all threads reduce into with one operation."""
REDUCTIONS = ("add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32")
WIDE_REDUCTIONS = ("add.u64", "min.s64", "max.u64", "xor.b64")
TABLE_WORDS = 8
DATA_WORDS = 16
BLOB_BYTES = 64

_SCALARS = (
    *(("u8", "r", 1), ("s8", "r", 1), ("u16", "r", 2), ("s16", "r", 2), ("u8", "h", 1)),
    *(("s8", "h", 1), ("u16", "h", 2), ("b32", "r", 4), ("u32", "l", 4), ("s32", "l", 4)),
    *(("s16", "l", 2), ("b64", "l", 8), ("u8", "l", 1)),
)
"""Type in memory, pool, and bytes."""
_VECTORS = (
    *(("v2.b32", "r", 8), ("v4.b32", "r", 16), ("v2.b64", "l", 16), ("v2.u16", "h", 4)),
    *(("v4.u8", "r", 4), ("v2.s8", "r", 2), ("v4.s16", "r", 8)),
)
_LOAD_WORDS = (
    *("ca", "cg", "cs", "lu", "cv", "L1::evict_last", "L1::no_allocate"),
    *("volatile", "relaxed.gpu", "acquire.sys", "relaxed.cta"),
)
_STORE_WORDS = ("wb", "cg", "cs", "wt", "L1::evict_first", "volatile", "relaxed.sys", "release.gpu")
_READ_ONLY_WORDS = ("nc", "nc.L1::evict_last", "nc.L1::no_allocate", "ca", "cs", "L2::128B")


def _format(w: UniqueWriter) -> tuple[str, str, int]:
    """A type of what is moved, a pool for it that the kernel computes in, and its bytes."""
    rows = [row for row in (*_SCALARS, *_SCALARS, *_VECTORS) if row[1] in w.pools]
    return w.pick(rows)


def _targets(w: UniqueWriter, name: str, pool: str) -> str:
    """As many different registers as a load of the type writes."""
    count = int(name[1]) if name[0] == "v" else 1
    registers = w.distinct([f"%{pool}{n}" for n in range(w.counts[pool])], count)
    return f"{{{', '.join(registers)}}}" if name[0] == "v" else registers[0]


def _sources(w: UniqueWriter, name: str, pool: str) -> str:
    if name[0] != "v":
        return w.source(pool)
    return f"{{{', '.join(w.register(pool) for _ in range(int(name[1])))}}}"


def input_load(w: UniqueWriter) -> None:
    """From the array that nobody writes."""
    choices = [*_SCALARS, *_VECTORS, ("v2.f32", "f", 8), ("v4.f32", "f", 16), ("f64", "d", 8)]
    choices += [("v2.f64", "d", 16), ("b16", "h", 2)]
    name, pool, size = w.pick([row for row in choices if row[1] in w.pools])
    words = w.pick(("", "", *(f".{word}" for word in _READ_ONLY_WORDS)))
    target = _targets(w, name, pool)
    if w.architecture >= 100 and w.below(8) == 0:
        name, words, size, target = "v8.b32", "", 32, "{%r0, %r1, %r2, %r3, %r4, %t1, %t2, %t3}"
    address(w, "%in", INPUT_WORDS, size)
    w.emit_maybe(f"ld.global{words}.{name} {target}, [%a0]")


_OWN = {
    "global": ("%own", OWN_BYTES),
    "shared": ("%mine", TILE_BYTES),
    "local": ("%stack", OWN_BYTES),
}


def _own_place(w: UniqueWriter, size: int, spaces: tuple[str, ...]) -> tuple[str, str]:
    """The state space and address of some of the thread's own bytes; an index may vary."""
    space = w.pick(spaces)
    base, room = _OWN[space]
    w.shared_used |= space == "shared"
    generic = w.below(4) == 0
    wide = generic or space != "shared"
    if wide:
        if space == "shared":
            w.emit("cvt.u64.u32 %a1, %mine")
        else:
            w.emit(f"mov.b64 %a1, {base}")
        if generic and space != "global":
            w.emit(f"cvta.{space}.u64 %a1, %a1")
        base = "%a1"
    if w.below(2):
        return ("" if generic else f".{space}"), f"{base}+{size * w.below(room // size)}"
    w.emit(f"and.b32 %t0, {w.register('r')}, {room // size - 1}")
    if wide:
        w.emit(f"mad.wide.u32 %a1, %t0, {size}, {base}")
    else:
        w.emit(f"mad.lo.u32 %t0, %t0, {size}, {base}")
    return ("" if generic else f".{space}"), "%a1" if wide else "%t0"


def own_access(w: UniqueWriter) -> None:
    name, pool, size = _format(w)
    space, place = _own_place(w, size, ("global", "shared", "local"))
    is_global = space == ".global"
    if w.below(2):
        words = w.pick(("", *(f".{word}" for word in _LOAD_WORDS))) if is_global else ""
        opcode = _ordered("ld", words, space)
        w.emit_maybe(f"{opcode}.{name} {_targets(w, name, pool)}, [{place}]")
    else:
        words = w.pick(("", *(f".{word}" for word in _STORE_WORDS))) if is_global else ""
        opcode = _ordered("st", words, space)
        w.emit_maybe(f"{opcode}.{name} [{place}], {_sources(w, name, pool)}")


def _ordered(opcode: str, words: str, space: str) -> str:
    """Memory order stands before the state space, hints on caches after it."""
    before = words.split(".")[1:2] in (["volatile"], ["relaxed"], ["acquire"], ["release"])
    return f"{opcode}{words}{space}" if before else f"{opcode}{space}{words}"


def typed_access(w: UniqueWriter) -> None:
    """To the thread's own floating-point numbers."""
    choices = (
        *(("f", "f32", "%ownf"), ("f", "v2.f32", "%ownf"), ("f", "v4.f32", "%ownf")),
        *(("d", "f64", "%ownd"), ("d", "v2.f64", "%ownd"), ("x", "v2.b32", "%ownx")),
    )
    usable = [row for row in choices if row[0] in w.pools]
    if not usable:
        return own_access(w)
    pool, name, base = w.pick(usable)
    if w.below(2):
        w.emit_maybe(f"ld.global.{name} {_targets(w, name, pool)}, [{base}]")
    else:
        w.emit_maybe(f"st.global.{name} [{base}], {_sources(w, name, pool)}")
    return None


def constant_load(w: UniqueWriter) -> None:
    """From constant memory, an initialised variable, or the bytes of a parameter."""
    rows = (
        (".const", "%table", TABLE_WORDS),
        (".global", "%data", DATA_WORDS),
        (".param", "%blob", BLOB_BYTES // 4),
    )
    space, base, words = w.pick(rows)
    name, pool, size = _format(w)
    target = _targets(w, name, pool)
    if w.below(3) == 0:
        at = size * w.below(words * 4 // size)
        w.emit_maybe(f"ld{space}.{name} {target}, [{base[1:]}+{at}]")
        return
    address(w, base, words, size)
    w.emit_maybe(f"ld{space}.{name} {target}, [%a0]")


_ATOMICS = (
    *(("r", f"{op}.{t}", 4) for op in ("add", "min", "max") for t in ("u32", "s32")),
    *(("r", f"{op}.u32", 4) for op in ("inc", "dec")),
    *(("r", f"{op}.b32", 4) for op in ("and", "or", "xor", "exch", "cas")),
    *(("l", f"{op}.{t}", 8) for op in ("min", "max") for t in ("u64", "s64")),
    *(("l", f"{op}.b64", 8) for op in ("and", "or", "xor", "exch", "cas")),
    *(("l", "add.u64", 8), ("h", "cas.b16", 2)),
)


def own_atomic(w: UniqueWriter) -> None:
    """On the thread's own words, so that what it finds there is known."""
    pool, name, size = w.pick([row for row in _ATOMICS if row[0] in w.pools])
    space, place = _own_place(w, size, ("global", "shared"))
    scope = w.pick(("", "", ".relaxed.gpu", ".relaxed.cta", ".relaxed.sys"))
    count = 2 if name.startswith("cas") else 1
    operands = ", ".join(w.source(pool) if pool != "h" else w.register(pool) for _ in range(count))
    if w.below(4) == 0 and not name.startswith(("cas", "exch")):
        w.emit_maybe(f"red{scope}{space}.{name} [{place}], {operands}")
    else:
        w.emit_maybe(f"atom{scope}{space}.{name} {w.register(pool)}, [{place}], {operands}")


def float_atomic(w: UniqueWriter) -> None:
    """On the thread's own numbers; small ones, for what is subnormal may be flushed."""
    small = "cvt.rn.f32.s8 %tf0, %t0"
    rows = [
        ("add.f32", "global", "%ownf", "f", (small,), "%tf0"),
        ("add.f32", "shared", "%minef", "f", (small,), "%tf0"),
        ("add.f64", "global", "%ownd", "d", ("cvt.rn.f64.s8 %td0, %t0",), "%td0"),
        ("add.noftz.f16x2", "global", "%ownx", "x", (), w.register("x")),
    ]
    if w.architecture >= 90:
        rows.append(("add.noftz.bf16x2", "global", "%owny", "y", (), w.register("y")))
    usable = [row for row in rows if row[3] in w.pools]
    if not usable:
        return own_atomic(w)
    name, space, base, pool, before, operand = w.pick(usable)
    w.shared_used |= space == "shared"
    w.emit(f"cvt.s8.s32 %t0, {w.register('r')}")
    for line in before:
        w.emit(line)
    if w.below(3):
        w.emit_maybe(f"atom.{space}.{name} {w.register(pool)}, [{base}], {operand}")
    else:
        w.emit_maybe(f"red.{space}.{name} [{base}], {operand}")
    return None


def reduction(w: UniqueWriter) -> None:
    """Into words that all threads share, each for one operation only."""
    choice = w.below(6)
    if choice == 0:
        at = w.below(len(WIDE_REDUCTIONS))
        w.emit(f"cvt.s64.s32 %a1, {w.register('r')}")
        place = f"%wide+{8 * at}"
        w.emit_maybe(f"red.global.{WIDE_REDUCTIONS[at]} [{place}], %a1")
    elif choice == 1:
        w.emit(f"and.b32 %t0, {w.register('r')}, 15")
        w.emit("cvt.rn.f32.u32 %tf0, %t0")
        w.emit_maybe("red.global.add.f32 [%sums], %tf0")
    elif choice == 2:
        w.shared_used = True
        at = w.below(len(REDUCTIONS))
        w.emit_maybe(f"red.shared.{REDUCTIONS[at]} [pool+{4 * at}], {w.source('r')}")
    elif choice == 3:
        w.emit_maybe(f"red.global.add.u32 [tally], {w.source('r')}")
    else:
        at = w.below(len(REDUCTIONS))
        place = f"%common+{4 * CELLS * at}"
        if w.below(2):
            w.emit(f"and.b32 %t0, {w.register('r')}, {CELLS - 1}")
            w.emit("mad.wide.u32 %a1, %t0, 4, %common")
            place = f"%a1+{4 * CELLS * at}"
        w.emit_maybe(f"red.global.{REDUCTIONS[at]} [{place}], {w.source('r')}")


def space_test(w: UniqueWriter) -> None:
    """Where a generic address leads."""
    kind = w.pick(("global", "shared", "local"))
    w.emit("mov.b64 %a1, %own")
    if kind != "global":
        w.shared_used |= kind == "shared"
        base = "cvt.u64.u32 %a1, %mine" if kind == "shared" else "mov.b64 %a1, %stack"
        w.emit(base)
        w.emit(f"cvta.{kind}.u64 %a1, %a1")
    w.emit(f"@{w.register('p')} mov.b64 %a1, %own")
    space = w.pick(("global", "shared", "local"))
    w.emit(f"isspacep.{space} {w.register('p')}, %a1")
