"""Arithmetic of what caches count."""

from __future__ import annotations

import math

from kernelcast.hierarchy.caches.counts import CacheCounts, Lookups, SimulatedBlocks


def test_what_a_cache_lacks_is_asked_of_the_next():
    both = Lookups(6.0, 2.0) + Lookups(2.0, 2.0)
    assert (both.misses, both.hit_ratio) == (4.0, 0.5)
    assert math.isnan(Lookups().hit_ratio)


def test_no_access_counts_nothing():
    every = SimulatedBlocks(1, 1, 0.0, True)
    assert CacheCounts((), 0.0, 0.0, 0.0, 0.0, every).l2_sectors == 0
