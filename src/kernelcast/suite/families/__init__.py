"""One family of kernels per pair of files: their code (.cu) and their launches (.py)."""
