"""Launches of loops as the block of a source that says them (see `frontends.workloads`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from kernelcast.ir import Argument, Launch


def launch_comment(launches: Sequence[Launch]) -> str:
    """A comment with which a source of these kernels is forecast as it is: its launches."""
    lines = [line for launch in launches for line in _table(launch)]
    return "\n".join(("/* kernelcast", *lines, "*/", ""))


def _table(launch: Launch) -> Iterator[str]:
    yield "[[launch]]"
    yield f"kernel = {json.dumps(launch.kernel)}"
    yield f"grid = {list(launch.grid)}"
    yield f"block = {list(launch.block)}"
    if launch.smem_bytes:
        yield f"smem = {launch.smem_bytes}"
    if launch.repeat > 1:
        yield f"repeat = {launch.repeat}"
    args = (f"{label} = {_value(value)}" for label, value in launch.args.items())
    yield f"args = {{ {', '.join(args)} }}"


def _value(value: Argument) -> str:
    return repr(value) if isinstance(value, int | float) else json.dumps(str(value))
