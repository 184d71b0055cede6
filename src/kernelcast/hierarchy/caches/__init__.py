"""Caches, simulated: an L1 for every SM, the L2 cache, and what reaches the DRAM."""
