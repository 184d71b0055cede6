"""Programs that are started for what they print."""

from __future__ import annotations

import locale
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernelcast
from kernelcast.processes import captured


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
