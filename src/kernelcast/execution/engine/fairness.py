"""Lanes of a warp that spin for each other: the others move when the spin budget is spent.

Only kernels with a spin loop (`analysis/spin_loops.py`) have any of this. `%sweep` is 0 but while
the others move: then it is one more than the last block that moved, `%unmoved` holds the lanes that
have not, and `%low` is 0, so that no branch is direct and every block ends at `dispatch`.
"""

from __future__ import annotations

from enum import IntEnum

from kernelcast.analysis.spin_loops import SPIN_BUDGET
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.values import FULL_MASK
from kernelcast.ir import Immediate, Register


class Word(IntEnum):
    """What a warp of such a kernel keeps from turn to turn, one word each."""

    ALIVE = 0  # lanes that have not exited
    SPINNING = 1  # lanes that began the last iteration of a spin loop
    ROUNDS = 2  # iterations that they have begun in succession


def kept(lw: Lowering, word: Word) -> str:
    """Pointer to a word."""
    return lw.b.scalar(f"getelementptr i32, ptr %kept, i64 {int(word)}")


def begin(lw: Lowering, offset: int) -> None:
    """At the start of a turn; `offset` says where in its state a warp keeps the words."""
    b = lw.b
    for name in ("%sweep", "%unmoved", "%forced"):
        b.line(f"{name} = alloca i32")
        b.line(f"store i32 0, ptr {name}")
    b.line(f"%kept = getelementptr i8, ptr %state, i64 {offset}")


def gate(lw: Lowering, index: int) -> None:
    """Where a block begins: lanes that have to reconverge wait; lanes that have spent their spin
    budget let the others move."""
    if index in lw.waits.reconvergence:
        _reconverge(lw, index, lw.waits.reconvergence[index])
    if index in lw.waits.headers:
        _spend_spin_budget(lw, index)


def _reconverge(lw: Lowering, index: int, lanes: Register | Immediate) -> None:
    b = lw.b
    place = b.scalar(f"getelementptr i32, ptr %pending, i64 {index}")
    here = b.scalar(f"or i32 {b.scalar(f'load i32, ptr {place}')}, {_load(lw, '%current')}")
    absent = b.scalar(f"xor i32 {here}, -1")
    absent = b.scalar(f"and i32 {absent}, {_load(lw, kept(lw, Word.ALIVE))}")
    complete = b.scalar(f"and i32 {_lanes_without(lw, lanes, absent)}, {here}")
    forced = b.scalar(f"icmp ne i32 {_load(lw, '%forced')}, 0")
    ready = b.scalar(f"select i1 {forced}, i32 {here}, i32 {complete}")
    none = b.scalar(f"icmp eq i32 {ready}, 0")
    met, wait = b.fresh("met"), b.fresh("wait")
    b.line(f"br i1 {none}, label %{wait}, label %{met}")
    b.label(wait)
    b.line(f"store i32 {here}, ptr {place}")
    b.line("br label %dispatch")
    b.label(met)
    b.line(f"store i32 {b.scalar(f'xor i32 {here}, {ready}')}, ptr {place}")
    b.line("store i32 0, ptr %forced")
    b.line(f"store i32 {ready}, ptr %current")


def _lanes_without(lw: Lowering, lanes: Register | Immediate, absent: str) -> str:
    """The lanes whose mask names none of those that are absent."""
    b = lw.b
    if isinstance(lanes, Immediate):
        named = b.splat(str(lanes.value & FULL_MASK), "i32")
    else:
        lw.forget_values()
        named = lw.register(lanes)
    missing = b.binary("and", named, b.splat(absent, "i32"))
    return b.mask_of(b.compare("eq", missing, b.constant("i32", 0)))


