"""Runs a kernel on the CPU: Kernel, Launch and Memory in, Trace out."""
