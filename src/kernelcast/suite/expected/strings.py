"""Results of the searches in texts."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, exact


def strings_search(g: Given) -> ExpectedResult:
    windows = np.lib.stride_tricks.sliding_window_view(g.text, g.m)
    return exact(found=(windows == g.pattern).all(1).sum())


strings_horspool = strings_search


def strings_edit_distance(g: Given) -> ExpectedResult:
    table = np.zeros((g.m + 1, g.m + 1, g.n), int)
    table[0], table[:, 0] = np.arange(g.m + 1)[:, None], np.arange(g.m + 1)[:, None]
    for y, x in np.ndindex(g.m, g.m):
        replaced = table[y, x] + (g.a[:, y] != g.b[:, x])
        table[y + 1, x + 1] = np.minimum(replaced, np.minimum(table[y, x + 1], table[y + 1, x]) + 1)
    return exact(distance=table[-1, -1])