def _spend_spin_budget(lw: Lowering, index: int) -> None:
    b = lw.b
    count, go_on, sweep = b.fresh("count"), b.fresh("go"), b.fresh("sweep")
    moving = b.scalar(f"icmp ne i32 {_load(lw, '%sweep')}, 0")
    b.line(f"br i1 {moving}, label %{go_on}, label %{count}")
    b.label(count)
    mask, spinning, rounds = _load(lw, "%current"), kept(lw, Word.SPINNING), kept(lw, Word.ROUNDS)
    same = b.scalar(f"icmp eq i32 {mask}, {b.scalar(f'load i32, ptr {spinning}')}")
    more = b.scalar(f"add i32 {b.scalar(f'load i32, ptr {rounds}')}, 1")
    begun = b.scalar(f"select i1 {same}, i32 {more}, i32 0")
    lost = b.scalar(f"icmp uge i32 {begun}, {SPIN_BUDGET}")
    left = b.scalar(f"select i1 {lost}, i32 {SPIN_BUDGET - 2}, i32 {begun}")
    b.line(f"store i32 {mask}, ptr {spinning}")
    b.line(f"store i32 {left}, ptr {rounds}")
    b.line(f"br i1 {lost}, label %{sweep}, label %{go_on}")
    b.label(sweep)
    place = b.scalar(f"getelementptr i32, ptr %pending, i64 {index}")
    b.line(f"store i32 {mask}, ptr {place}")
    b.line(f"store i32 {b.scalar(f'xor i32 {mask}, -1')}, ptr %unmoved")
    b.line("store i32 0, ptr %low")
    b.line("br label %sweep_from_start")
    b.label(go_on)


def exited(lw: Lowering, mask: str) -> None:
    """Lanes have exited: nobody waits to reconverge with them any more."""
    b = lw.b
    alive = kept(lw, Word.ALIVE)
    left = b.scalar(f"xor i32 {mask}, -1")
    left = b.scalar(f"and i32 {left}, {b.scalar(f'load i32, ptr {alive}')}")
    b.line(f"store i32 {left}, ptr {alive}")
    b.line("br label %look_again")


def move_on(lw: Lowering) -> None:
    """While the others move, a block that is over is followed by the next of them."""
    go_on = lw.b.fresh("go")
    moving = lw.b.scalar(f"icmp ne i32 {_load(lw, '%sweep')}, 0")
    lw.b.line(f"br i1 {moving}, label %sweep_next, label %{go_on}")
    lw.b.label(go_on)


def force(lw: Lowering) -> None:
    """Where all lanes that are left wait to reconverge, they go on."""
    b = lw.b
    waiting = b.scalar(f"xor i32 {_load(lw, '%waiting')}, -1")
    left = b.scalar(f"and i32 {waiting}, {_load(lw, kept(lw, Word.ALIVE))}")
    none, some, go_on = b.scalar(f"icmp eq i32 {left}, 0"), b.fresh("forced"), b.fresh("go")
    b.line(f"br i1 {none}, label %{go_on}, label %{some}")
    b.label(some)
    b.line("store i32 1, ptr %forced")
    b.line("br label %scan_from_start")
    b.label(go_on)


def sweep(lw: Lowering) -> None:
    """The blocks in which the others move, one after the other; then the turn ends."""
    b = lw.b
    count = len(lw.kernel.blocks)
    b.label("look_again")
    moving = b.scalar(f"icmp ne i32 {_load(lw, '%sweep')}, 0")
    b.line(f"br i1 {moving}, label %sweep_next, label %scan_from_start")
    b.label("sweep_from_start")
    b.line("store i32 0, ptr %sweep")
    b.line("br label %sweep_next")
    b.label("sweep_next")
    start, unmoved = _load(lw, "%sweep"), _load(lw, "%unmoved")
    b.line(
        f"%m.block = call i32 @next_to_move(ptr %pending, i32 {start}, i32 {count}, i32 {unmoved})"
    )
    b.line(f"store i32 {b.scalar('add i32 %m.block, 1')}, ptr %sweep")
    b.line(f"%m.none = icmp eq i32 %m.block, {count}")
    b.line("br i1 %m.none, label %sweep_done, label %sweep_move")
    b.label("sweep_move")
    place = b.scalar("getelementptr i32, ptr %pending, i32 %m.block")
    mask = b.scalar(f"load i32, ptr {place}")
    b.line(f"store i32 0, ptr {place}")
    b.line(f"store i32 {mask}, ptr %current")
    left = b.scalar(f"and i32 {unmoved}, {b.scalar(f'xor i32 {mask}, -1')}")
    b.line(f"store i32 {left}, ptr %unmoved")
    b.line("br label %jump")
    b.label("sweep_done")
    b.line("store i32 0, ptr %sweep")
    b.line("br label %pause")


def _load(lw: Lowering, pointer: str) -> str:
    return lw.b.scalar(f"load i32, ptr {pointer}")
