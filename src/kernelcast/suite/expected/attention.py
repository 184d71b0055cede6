"""Results of the attention kernels."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, near


def attention_query(g: Given) -> ExpectedResult:
    q, k, v = (x.astype(float) for x in (g.q, g.k, g.v))
    weights = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2]))
    return near(1e-5, y=weights @ v / weights.sum(2, keepdims=True))


attention_online = attention_query


def attention_sparse(g: Given) -> ExpectedResult:
    q, k, v = (x.astype(float) for x in (g.q, g.k, g.v))
    scores = np.einsum("htd,htcd->htc", q, k[:, g.index]) / np.sqrt(q.shape[2])
    weights = np.exp(scores)
    results = np.einsum("htc,htcd->htd", weights, v[:, g.index])
    return near(1e-5, y=results / weights.sum(2)[..., None])
