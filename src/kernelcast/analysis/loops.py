"""Natural loops of a control-flow graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelcast.analysis.cfg import Edges, immediate_dominators


@dataclass(frozen=True, slots=True)
class Loop:
    """Blocks that can reach a back edge to `header`, which is among them."""

    header: int
    blocks: frozenset[int]


def natural_loops(successors: Edges, entries: Sequence[int] = (0,)) -> tuple[Loop, ...]:
    """Loops by header, of every back edge: one to a block that dominates its source.

    Loops of one header are one loop (Aho, Lam, Sethi & Ullman 2006, section 9.6). A cycle with
    several entries is no natural loop.
    """
    root = len(successors)
    edges = [*successors, tuple(entries)]
    dominator = immediate_dominators(edges, root)
    predecessors: list[list[int]] = [[] for _ in edges]
    for block in dominator:
        for target in edges[block]:
            predecessors[target].append(block)
    bodies: dict[int, set[int]] = {}
    for block in dominator:
        for target in edges[block]:
            if _dominates(target, block, dominator):
                body = bodies.setdefault(target, {target})
                pending = [block]
                while pending:
                    member = pending.pop()
                    if member not in body:
                        body.add(member)
                        pending += predecessors[member]
    return tuple(Loop(header, frozenset(bodies[header])) for header in sorted(bodies))


def innermost(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """The loops that hold no other."""
    return tuple(
        loop for loop in loops if not any(o.header in loop.blocks for o in loops if o is not loop)
    )


def _dominates(above: int, block: int, dominator: dict[int, int]) -> bool:
    while block != above:
        parent = dominator[block]
        if parent == block:
            return False
        block = parent
    return True
