"""What runs on the machine with the GPU, by Python 3.10 and its standard library alone.

A pack holds this package by itself, outside of kernelcast: its modules import each other by
relative names.
"""
