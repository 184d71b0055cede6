"""From a GPU to its machine file: microbenchmarks, their runner, and the fits of its results."""
