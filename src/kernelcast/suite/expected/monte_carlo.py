"""Results of the Monte Carlo kernels."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

from typing import Any

import numpy as np

from kernelcast.suite.expected import ExpectedResult, ExpectedValues, Given, exact, near


def seeded(n: int) -> ExpectedValues:
    h = np.arange(1, n + 1, dtype=np.uint32) * np.uint32(2654435769)
    h ^= h >> 16
    h *= np.uint32(2246822507)
    h ^= h >> 13
    return np.asarray(np.maximum(h, 1))


def xorshift(state: ExpectedValues) -> ExpectedValues:
    """The next words, which are the new state."""
    state ^= state << 13
    state ^= state >> 17
    state ^= state << 5
    return state.copy()


def in_circle(a: ExpectedValues, b: ExpectedValues) -> ExpectedValues:
    squared = (a >> 20).astype(int) ** 2 + (b >> 20).astype(int) ** 2
    return np.asarray(squared < 4096**2)


def philox(counter: ExpectedValues, draw: int, key: int) -> list[ExpectedValues]:
    """Philox 4x32-10 as defined, in integers that never wrap."""
    mask = 0xFFFFFFFF
    c: list[Any] = [counter.astype(object), draw, 0, 0]
    k0, k1 = key, 0
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k0, second & mask, first >> 32 ^ c[3] ^ k1, first & mask]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return [np.broadcast_to(word, counter.shape).astype(np.uint32) for word in c]


def monte_carlo_pi_xorshift(g: Given) -> ExpectedResult:
    state, hits = seeded(g.n), np.zeros(g.n, int)
    for _ in range(g.samples):
        hits += in_circle(xorshift(state), xorshift(state))
    return exact(hits=hits)


def monte_carlo_pi_philox(g: Given) -> ExpectedResult:
    hits = 0
    for draw in range(g.samples):
        a, b, c, d = philox(np.arange(g.n), draw, g.key)
        hits += in_circle(a, b).sum() + in_circle(c, d).sum()
    return exact(hits=np.array(hits))


def monte_carlo_option(g: Given) -> ExpectedResult:
    state, total = seeded(g.n), np.zeros(g.n)
    for _ in range(g.samples):
        u = ((xorshift(state) >> 8) + 1.0) / (1 << 24)
        v = (xorshift(state) >> 8) / (1 << 24)
        z = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
        total += np.maximum(np.exp(g.drift + g.spread * z) - g.strike, 0)
    return near(1e-5, 1e-6, payoff=total / g.samples)


def monte_carlo_walk(g: Given) -> ExpectedResult:
    state, at, steps = seeded(g.n), np.zeros(g.n, int), np.zeros(g.n, int)
    for _ in range(g.most):
        walking = np.abs(at) < g.limit
        at += np.where(walking, np.where(xorshift(state) >> 31, 1, -1), 0)
        steps += walking
    return exact(steps=steps)
