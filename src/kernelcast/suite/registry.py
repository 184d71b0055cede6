"""The suite: kernels with known results, by family.

A family is a pair of files in `families`: `<family>.cu` holds the kernels, `<family>.py` their
launches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module

from kernelcast.errors import NotFoundError
from kernelcast.suite.table import SOURCES, SuiteKernel


@cache
def families() -> Mapping[str, tuple[SuiteKernel, ...]]:
    """The kernels of every family."""
    return {file.stem: _family(file.stem) for file in sorted(SOURCES.glob("*.cu"))}


@cache
def kernels() -> Mapping[str, SuiteKernel]:
    """All kernels by name."""
    return {kernel.name: kernel for family in families().values() for kernel in family}


def kernel_named(name: str) -> SuiteKernel:
    """The kernel of that name; NotFoundError with the nearest names where there is none."""
    try:
        return kernels()[name]
    except KeyError:
        raise NotFoundError("kernel", name, kernels()) from None


def _family(family: str) -> tuple[SuiteKernel, ...]:
    module = import_module(f"{__package__}.families.{family}")
    return tuple(replace(kernel, family=family) for kernel in module.KERNELS)
