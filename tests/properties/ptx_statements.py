"""Statements of random kernels that touch no memory which another thread writes."""

from __future__ import annotations

from tests.properties.ptx_writer import Writer


def operation(w: Writer) -> None:
    row = w.pick(w.pick(w.operations))
    operands = ", ".join([w.register(row.target), *(w.source(s) for s in row.sources)])
    w.emit_maybe(f"{row.name} {operands}")


def lop3(w: Writer) -> None:
    operands = ", ".join(w.register("r") for _ in range(4))
    w.emit_maybe(f"lop3.b32 {operands}, {w.below(256)}")


def predicate(w: Writer) -> None:
    row = w.pick(w.pick(w.predicates))
    operands = ", ".join(w.register(s) for s in row.sources)
    w.emit_maybe(f"{row.name} {w.register('p')}, {operands}")


def combined_predicate(w: Writer) -> None:
    p, q = w.distinct([f"%p{n}" for n in range(w.counts["p"])], 2)
    name = w.pick(("setp.lt.and.s32", "setp.ge.or.u32", "setp.ne.xor.s32"))
    negation = w.pick(("", "!"))
    c = f"{negation}{w.register('p')}"
    w.emit(f"{name} {p}|{q}, {w.source('r')}, {w.source('r')}, {c}")


def selection(w: Writer) -> None:
    row = w.pick(w.pick(w.selections))
    operands = ", ".join([w.register(row.target), *(w.register(s) for s in row.sources)])
    w.emit_maybe(f"{row.name} {operands}")


def carry_chain(w: Writer) -> None:
    pool, name = w.pick((("r", "u32"), ("l", "u64")))
    for opcode in w.pick((("add.cc", "addc.cc", "addc"), ("sub.cc", "subc.cc", "subc"))):
        w.emit(f"{opcode}.{name} " + ", ".join(w.register(pool) for _ in range(3)))
    if w.below(2):
        chain = w.pick((("lo.cc", "hi"), ("hi.cc", "hi.cc"), ("lo.cc", "lo")))
        for opcode, part in zip(("mad", "madc"), chain, strict=True):
            registers = ", ".join(w.register(pool) for _ in range(4))
            w.emit(f"{opcode}.{part}.{name} {registers}")


def pack(w: Writer) -> None:
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
                "mov.b32 {{%e0, %e2}}, {x}",
            )
        ).format(
            l=w.register("l"),
            **dict(zip("rs", w.distinct(("%r0", "%r1", "%r2"), 2), strict=True)),
            **dict(zip("hi", w.distinct(("%h0", "%h1", "%h2"), 2), strict=True)),
            **dict(zip("fk", w.distinct(("%f0", "%f1", "%f2"), 2), strict=True)),
            **{pool: w.register(pool) for pool in ("w", "x", "e")},
        )
    )


def filled(w: Writer, text: str) -> str:
    """A template whose `{r}`, `{l}` and `{h}` become registers."""
    return text.format(**{pool: w.register(pool) for pool in ("r", "l", "h")})


def address(w: Writer, base: str, words: int, size: int) -> None:
    """%a0 = base + an index below `words` words, aligned to the access of `size` bytes."""
    w.emit(f"and.b32 %t0, {w.register('r')}, {words * 4 // size - 1}")
    w.emit(f"mul.wide.u32 %a0, %t0, {size}")
    w.emit(f"add.s64 %a0, %a0, {base}")


def constant(w: Writer) -> None:
    w.emit(f"and.b32 %t0, {w.register('r')}, 7")
    w.emit("mul.wide.u32 %a0, %t0, 4")
    w.emit("add.s64 %a0, %a0, %table")
    w.emit_maybe(f"ld.const.u32 {w.register('r')}, [%a0]")


def branch(w: Writer, depth: int) -> None:
    otherwise, end = w.new_label(), w.new_label()
    w.emit(f"@{w.pick(('', '!'))}{w.register('p')} bra {otherwise}")
    w.nested(w, depth + 1, 3)
    if w.below(2):
        w.emit(f"bra {end}")
        w.label(otherwise)
        w.nested(w, depth + 1, 3)
    else:
        w.label(otherwise)
    w.label(end)


def loop(w: Writer, depth: int) -> None:
    """At most four rounds, as many as each lane's register says; some lanes leave early."""
    counter = w.new_counter()
    head, end = w.new_label(), w.new_label()
    w.emit(f"and.b32 {counter}, {w.register('r')}, 3")
    w.label(head)
    w.nested(w, depth + 1, 3)
    if w.below(3) == 0:
        w.emit(f"@{w.register('p')} bra {end}")
        w.nested(w, depth + 1, 2)
    w.emit(f"sub.u32 {counter}, {counter}, 1")
    w.emit(f"setp.ge.s32 %q, {counter}, 0")
    w.emit(f"@%q bra {head}")
    w.label(end)


def table_branch(w: Writer, depth: int) -> None:
    labels = [w.new_label() for _ in range(3)]
    end = w.new_label()
    w.emit(f"rem.u32 %t0, {w.register('r')}, 3")
    w.lines.append(f"{end}_table: .branchtargets {', '.join(labels)};")
    w.emit(f"brx.idx %t0, {end}_table")
    for label in labels:
        w.label(label)
        w.nested(w, depth + 1, 2)
        w.emit(f"bra {end}")
    w.label(end)
