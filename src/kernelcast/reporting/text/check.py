"""What goes wrong in kernels: each with its line, its threads, and what to do."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from kernelcast.reporting.documents.check import CheckDocument, MisusePart, ThreadPart
from kernelcast.reporting.figures import grouped
from kernelcast.reporting.layout import bullets, section, spaced

_INDENT = (0, 0, 0, 2)


def render(document: CheckDocument, *, brief: bool) -> RenderableType:
    """The misuses, one after the other, and their number; `brief` keeps the number."""
    if brief:
        return _summary(document)
    failures = None
    if document.failures:
        failures = section("Launches that failed", bullets(document.failures))
    return spaced([*map(_misuse, document.misuses), failures, _summary(document)])


def _summary(document: CheckDocument) -> Text:
    launches = _counted(document.launches, "launch", "launches")
    kernels = _counted(len(document.kernels), "kernel", "kernels")
    checked = f"{launches} of {kernels} checked on {document.gpu}"
    if not document.misuses:
        text = Text.assemble(("nothing found", "green"), f": {checked}")
    else:
        misuses = _counted(len(document.misuses), "misuse", "misuses")
        text = Text.assemble((misuses, "bold red"), f" found: {checked}")
    if document.exit_status:
        text.append(f"; exit status {document.exit_status}", style="red")
    return text


def _counted(number: int, one: str, several: str) -> str:
    return f"{grouped(number)} {one if number == 1 else several}"


def _misuse(misuse: MisusePart) -> RenderableType:
    times = "" if misuse.count == 1 else f", {grouped(misuse.count)} times"
    where = "" if misuse.place is None else f" at {line_words(misuse.place)}"
    lines = [misuse_words(misuse)]
    if misuse.other is not None:
        lines.append(f"the other: {thread_words(misuse.other)}")
    lines.append(misuse.hint)
    head = Text.assemble((str(misuse.kind), "bold red"), f"{where}, kernel {misuse.kernel}{times}")
    return Group(head, *(Padding(Text(line), _INDENT) for line in lines if line))


def misuse_words(misuse: MisusePart) -> str:
    """Who does what: `thread (0,0,0) of block 0 (STS): writes ...`."""
    if misuse.place is None:
        return misuse.what
    return f"{_thread_name(misuse.place)} ({misuse.place.instruction}): {misuse.what}"


def thread_words(place: ThreadPart) -> str:
    """A thread with its line and instruction."""
    return f"{_thread_name(place)} ({place.instruction}) at {line_words(place)}"


def line_words(place: ThreadPart) -> str:
    """`k.cu:12`, or that the line is not known."""
    return "an unknown line" if place.file is None else f"{place.file}:{place.line}"


def _thread_name(place: ThreadPart) -> str:
    return f"thread ({','.join(map(str, place.thread))}) of block {place.block}"
