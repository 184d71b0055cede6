"""Kernels of other Python packages, forecast as they are, on a machine without a GPU.

triton          functions of `triton.jit`, compiled by Triton; a model for `prune_configs_by`
numba           functions of `numba.cuda.jit`, compiled by Numba
cupy            `cupy.RawKernel`
kernel_tuner    the tuning loop of Kernel Tuner, with forecasts in place of times

Each is a module of its own and takes its package from an extra of the same name.
"""
