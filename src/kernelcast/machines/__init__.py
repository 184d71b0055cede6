"""Chips: their numbers with sources, and what follows from them alone."""

DEFAULT_GPU = "h100-sxm"
"""The GPU of every function and command that is not told one."""
