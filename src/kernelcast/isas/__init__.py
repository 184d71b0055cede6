"""Instruction sets: what instructions mean, one package each."""
