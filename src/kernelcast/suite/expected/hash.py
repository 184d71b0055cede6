"""Results of the hash functions and tables."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import (
    ExpectedResult,
    ExpectedValues,
    Given,
    exact,
    in_any_order,
)

U32, U64 = np.uint32, np.uint64


def mixed(h: ExpectedValues) -> ExpectedValues:
    h = (h ^ (h >> 16)) * U32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * U32(0xC2B2AE35)
    return np.asarray(h ^ (h >> 16))


def rotated(h: ExpectedValues, by: int) -> ExpectedValues:
    return (h << by) | (h >> (32 - by))


def hash_build(g: Given) -> ExpectedResult:
    keys = np.unique(g.key)
    return in_any_order("table", table=np.pad(keys, (0, g.slots - keys.size), constant_values=-1))


def hash_probe(g: Given) -> ExpectedResult:
    slot = (mixed(g.key.astype(U32)) % g.slots).astype(int)
    steps = np.zeros(g.n, int)
    while (going := (g.table[slot] >= 0) & (g.table[slot] != g.key)).any():
        slot = np.where(going, (slot + 1) % g.slots, slot)
        steps += going
    return exact(steps=np.where(g.table[slot] == g.key, steps, -1 - steps))


def hash_fnv(g: Given) -> ExpectedResult:
    h = np.full(g.n, 14695981039346656037, U64)
    for j in range(g.pitch):
        h = np.where(j < g.length, (h ^ g.text[:, j]) * U64(1099511628211), h)
    return exact(hash=h)


def hash_murmur3(g: Given) -> ExpectedResult:
    def scrambled(k: ExpectedValues) -> ExpectedValues:
        return rotated(k * U32(0xCC9E2D51), 15) * U32(0x1B873593)

    h = np.full(g.n, g.seed, U32)
    words = g.text.view(U32)
    for w in range(words.shape[1]):
        longer = rotated(h ^ scrambled(words[:, w]), 13) * U32(5) + U32(0xE6546B64)
        h = np.where(w < g.length // 4, longer, h)
    last = np.minimum(g.length // 4, words.shape[1] - 1)
    kept = (U32(1) << (8 * (g.length % 4)).astype(U32)) - U32(1)
    rest = np.take_along_axis(words, last[:, None], 1)[:, 0] & kept
    return exact(hash=mixed(h ^ scrambled(rest) ^ g.length.astype(U32)))
