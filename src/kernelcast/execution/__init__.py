"""Runs a kernel on the CPU: Kernel, Launch and Memory in, words of a trace out."""
