"""What runs on the machine with the GPU, by Python 3.10 and its standard library alone."""
