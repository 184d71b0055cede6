"""Where the threads of random kernels meet: barriers, and what the lanes of a warp do together."""

from __future__ import annotations

from tests.properties.ptx_unique_writer import UniqueWriter

ALL = "0xffffffff"


def warp_operation(w: UniqueWriter) -> None:
    """Of a whole warp, all of whose lanes are here."""
    r, p = w.register("r"), w.register("p")
    choices = [
        f"vote.sync.ballot.b32 {r}, {p}, {ALL}",
        f"vote.sync.all.pred {w.register('p')}, {p}, {ALL}",
        f"vote.sync.any.pred {w.register('p')}, !{p}, {ALL}",
        f"vote.sync.uni.pred {w.register('p')}, {p}, {ALL}",
        f"match.any.sync.b32 {r}, {w.register('r')}, {ALL}",
        f"match.all.sync.b32 {r}|{p}, {w.register('r')}, {ALL}",
        f"bar.warp.sync {ALL}",
        # Which lanes are active nobody promises; that the lane itself is one is certain.
        f"activemask.b32 %t0; mov.b32 %t1, %lanemask_eq; and.b32 {r}, %t0, %t1",
        *(_shuffle(w) for _ in range(4)),
    ]
    if "l" in w.pools:
        choices.append(f"match.any.sync.b64 {r}, {w.register('l')}, {ALL}")
        choices.append(f"match.all.sync.b64 {r}|{p}, {w.register('l')}, {ALL}")
    if w.architecture >= 80:
        choices += [
            f"redux.sync.{op}.{kind} {r}, {w.register('r')}, {ALL}"
            for op, kind in (("add", "u32"), ("min", "s32"), ("min", "u32"), ("max", "s32"))
        ]
        choices += [
            f"redux.sync.{op} {r}, {w.register('r')}, {ALL}"
            for op in ("max.u32", "and.b32", "or.b32", "xor.b32", "add.s32")
        ]
    if w.architecture >= 90:
        # Which lane leads nobody promises; that one does is certain.
        count = f"vote.sync.ballot.b32 %t0, %q, {ALL}; popc.b32 {r}, %t0"
        choices.append(f"elect.sync _|%q, {ALL}; {count}")
    for line in w.pick(choices).split("; "):
        w.emit(line)


def _shuffle(w: UniqueWriter) -> str:
    mode = w.pick(("up", "down", "bfly", "idx"))
    pool = w.pick([pool for pool in ("r", "f", "x") if pool in w.pools])
    clamp = w.pick((0, 16, 24)) << 8 | (0 if mode == "up" else 31)
    b = w.pick(("1", "5", w.register("r")))
    predicate = w.pick(("", f"|{w.register('p')}"))
    return (
        f"shfl.sync.{mode}.b32 {w.register(pool)}{predicate}, {w.register(pool)}, "
        f"{b}, {clamp}, {ALL}"
    )


def masked_branch(w: UniqueWriter) -> None:
    """Lanes part, and those of each side do something together."""
    p, sides = w.register("p"), (w.new_label(), w.new_label())
    w.emit(f"vote.sync.ballot.b32 %t1, {p}, {ALL}")
    w.emit("not.b32 %t2, %t1")
    w.emit(f"@!{p} bra {sides[0]}")
    _together(w, "%t1")
    w.emit(f"bra {sides[1]}")
    w.label(sides[0])
    _together(w, "%t2")
    w.label(sides[1])


def _together(w: UniqueWriter, members: str) -> None:
    r, p = w.register("r"), w.register("p")
    choices = [
        f"vote.sync.ballot.b32 {r}, {p}, {members}",
        f"vote.sync.any.pred {p}, {w.register('p')}, {members}",
        f"match.any.sync.b32 {r}, {w.register('r')}, {members}",
        f"match.all.sync.b32 {r}|{p}, {w.register('r')}, {members}",
        f"bar.warp.sync {members}",
        f"shfl.sync.idx.b32 {r}, {w.register('r')}, %lane, 31, {members}",
    ]
    if w.architecture >= 80:
        choices += [
            f"redux.sync.{op} {r}, {w.register('r')}, {members}"
            for op in ("add.u32", "min.s32", "xor.b32")
        ]
    for _ in range(1 + w.below(2)):
        w.emit(w.pick(choices))


def barrier(w: UniqueWriter) -> None:
    """Of all threads of the block."""
    number, p, q, r = w.below(16), w.register("p"), w.register("p"), w.register("r")
    forms = [
        f"bar.sync {number}",
        f"barrier.sync {number}",
        f"bar.red.popc.u32 {r}, {number}, {p}",
        f"barrier.cta.red.and.aligned.pred {p}, {number}, !{q}",
        f"bar.red.or.pred {p}, {number}, {q}",
    ]
    if w.threads % 32 == 0:
        forms.append(f"bar.sync {number}, {w.threads}")
    w.emit(w.pick(forms))


def arrival(w: UniqueWriter) -> None:
    """The first of two warps arrives, the second waits for it.

    Another barrier keeps the first from arriving here a second time, in place of the other warp.
    """
    number, first, end = 1 + w.below(15), w.new_label(), w.new_label()
    w.emit("setp.lt.u32 %q, %thread, 32")
    w.emit(f"@%q bra {first}")
    w.emit(f"bar.sync {number}, 64")
    w.emit(f"bra {end}")
    w.label(first)
    w.emit(f"bar.arrive {number}, 64")
    w.label(end)
    w.emit("bar.sync 0")


def exchange(w: UniqueWriter) -> None:
    """Every thread leaves a word in shared memory for another one."""
    w.shared_used = True
    w.emit("bar.sync 0")
    w.emit(f"st.shared.b32 [%mine], {w.register('r')}")
    w.emit("bar.sync 0")
    w.emit(f"add.u32 %t0, %thread, {1 + w.below(w.threads - 1)}")
    w.emit(f"rem.u32 %t0, %t0, {w.threads}")
    w.emit("mad.lo.u32 %t0, %t0, 16, %tile")
    w.emit(f"ld.shared.b32 {w.register('r')}, [%t0]")
    w.emit("bar.sync 0")
