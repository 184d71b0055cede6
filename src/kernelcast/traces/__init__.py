"""Traces as files: the package's own format, and that of Accel-Sim (see docs/traces.md)."""
