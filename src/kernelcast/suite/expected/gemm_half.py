"""Results of the matrix products in half precision."""

from kernelcast.suite.expected import ExpectedResult, Given, near


def gemm_half2(g: Given) -> ExpectedResult:
    """Sums of up to 32 products are rounded to 11 bits each time."""
    return near(1e-2, c=g.a.astype(float) @ g.b.astype(float))


def gemm_wmma(g: Given) -> ExpectedResult:
    """Products are exact; how matrix instructions round their sums is not said."""
    return near(1e-4, c=g.a.astype(float) @ g.b.astype(float))
