"""Names of kernels as short as they can be told by."""

from __future__ import annotations

import re

_LONGEST = 60
"""Characters of a name that is written out."""
_LONGEST_ARGUMENTS = 24
_SCOPE = re.compile(r"::(?![^<]*>)")


def short_name(name: str) -> str:
    """A long name without what it is made of: `cub::...::DeviceScanKernel<...>`.

    Left out are long template arguments and the scopes between the outermost and its own.
    """
    if len(name) <= _LONGEST:
        return name
    scopes = _SCOPE.split(_without_arguments(name))
    return "::".join(scopes if len(scopes) < 3 else (scopes[0], "...", scopes[-1]))


def short_launch(title: str) -> str:
    """The same of a name with its launch, `name<<<64, 128>>>`."""
    name, shape, rest = title.partition("<<<")
    return short_name(name) + shape + rest


def _without_arguments(name: str) -> str:
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(name):
        begin = at if depth == 0 else begin
        depth += (character == "<") - (character == ">")
        if depth == 0:
            part = name[begin : at + 1]
            parts.append(part if len(part) <= _LONGEST_ARGUMENTS else "<...>")
    return "".join(parts)
