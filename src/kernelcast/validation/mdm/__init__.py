"""The memory-divergence model on kernels of the kinds that its paper chose."""
