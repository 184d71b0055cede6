"""Results of the matrix products."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

from kernelcast.suite.expected import ExpectedResult, Given, near


def gemm_naive(g: Given) -> ExpectedResult:
    return near(1e-5, c=g.a.astype(float) @ g.b.astype(float))


gemm_by_columns = gemm_tiled = gemm_register = gemm_naive


def gemm_tiled_double(g: Given) -> ExpectedResult:
    return near(1e-13, c=g.a @ g.b)
