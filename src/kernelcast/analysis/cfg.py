"""Control-flow graphs: the order in which basic blocks are laid out, and dominators."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

Edges = Sequence[Sequence[int]]
"""The successors of every block, by its number."""


def layout_order(successors: Edges, entry: int = 0) -> list[int]:
    """Order the blocks that `entry` reaches, `entry` first.

    The body of every loop is contiguous and stands before the blocks the loop leaves to; every
    block stands before those that rejoin after it. So all edges point forward but those back to
    the header of a loop, and, where a loop has several entries, those to its further entries.
    Among blocks that could stand next, the one of lowest number does.

    A loop is a strongly connected component; its header is the block by which it is entered. With
    the edges to the header cut, the component falls into its inner loops and plain blocks, which
    are ordered the same way (Bourdoncle 1993, weak topological orders).
    """
    outside = len(successors)  # a block before the entry, which may itself be a loop's header
    successors = [*successors, (entry,)]
    predecessors: list[list[int]] = [[] for _ in successors]
    for block, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(block)
    order: list[int] = []
    pending = [(reachable(successors, outside), outside)]
    while pending:
        region, header = pending.pop()
        if len(region) == 1:
            order.append(header)
            continue
        parts = _sorted_components(successors, region, header)
        pending += [(part, _header(part, predecessors, region, header)) for part in reversed(parts)]
    return order[1:]


def reachable(successors: Edges, entry: int) -> set[int]:
    """The blocks that may run once a block does, itself among them."""
    seen = {entry}
    pending = [entry]
    while pending:
        for target in successors[pending.pop()]:
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return seen


def _header(
    part: set[int], predecessors: Edges, region: Collection[int], region_header: int
) -> int:
    """The block by which a component is entered; the lowest, where there are several."""
    if region_header in part:
        return region_header
    return min(
        block for block in part if any(p in region and p not in part for p in predecessors[block])
    )


def _sorted_components(successors: Edges, region: set[int], header: int) -> list[set[int]]:
    """Strongly connected components of a region without the edges to its header, sorted."""
    edges = {
        block: [t for t in successors[block] if t in region and t != header] for block in region
    }
    components = _components(edges, header)
    component_of = {block: c for c, part in enumerate(components) for block in part}
    targets = [
        {component_of[t] for block in part for t in edges[block]} - {c}
        for c, part in enumerate(components)
    ]
    waiting_for = [0] * len(components)
    for successors_of_part in targets:
        for target in successors_of_part:
            waiting_for[target] += 1
    lowest = [min(part) for part in components]
    ready = [(lowest[c], c) for c in range(len(components)) if waiting_for[c] == 0]
    ordered = []
    while ready:
        _, current = heapq.heappop(ready)
        ordered.append(components[current])
        for target in targets[current]:
            waiting_for[target] -= 1
            if waiting_for[target] == 0:
                heapq.heappush(ready, (lowest[target], target))
    return ordered


def _components(edges: dict[int, list[int]], start: int) -> list[set[int]]:
    """Strongly connected components reached from `start` (Tarjan 1972)."""
    number: dict[int, int] = {start: 0}
    low = {start: 0}
    path = [start]
    on_path = {start}
    components: list[set[int]] = []
    # The recursion as a stack of its own: a kernel may have thousands of blocks in a row.
    calls = [(start, iter(edges[start]))]
    while calls:
        block, rest = calls[-1]
        for target in rest:
            if target not in number:
                number[target] = low[target] = len(number)
                path.append(target)
                on_path.add(target)
                calls.append((target, iter(edges[target])))
                break
            if target in on_path:
                low[block] = min(low[block], number[target])
        else:
            calls.pop()
            if calls:
                caller = calls[-1][0]
                low[caller] = min(low[caller], low[block])
            # Nothing below reaches further up: what lies above `block` on the path is a component.
            if low[block] == number[block]:
                part = set()
                while block not in part:
                    part.add(path.pop())
                on_path -= part
                components.append(part)
    return components


def immediate_dominators(edges: Edges, root: int) -> dict[int, int]:
    """The immediate dominator of every block that `root` reaches; the root's is itself.

    Iteration over the reverse postorder (Cooper, Harvey & Kennedy 2001, figure 3).
    """
    order = _reverse_postorder(edges, root)
    place = {block: number for number, block in enumerate(order)}
    predecessors: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for target in edges[block]:
            predecessors[target].append(block)
    dominator = {root: root}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            new, *others = [p for p in predecessors[block] if p in dominator]
            for other in others:
                while new != other:
                    while place[new] > place[other]:
                        new = dominator[new]
                    while place[other] > place[new]:
                        other = dominator[other]
            if dominator.get(block) != new:
                dominator[block] = new
                changed = True
    return dominator


def _reverse_postorder(edges: Edges, root: int) -> list[int]:
    done: list[int] = []
    seen = {root}
    calls = [(root, iter(edges[root]))]
    while calls:
        block, rest = calls[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                calls.append((target, iter(edges[target])))
                break
        else:
            calls.pop()
            done.append(block)
    return done[::-1]
