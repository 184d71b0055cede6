"""Chips: their numbers with sources, and what follows from them alone."""
