"""Analyses of kernels that need neither an ISA nor a machine."""
