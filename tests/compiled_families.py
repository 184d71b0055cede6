"""Families of the suite, compiled whole."""

from __future__ import annotations

from kernelcast.frontends import LoadedModule, load
from kernelcast.suite.registry import families
from kernelcast.suite.table import Scale
from kernelcast.toolchain.cache import Cache


def load_family(family: str, architecture: str, cache: Cache | None = None) -> LoadedModule:
    """The compiled code of a family, with every template that a launch of it names."""
    members = families()[family]
    launches = [launch for k in members for scale in Scale for launch in k.launches(scale)]
    return load(
        members[0].source,
        architecture=architecture,
        kernels=[launch.kernel for launch in launches],
        cache=cache,
    )
