"""Results of the products of a sparse matrix and a vector."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, ExpectedValues, Given, near


def rows_of_entries(mean: int, jitter: ExpectedValues) -> tuple[ExpectedValues, slice]:
    """The row of every entry, and where all entries lie; row r begins at r * mean + jitter[r]."""
    begins = np.arange(jitter.size) * mean + jitter
    return np.repeat(np.arange(jitter.size - 1), np.diff(begins)), slice(begins[0], begins[-1])


def added_up(rows: ExpectedValues, terms: ExpectedValues, count: int) -> ExpectedValues:
    return np.bincount(rows, terms.astype(float), count)


def spmv_csr_scalar(g: Given) -> ExpectedResult:
    row, entries = rows_of_entries(g.mean, g.jitter)
    terms = g.value[entries].astype(float) * g.x[g.column[entries]]
    return near(1e-5, y=added_up(row, terms, g.rows))


spmv_csr_vector = spmv_csr_scalar


def spmv_ell(g: Given) -> ExpectedResult:
    terms = g.value.astype(float) * g.x[g.column]
    return near(1e-5, y=np.where(g.column >= 0, terms, 0).sum(0))


def spmv_coo(g: Given) -> ExpectedResult:
    return near(1e-5, y=added_up(g.row, g.value.astype(float) * g.x[g.column], g.y.size))
