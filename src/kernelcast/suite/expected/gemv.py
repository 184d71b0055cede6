"""Results of the products of a matrix and a vector."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

from kernelcast.suite.expected import ExpectedResult, Given, near


def gemv_row_per_thread(g: Given) -> ExpectedResult:
    return near(1e-5, y=g.a.astype(float) @ g.x.astype(float))


gemv_row_per_warp = gemv_row_per_block = gemv_row_per_thread


def gemv_transposed(g: Given) -> ExpectedResult:
    return near(1e-5, y=g.x.astype(float) @ g.a.astype(float))
