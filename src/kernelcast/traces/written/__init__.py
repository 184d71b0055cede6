"""Traces written by hand: a listing of native code, and what every warp did (docs/traces.md)."""
