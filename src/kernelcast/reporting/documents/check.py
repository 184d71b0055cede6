"""What `check` answers: what goes wrong in kernels, by kind, with its line and threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from kernelcast.checking.checked import CheckedLaunch
from kernelcast.checking.misuses import TOOLS, Misuse, MisuseKind, ThreadPlace, Tool
from kernelcast.reporting.documents.base import Extents, Natural, Positive, json_schema
from kernelcast.version import VERSION

_SCHEMA: Literal["kernelcast/check/1"] = "kernelcast/check/1"


class ThreadPart(Struct, frozen=True):
    """A thread at an instruction: its block by linear index in the grid, its x, y and z in the
    block. File and line are null where the code does not tell them."""

    file: str | None
    line: Positive | None
    instruction: str
    block: Natural
    thread: list[Natural]


class MisusePart(Struct, frozen=True):
    """Something wrong, `count` times between the same instructions, over `launches` of the kernel.

    `tool` is that of compute-sanitizer which looks for it. `place` is where it showed, and `other`
    the earlier access or the other barrier; null where it is no matter of one thread. `grid` and
    `block` are of the first launch.
    """

    kind: MisuseKind
    tool: Tool
    what: str
    hint: str
    kernel: str
    grid: Extents
    block: Extents
    place: ThreadPart | None
    other: ThreadPart | None
    count: Positive
    launches: Positive


class CheckedKernel(Struct, frozen=True):
    """A kernel, its launches, and how many misuses were found in them."""

    kernel: str
    launches: Positive
    misuses: Natural


class CheckDocument(Struct, frozen=True):
    """All that `check --json` prints.

    `subject` is the file, or the program with its arguments; `exit_status` is the program's, null
    of a file. `failures` are launches that could not be made or executed, and why.
    """

    schema: Literal["kernelcast/check/1"]
    kernelcast: str
    subject: list[str]
    gpu: str
    launches: Natural
    exit_status: Natural | None
    kernels: list[CheckedKernel]
    misuses: list[MisusePart]
    failures: list[str]


def check_document(
    subject: Sequence[str],
    gpu: str,
    checked: Iterable[CheckedLaunch],
    exit_status: int | None = None,
    failures: Sequence[str] = (),
) -> CheckDocument:
    """What was found in some launches; misuses between the same instructions are one."""
    found: dict[object, MisusePart] = {}
    launches: dict[str, int] = {}
    for one in checked:
        seen: set[object] = set()
        launches[one.kernel] = launches.get(one.kernel, 0) + 1
        for misuse in one.misuses:
            part = _part(misuse)
            sides = frozenset((_instruction(misuse.place), _instruction(misuse.other)))
            key = part.kernel, part.kind, sides
            known = found.get(key)
            if known is None:
                found[key] = part
            else:
                found[key] = replace(
                    known,
                    count=known.count + part.count,
                    launches=known.launches + (key not in seen),
                )
            seen.add(key)
    misuses = list(found.values())
    kernels = [
        CheckedKernel(kernel, count, sum(m.kernel == kernel for m in misuses))
        for kernel, count in launches.items()
    ]
    total = sum(launches.values())
    return CheckDocument(
        _SCHEMA,
        VERSION,
        list(subject),
        gpu,
        total,
        exit_status,
        kernels,
        misuses,
        list(failures),
    )


def check_schema() -> dict[str, Any]:
    """The JSON Schema of `check --json`."""
    return json_schema(CheckDocument, _SCHEMA, "kernelcast check --json")


def _instruction(place: ThreadPlace | None) -> object:
    return None if place is None else (str(place.location), place.instruction)


def _part(misuse: Misuse) -> MisusePart:
    return MisusePart(
        misuse.kind,
        TOOLS[misuse.kind],
        misuse.what,
        misuse.hint,
        misuse.kernel,
        list(misuse.launch.grid),
        list(misuse.launch.block),
        _thread(misuse.place),
        _thread(misuse.other),
        misuse.count,
        1,
    )


def _thread(place: ThreadPlace | None) -> ThreadPart | None:
    if place is None:
        return None
    file, line = (
        (None, None) if place.location is None else (place.location.file, place.location.line)
    )
    return ThreadPart(file, line, place.instruction, place.block, list(place.thread))
