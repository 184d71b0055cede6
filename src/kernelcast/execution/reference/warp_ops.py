"""Instructions whose lanes see each other (PTX ISA 9.0, sections 9.7.9 and 9.7.13).

Their first argument says which lanes are active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kernelcast.execution.reference.semantics import (
    Definitions,
    Semantics,
    UndefinedFormError,
    form,
)
from kernelcast.execution.reference.values import Lanes
from kernelcast.ir import Instruction
from kernelcast.ir.sizes import WARP_LANES

_LANES = np.arange(WARP_LANES)


def ballot(lanes: Lanes) -> int:
    """The mask with the bits of the lanes that hold true."""
    return sum(1 << lane for lane in np.flatnonzero(lanes).tolist())


def _everywhere(value: int) -> Lanes:
    return np.full(WARP_LANES, value)


def _source_lane(mode: str, b: Lanes, c: Lanes) -> tuple[Lanes, Lanes]:
    """Where each lane reads, and whether that is inside its segment (the ISA's pseudo-code)."""
    bval, cval, segment = b & 31, c & 31, c >> 8 & 31
    max_lane = (_LANES & segment) | (cval & ~segment)
    min_lane = _LANES & segment
    if mode == "up":
        j = _LANES - bval
        return j, j >= max_lane
    j = {
        "down": _LANES + bval,
        "bfly": _LANES ^ bval,
        "idx": min_lane | (bval & ~segment),
    }[mode]
    return j, j <= max_lane


def _shfl(instruction: Instruction) -> Semantics:
    """Data of another lane; a lane whose source is outside its segment, or does not execute the
    instruction (the ISA leaves that open), keeps its own."""
    modes = ("up", "down", "bfly", "idx")
    found = form(instruction, ("sync", *modes))
    mode = found.one_of(modes)

    def function(
        active: Lanes, a: Lanes, b: Lanes, c: Lanes, members: Lanes | None = None
    ) -> tuple[Lanes, Lanes]:
        j, inside = _source_lane(mode, b, c)
        source = np.where(inside, j, _LANES)
        return np.where(active[source], a[source], a), inside

    members = ("b32",) if "sync" in found else ()
    sources = ("b32", "b32", "b32", *members)
    return Semantics(sources, ("b32", "pred"), function, takes_active=True)


def _groups(active: Lanes, members: Lanes | None) -> Iterator[tuple[Lanes, Lanes]]:
    """The active lanes that have the same membership mask, and those of them that it names."""
    if members is None:
        yield active, active
        return
    for mask in sorted(set(members[active].tolist())):
        alike = active & (members == mask)
        yield alike, alike & (mask >> _LANES & 1).astype(bool)


def _by_group(active: Lanes, members: Lanes | None, result: Callable[[Lanes], int | bool]) -> Lanes:
    """What `result` makes of the participants of each group, in its lanes."""
    (_, first), *others = _groups(active, members)
    found = _everywhere(result(first))
    for alike, participants in others:
        found[alike] = result(participants)
    return found


_VOTES: dict[str, Callable[[Lanes], bool]] = {
    "all": lambda votes: bool(votes.all()),
    "any": lambda votes: bool(votes.any()),
    "uni": lambda votes: bool(votes.all() or not votes.any()),
}


def _vote(instruction: Instruction) -> Semantics:
    found = form(instruction, ("sync", "ballot", *_VOTES))
    mode = found.one_of(("ballot", *_VOTES))
    members = ("b32",) if "sync" in found else ()

    def function(active: Lanes, a: Lanes, members: Lanes | None = None) -> Lanes:
        if mode == "ballot":
            return _by_group(active, members, lambda lanes: ballot(a & lanes))
        return _by_group(active, members, lambda lanes: _VOTES[mode](a[lanes])).astype(bool)

    result = "b32" if mode == "ballot" else "pred"
    return Semantics(("pred", *members), (result,), function, takes_active=True)


def _match(instruction: Instruction) -> Semantics:
    """The mask of lanes that hold the same value (`any`), or of all if they all do (`all`).

    As many lanes have no lower one in their mask as there are different values in their groups.
    """
    found = form(instruction, ("sync", "any", "all"))
    mode = found.one_of(("any", "all"))

    def function(active: Lanes, a: Lanes, members: Lanes) -> tuple[Lanes, Lanes | int]:
        if mode == "any":
            same = np.array([ballot((a == value) & active) for value in a.tolist()]) & members
            is_first = same & ((1 << _LANES) - 1) == 0
            return same, int((is_first & active).sum())

        def agree(lanes: Lanes) -> bool:
            return len(set(a[lanes].tolist())) <= 1

        masks = _by_group(active, members, lambda lanes: ballot(lanes) if agree(lanes) else 0)
        return masks, _by_group(active, members, agree).astype(bool)

    finds_each = mode == "any"
    results = ("b32",) if finds_each else ("b32", "pred")
    return Semantics(
        (found.type, "b32"), results, function, takes_active=True, gives_values=finds_each
    )


_REDUCTIONS: dict[str, Callable[[Lanes], int]] = {
    "add": lambda values: int(values.sum()),
    "min": lambda values: int(values.min()),
    "max": lambda values: int(values.max()),
    "and": lambda values: int(np.bitwise_and.reduce(values)),
    "or": lambda values: int(np.bitwise_or.reduce(values)),
    "xor": lambda values: int(np.bitwise_xor.reduce(values)),
}


def _redux(instruction: Instruction) -> Semantics:
    found = form(instruction, ("sync", *_REDUCTIONS))
    if found.type not in ("u32", "s32", "b32"):
        raise UndefinedFormError
    reduction = _REDUCTIONS[found.one_of(_REDUCTIONS)]

    def function(active: Lanes, a: Lanes, members: Lanes) -> Lanes:
        return _by_group(active, members, lambda lanes: reduction(a[lanes]))

    return Semantics((found.type, "b32"), (found.type,), function, takes_active=True)


def _activemask(instruction: Instruction) -> Semantics:
    return Semantics((), ("b32",), lambda active: _everywhere(ballot(active)), takes_active=True)


def _elect(instruction: Instruction) -> Semantics:
    """The lowest participating lane is the leader."""

    def function(active: Lanes, members: Lanes) -> tuple[Lanes, Lanes]:
        leaders = _by_group(active, members, lambda lanes: int(np.argmax(lanes)))
        return leaders, np.equal(_LANES, leaders)

    return Semantics(("b32",), ("b32", "pred"), function, takes_active=True)


DEFINITIONS: Definitions = {
    "shfl": _shfl,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "activemask": _activemask,
    "elect": _elect,
}
