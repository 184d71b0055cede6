"""Programs that are started for what they print, and processes that work for another."""

from __future__ import annotations

import locale
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernelcast
from kernelcast.processes import captured

STARTED = """
import os, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from kernelcast.processes import become_worker

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, get_context("spawn"), become_worker)
    print(pool.submit(os.getpid).result(), flush=True)
    time.sleep(600)
"""


@pytest.fixture
def ascii_locale() -> Iterator[None]:
    """The locale as a library of a compiler leaves it."""
    before = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, "C")
    yield
    locale.setlocale(locale.LC_CTYPE, before)


@pytest.mark.usefixtures("ascii_locale")
def test_quotes_of_a_compiler_are_read_whatever_the_locale_is():
    done = captured([sys.executable, "-c", r"print('\u2018x\u2019')"], env={"PYTHONUTF8": "1"})
    assert done.stdout.strip() == "\u2018x\u2019"


def test_nothing_is_read_by_the_locale():
    sources = Path(kernelcast.__file__).parent.rglob("*.py")
    by_locale = re.compile(r"text=True|universal_newlines|\.read_text\(\)")
    found = [p.name for p in sources if by_locale.search(p.read_text(encoding="utf-8"))]
    assert not found


def test_a_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = tmp_path / "started.py"
    script.write_text(STARTED)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        worker = int(started.stdout.readline())
        assert is_there(worker)
        started.kill()
    until = time.monotonic() + 60
    while is_there(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_there(worker)


def is_there(process: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
