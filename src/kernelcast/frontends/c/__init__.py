"""C loops as kernels: read, tested for dependences, written as CUDA C++, launched."""
