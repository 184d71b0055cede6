"""A forecast for GPU kernels: how long, on which chip, and what binds it, without a GPU."""
