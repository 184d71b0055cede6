"""Run benchmarks (all, or those named) and print one table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from benchmarks.measured import Measured

_PARTS = {"__init__", "__main__", "measured"}
"""Modules of this folder that measure nothing."""


def names() -> list[str]:
    return sorted({file.stem for file in Path(__file__).parent.glob("*.py")} - _PARTS)


def rows(chosen: list[str]) -> Iterator[Measured]:
    for name in chosen:
        yield from import_module(f"benchmarks.{name}").measure()


def main(chosen: list[str]) -> int:
    if unknown := sorted(set(chosen) - set(names())):
        print(f"unknown benchmark {unknown[0]!r}; known: {', '.join(names())}", file=sys.stderr)
        return 2
    print(f"{'':52}{'measured':>12}  {'promised':>12}")
    for row in rows(chosen or names()):
        bound = "" if row.target is None else f"{'<' if row.at_most else '>'} {row.target:g}"
        verdict = "" if row.holds else "  missed"
        print(f"{row.name:52}{row.value:12.4g}  {bound:>12}  {row.unit}{verdict}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
