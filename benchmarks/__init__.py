"""Speeds of every stage; `scripts/bench` runs them all."""
