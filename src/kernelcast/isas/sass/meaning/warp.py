"""Exchange between the lanes of a warp: shuffles, votes, matches, reductions."""

from __future__ import annotations

from kernelcast.ir import Immediate, Operand, Register, Vector
from kernelcast.isas.masks import ALL_LANES
from kernelcast.isas.sass.meaning.lift import SassLift

_SHUFFLES = {"IDX": "idx", "UP": "up", "DOWN": "down", "BFLY": "bfly"}
_VOTES = {"ANY": "any", "ALL": "all", "EQ": "uni"}


def _shuffle(x: SassLift) -> None:
    """`SHFL.mode P, d, a, b, c`: a of another lane; P tells whether that lane is in range."""
    mode = next((name for m, name in _SHUFFLES.items() if x.has(m)), None)
    if mode is None:
        raise x.refuse("a shuffle of unknown kind")
    (in_range,) = x.take_predicates()
    target = x.take()
    source, lane, clamp = (x.b32(x.take()) for _ in range(3))
    value, found = x.temporary("b32"), x.temporary("pred")
    # Lanes whose guard is false take no part, so the step itself has the guard.
    x.do(
        f"shfl.sync.{mode}.b32",
        Vector((value, found)),
        source,
        lane,
        clamp,
        ALL_LANES,
        guard=x.guard,
    )
    x.write(target, value)
    x.write(in_range, found)


def _vote(x: SassLift) -> None:
    """`VOTE.kind [d,] P, p`: d is the mask of lanes in which p holds, P the verdict."""
    kind = next((name for m, name in _VOTES.items() if x.has(m)), None)
    if kind is None:
        raise x.refuse("a vote of unknown kind")
    ballot = None if x.takes_predicate(inverted=False) else x.take()
    verdict = x.take()
    source = _as_register(x, x.predicate(x.take()))
    results = []
    if ballot is not None and x.destination(ballot) is not None:
        mask = x.temporary("b32")
        x.do("vote.sync.ballot.b32", mask, source, x.members(), guard=x.guard)
        results.append((ballot, mask))
    if x.destination(verdict) is not None:
        holds = x.temporary("pred")
        x.do(f"vote.sync.{kind}.pred", holds, source, x.members(), guard=x.guard)
        results.append((verdict, holds))
    for target, value in results:
        x.write(target, value)


def _match(x: SassLift) -> None:
    """`MATCH.ANY d, a`: the lanes of equal value; `MATCH.ALL P, d, a`: all or none."""
    verdict = x.take() if x.takes_predicate() else None
    target = x.take()
    wide = x.has("U64")
    source = x.u64(x.take()) if wide else x.u32(x.take())
    kind = "b64" if wide else "b32"
    mask = x.temporary("b32")
    if x.has("ANY"):
        x.do(f"match.any.sync.{kind}", mask, source, x.members(), guard=x.guard)
    elif x.has("ALL") and verdict is not None:
        holds = x.temporary("pred")
        into = Vector((mask, holds))
        x.do(f"match.all.sync.{kind}", into, source, x.members(), guard=x.guard)
        x.write(verdict, holds)
    else:
        raise x.refuse("a match of unknown kind")
    x.write(target, mask)


def _reduce(x: SassLift) -> None:
    """`REDUX.op d, a`: over the active lanes; without an operation, the conjunction of bits."""
    sign = "s32" if x.has("S32") else "u32"
    names = {"SUM": f"add.{sign}", "MIN": f"min.{sign}", "MAX": f"max.{sign}"}
    names |= {"OR": "or.b32", "XOR": "xor.b32", "AND": "and.b32"}
    chosen = [name for m, name in names.items() if x.has(m)]
    allowed = {*names, "S32", "U32"}
    if not set(x.native.modifiers) <= allowed or len(chosen) > 1:
        raise x.refuse()
    operation, _, kind = (chosen[0] if chosen else "and.b32").partition(".")
    target = x.take()
    total = x.temporary("b32")
    source = x.b32(x.take())
    x.do(f"redux.sync.{operation}.{kind}", total, source, x.members(), guard=x.guard)
    x.write(target, total)


def _elect(x: SassLift) -> None:
    """`ELECT P, d, p`: one of the active lanes leads, the lowest."""
    (leads,) = x.take_predicates()
    target = x.take()
    if x.predicate(x.take()) != Immediate(1):
        raise x.refuse("a condition")
    lane, chosen = x.temporary("b32"), x.temporary("pred")
    x.do("elect.sync", Vector((lane, chosen)), x.members(), guard=x.guard)
    x.write(target, lane)
    x.write(leads, chosen)


def _as_register(x: SassLift, value: Operand) -> Register:
    return value if isinstance(value, Register) else x.let("mov.pred", value)


MEANINGS = {
    "SHFL": _shuffle,
    **dict.fromkeys(("VOTE", "VOTEU"), _vote),
    "MATCH": _match,
    **dict.fromkeys(("REDUX", "CREDUX"), _reduce),
    "ELECT": _elect,
}
