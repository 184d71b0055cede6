"""Results of the steps of graph algorithms."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, exact, in_any_order, near
from kernelcast.suite.expected.spmv import added_up, rows_of_entries


def graph_bfs_push(g: Given) -> ExpectedResult:
    vertex, edges = rows_of_entries(g.mean, g.jitter)
    reached = g.neighbour[edges][np.isin(vertex, g.frontier[: g.frontier_size])]
    new = np.unique(reached[g.level[reached] == -1])
    level, following = g.level.copy(), np.zeros_like(g.next)
    level[new] = g.depth + 1
    following[: new.size] = new
    return in_any_order("next", level=level, next=following, next_size=np.array(new.size))


def graph_bfs_pull(g: Given) -> ExpectedResult:
    vertex, edges = rows_of_entries(g.mean, g.jitter)
    neighbour = g.neighbour[edges]
    fitting = (g.level[vertex] == -1) & (g.level[neighbour] == g.depth)
    found, first = np.unique(vertex[fitting], return_index=True)
    parent = np.full(g.n, -1)
    parent[found] = neighbour[fitting][first]
    return exact(parent=parent)


def graph_pagerank_pull(g: Given) -> ExpectedResult:
    vertex, edges = rows_of_entries(g.mean, g.jitter)
    given = (g.rank / g.out_degree.astype(float))[g.neighbour[edges]]
    return near(1e-5, next=(1 - g.damping) / g.n + g.damping * added_up(vertex, given, g.n))


def graph_components_hook(g: Given) -> ExpectedResult:
    a, b = g.label[g.tail], g.label[g.head]
    following = g.next.copy()
    np.minimum.at(following, np.maximum(a, b), np.minimum(a, b))
    return exact(next=following)


def graph_components_compress(g: Given) -> ExpectedResult:
    parent = g.link % np.arange(1, g.n + 1)
    root = parent
    while (root != parent[root]).any():
        root = parent[root]
    return exact(root=root)


def graph_relax(g: Given) -> ExpectedResult:
    path = g.distance[g.tail] + g.length
    shorter = path < g.distance[g.head]
    following = g.next.copy()
    np.minimum.at(following, g.head[shorter], path[shorter])
    return exact(next=following)
