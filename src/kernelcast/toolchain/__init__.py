"""NVIDIA's compilers, found in installed wheels; results are cached by content."""
