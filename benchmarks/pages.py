"""How long a page takes to be made and to be opened, and how large it is: 1,000 instructions, 500
source lines. It is opened where Debian's `chromium` and `chromium-driver` are installed."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchmarks.measured import Measured, median_seconds
from kernelcast import api
from kernelcast.reporting.documents.explain import explain_document
from kernelcast.reporting.documents.report import ReportDocument, page_of
from kernelcast.reporting.documents.sources import ShownFile, TextLine
from kernelcast.reporting.html import page

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

_EXAMPLE = Path(__file__).parents[1] / "examples/transpose.cu"
_LINES, _INSTRUCTIONS = 500, 1000


def measure() -> Iterator[Measured]:
    document = _large()
    text = page(document)
    seconds = median_seconds(lambda: page(document), 9)
    yield Measured("a page of 1000 instructions", 1e3 * seconds, "ms", 300, True)
    yield Measured("its size", len(text.encode()) / 1e6, "MB", 1, True)
    if shutil.which("chromium") and shutil.which("chromedriver"):
        yield Measured("opened in Chromium", 1e3 * _opened_s(text), "ms", 1000, True)


def _opened_s(text: str) -> float:
    """From the request to the end of the page's load event, the median of some times."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    try:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "page.html"
            file.write_text(text, "utf-8")
            return statistics.median(_load_s(driver, file.as_uri()) for _ in range(5))
    finally:
        driver.quit()


def _load_s(driver: WebDriver, address: str) -> float:
    driver.get(address)
    ends: float = driver.execute_script(
        "return performance.getEntriesByType('navigation')[0].loadEventEnd"
    )
    return ends / 1e3


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
