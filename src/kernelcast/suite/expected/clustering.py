"""Results of the kernels on points."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, exact


def clustering_assign(g: Given) -> ExpectedResult:
    apart = ((g.point.T[:, None] - g.centre) ** 2).sum(2)
    return exact(label=apart.argmin(1))


def clustering_accumulate(g: Given) -> ExpectedResult:
    sums = np.zeros(g.sum.shape)
    np.add.at(sums, g.label, g.point.T)
    return exact(sum=sums, count=np.bincount(g.label, minlength=g.k))


def clustering_density(g: Given) -> ExpectedResult:
    apart = ((g.point[:, None] - g.point) ** 2).sum(2)
    return exact(neighbours=(apart <= g.radius**2).sum(1))
