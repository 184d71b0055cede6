"""From what was measured on a GPU to its machine file: the fits of its results."""
