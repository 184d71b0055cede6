"""Whether a cache can be cut into sets: of whole lines, as many in each as it has ways."""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.errors import InputError

SHAPES = (("l1.size", "l1.ways", "l1.line"), ("l2.size", "l2.ways", "l2.line"))
"""Capacity, ways and line of every cache."""


def check_shape(numbers: Mapping[str, float], where: str) -> None:
    """InputError where the ways of a cache do not divide its capacity.

    `numbers` are its capacity, ways and line by path, in this order; bytes, ways, bytes.
    """
    (size, capacity), (path, ways), (_, line_bytes) = numbers.items()
    if capacity % (ways * line_bytes):
        raise InputError(
            f"{size} {capacity:.0f} B is no multiple of {ways:.0f} ways of "
            f"{line_bytes:.0f} B lines",
            where=where,
            hint=f"take sizes that {ways * line_bytes:.0f} B divide, or other {path}",
        )
