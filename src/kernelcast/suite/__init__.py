"""Kernels of known results: the programs on which models are held to a measured GPU."""
