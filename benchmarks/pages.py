"""How long a page takes to be made, and how large it is: 1,000 instructions, 500 source lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.measured import Measured, median_seconds
from kernelcast import api
from kernelcast.reporting.documents.explain import explain_document
from kernelcast.reporting.documents.report import ReportDocument, page_of
from kernelcast.reporting.documents.sources import ShownFile, TextLine
from kernelcast.reporting.html import page

_EXAMPLE = Path(__file__).parents[1] / "examples/transpose.cu"
_LINES, _INSTRUCTIONS = 500, 1000


def measure() -> Iterator[Measured]:
    document = _large()
    text = page(document)
    seconds = median_seconds(lambda: page(document), 9)
    yield Measured("a page of 1000 instructions", 1e3 * seconds, "ms", 300, True)
    yield Measured("its size", len(text.encode()) / 1e6, "MB", 1, True)


def _large() -> ReportDocument:
    """An example whose every line and instruction is repeated."""
    (case,) = api.cases(api.workload(_EXAMPLE), [api.machine()])
    found = explain_document(api.predict(case, "volkov"))
    line, one, source = found.lines[0], found.instructions[0], found.sources[0]
    numbers = range(1, _LINES + 1)
    text = "    float value = input[blockIdx.x * blockDim.x + threadIdx.x] * scale;"
    rows = [TextLine(n, text) for n in numbers]
    replace = msgspec.structs.replace
    return page_of(
        [
            replace(
                found,
                lines=[replace(line, line=n) for n in numbers],
                sources=[ShownFile(source.file, source.name, True, rows)],
                instructions=[
                    replace(one, index=n, line=n % _LINES + 1) for n in range(_INSTRUCTIONS)
                ],
            )
        ]
    )
