"""An Accel-Sim trace as one of ours."""

from __future__ import annotations

import re
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.traces.accel_sim.arrays import arrays
from kernelcast.traces.accel_sim.lines import TraceText, open_text
from kernelcast.traces.accel_sim.stream import stream
from kernelcast.traces.accel_sim.survey import survey
from kernelcast.traces.stored import StoredTrace, TraceHead

MAKER = "Accel-Sim"

_COPY = re.compile(r"Memcpy[HD]to[HD],(0x[0-9a-fA-F]+),(\d+)")
_MAX_ARRAY_BYTES = 1 << 40
_END = 1 << 63

_CopiedRanges = list[tuple[int, int]]
"""Address and bytes of arrays."""


def read_accel_sim(path: Path, number: int | None = None) -> StoredTrace:
    """The trace of one launch: of a `.traceg`, or of launch `number`, from 1, of a list of them.

    Raises InputError where it is none, is cut short, or the list holds several and no number says
    which.
    """
    with open_text(path) as file:
        is_list = not file.readline().startswith("-")
    if not is_list and number not in (None, 1):
        raise InputError(f"no launch {number}", where=str(path), hint="it holds 1")
    path, copies = _chosen(path, number) if is_list else (path, [])
    text = TraceText(path)
    found = survey(text)
    regions = arrays(copies, found.touched)
    head = TraceHead(found.kernel, text.head.launch, found.blocks, regions)
    return StoredTrace(head, MAKER, lambda: stream(text, found))


def listed_launches(path: Path) -> int:
    """How many launches a list names; 1 for a trace itself."""
    with open_text(path) as file:
        first = file.readline()
        if first.startswith("-"):
            return 1
        return sum(line.strip().startswith("kernel") for line in (first, *file))


def _chosen(path: Path, number: int | None) -> tuple[Path, _CopiedRanges]:
    """The trace that a list names, and the copies to the device before it."""
    copies: _CopiedRanges = []
    names: list[str] = []
    wanted = number or 1
    with open_text(path) as file:
        for line in map(str.strip, file):
            if line.startswith("kernel"):
                names.append(line)
            elif len(names) < wanted and (copy := _COPY.fullmatch(line)):
                copies.append((int(copy[1], 16), int(copy[2])))
    if number is None and len(names) > 1:
        raise InputError(f"{len(names)} launches", where=str(path), hint="choose one with --launch")
    if wanted > len(names):
        raise InputError(f"no launch {wanted}", where=str(path), hint=f"it lists {len(names)}")
    if any(at + size > _END or size > _MAX_ARRAY_BYTES for at, size in copies):
        raise InputError("a copy outside the memory", where=str(path), hint="correct the list")
    return path.parent / names[wanted - 1], copies
