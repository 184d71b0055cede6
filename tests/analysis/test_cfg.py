"""The order of basic blocks: what the executors' reconvergence stands on."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcast.analysis.cfg import layout_order

Graph = list[list[int]]


@pytest.mark.parametrize(
    ("successors", "order"),
    [
        ([[]], [0]),
        ([[0]], [0]),
        ([[1, 2], [2], []], [0, 1, 2]),  # if
        ([[1, 2], [3], [3], []], [0, 1, 2, 3]),  # if, else
        ([[2, 3], [], [1], [1]], [0, 2, 3, 1]),  # the block that rejoins is written first
        ([[1, 2], [], [0]], [0, 2, 1]),  # a loop around the entry, its exit written first
        ([[1], [3, 2], [4], [1], []], [0, 1, 3, 2, 4]),  # a loop with its exit in the middle
        ([[1], [2, 4], [3, 5], [1], [6], [6], []], [0, 1, 2, 3, 4, 5, 6]),  # a break and an exit
        ([[1], [2, 5], [3, 4], [2], [1], []], [0, 1, 2, 3, 4, 5]),  # nested loops
        ([[2], [], [2]], [0, 2]),  # unreachable 1
    ],
)
def test_known_orders(successors: Graph, order: list[int]) -> None:
    assert layout_order(successors) == order


def test_entry_may_be_any_block() -> None:
    assert layout_order([[], [2], [0]], entry=1) == [1, 2, 0]


def test_deep_nests_and_long_chains_need_no_recursion() -> None:
    depth = 700
    nest = [[n + 1, 2 * depth - n] for n in range(depth)]
    nest += [[depth - 1 - n, depth + 1 + n] for n in range(depth)] + [[]]
    assert layout_order(nest) == list(range(2 * depth + 1))
    chain = [[n + 1] for n in range(20_000)] + [[]]
    assert layout_order(chain) == list(range(20_001))


class _Structured:
    """A random program of sequences, branches and loops with break, continue and return.

    Only such programs' graphs are sure to be reducible: every loop has one entry.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.graph: Graph = [[]]
        self.end = self._new()
        last = self._statements(0, depth=0, loop=None)
        self._edge(last, self.end)

    def _new(self) -> int:
        self.graph.append([])
        return len(self.graph) - 1

    def _edge(self, block: int | None, target: int) -> None:
        if block is not None:
            self.graph[block].append(target)

    def _statements(
        self, block: int | None, depth: int, loop: tuple[int, int] | None
    ) -> int | None:
        for _ in range(self.rng.randrange(1, 4)):
            if block is None:
                return None
            block = self._statement(block, depth, loop)
        return block

    def _statement(self, block: int, depth: int, loop: tuple[int, int] | None) -> int | None:
        kinds = ["plain", "return"] + ["if", "loop"] * 3 * (depth < 3)
        kinds += ["break", "continue"] * (loop is not None)
        kind = self.rng.choice(kinds)
        if kind in ("return", "break", "continue") and self.rng.random() < 0.7:
            following = self._new()  # under a condition
            self._edge(block, following)
        else:
            following = None
        if kind == "return":
            self._edge(block, self.end)
            return following
        if kind == "break" and loop:
            self._edge(block, loop[1])
            return following
        if kind == "continue" and loop:
            self._edge(block, loop[0])
            return following
        if kind == "if":
            then, other, join = self._new(), self._new(), self._new()
            self.graph[block] += [then, other]
            self._edge(self._statements(then, depth + 1, loop), join)
            self._edge(self._statements(other, depth + 1, loop), join)
            return join
        if kind == "loop":
            header, body, after = self._new(), self._new(), self._new()
            self._edge(block, header)
            self.graph[header] += [body, after]
            self._edge(self._statements(body, depth + 1, (header, after)), header)
            return after
        return block


def shuffled(graph: Graph, rng: random.Random) -> Graph:
    """The same graph with its blocks renumbered, the entry aside."""
    numbers = list(range(1, len(graph)))
    rng.shuffle(numbers)
    new = [0, *numbers]
    renumbered: Graph = [[] for _ in graph]
    for block, targets in enumerate(graph):
        renumbered[new[block]] = [new[t] for t in targets]
    return renumbered


def reached(graph: Graph, start: int, without: int = -1) -> set[int]:
    """The blocks on paths from `start` that avoid `without`."""
    seen = {start} - {without}
    pending = list(seen)
    while pending:
        for target in graph[pending.pop()]:
            if target != without and target not in seen:
                seen.add(target)
                pending.append(target)
    return seen


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_loops_are_contiguous_and_all_other_edges_point_forward(rng: random.Random) -> None:
    graph = shuffled(_Structured(rng).graph, rng)
    order = layout_order(graph)
    place = {block: at for at, block in enumerate(order)}
    assert order[0] == 0
    assert set(order) == reached(graph, 0)
    assert len(order) == len(place)
    predecessors: Graph = [[] for _ in graph]
    for block in order:
        for target in graph[block]:
            predecessors[target].append(block)
    bodies: dict[int, set[int]] = {}
    for header in order:
        ends = [block for block in predecessors[header] if place[block] >= place[header]]
        if ends:
            # A backward edge must close a loop: no path from the entry avoids its header.
            assert not set(ends) & reached(graph, 0, without=header)
            within = (reached(predecessors, end, without=header) for end in ends)
            bodies[header] = {header}.union(*within)
    for header, body in bodies.items():
        places = sorted(place[b] for b in body)
        assert places == list(range(place[header], place[header] + len(body)))
        for block in body:
            for target in graph[block]:
                assert target in body or place[target] > places[-1]


@settings(deadline=None)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, n - 1), max_size=3, unique=True), min_size=n, max_size=n
        )
    )
)
def test_any_graph_keeps_cycles_together_and_points_forward_between_them(graph: Graph) -> None:
    order = layout_order(graph)
    place = {block: at for at, block in enumerate(order)}
    assert order[0] == 0
    assert set(order) == reached(graph, 0)
    assert len(order) == len(place)
    after = {block: reached(graph, block) for block in order}
    for block in order:
        cycle = [b for b in order if b in after[block] and block in after[b]]
        places = [place[b] for b in cycle]
        assert places == list(range(places[0], places[0] + len(places)))
        for target in graph[block]:
            assert place[target] > place[block] or target in cycle
