"""Compiled loops: made once, loaded without the compiler, and made anew where anything differs."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

from kernelcast.errors import ToolError
from kernelcast.profiling import compilation, compiling
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array, fetch_ahead, inlined, inner, matches
from kernelcast.toolchain.cache import Cache

FACTOR = 3


@inner
def tripled(number):
    return FACTOR * number


@inlined
def more_of(numbers, at):
    return tripled(numbers[at]) + 1


def total(numbers, few):
    """One more than thrice each of a few numbers, together."""
    found = 0
    for at in range(few):
        found += more_of(numbers, at)
    return found


TOTAL = (np.int64, array(np.int64), np.int64)


def called(loop):
    return loop(np.zeros(1, np.int64), 1)


@pytest.fixture
def made(monkeypatch):
    """Names of the functions that Numba has compiled."""
    names = []

    def spy(source, *rest):
        names.append(source.function.__name__)
        return object_code(source, *rest)

    object_code = compiling.object_code
    monkeypatch.setattr(compiling, "object_code", spy)
    return names


def test_nothing_is_made_before_it_is_called(tmp_path, made):
    loop = compiled(*TOTAL, cache=Cache(tmp_path))(total)
    assert made == []
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: called(loop), range(8))) == [1] * 8
    assert made == ["total"]


def test_it_is_made_once(tmp_path, made):
    for _ in range(2):
        loop = compiled(*TOTAL, cache=Cache(tmp_path))(total)
        assert loop(np.array([1, 2, 3, 100]), 3) == 21 == total([1, 2, 3, 100], 3)
    assert made == ["total"]


def test_without_a_place_to_keep_it_it_is_made_every_time(made):
    for _ in range(2):
        assert compiled(*TOTAL, cache=Cache(None))(total)(np.array([7]), 1) == 22
    assert made == ["total", "total"]


@pytest.mark.parametrize("kind", [int, np.int64])
def test_a_number_that_an_inner_function_names_makes_it_anew(tmp_path, made, monkeypatch, kind):
    """Wrong if code is taken that another version of the package has left."""
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", kind(3))
    called(compiled(*TOTAL, cache=Cache(tmp_path))(total))
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", kind(5))
    loop = compiled(*TOTAL, cache=Cache(tmp_path))(total)
    assert loop(np.array([1, 2]), 2) == 17
    assert len(made) == 2


@pytest.mark.parametrize("changed", ["inner", "inlining", "types"])
def test_whatever_it_is_made_of_makes_it_anew(tmp_path, made, monkeypatch, changed):
    called(compiled(*TOTAL, cache=Cache(tmp_path))(total))
    module, types = sys.modules[__name__], TOTAL
    if changed == "inner":
        monkeypatch.setattr(module, "tripled", inner(lambda number: number * FACTOR))
    elif changed == "inlining":
        monkeypatch.setattr(module, "tripled", inlined(tripled.function))
    else:
        types = (np.int64, array(np.int32), np.int64)
    compiled(*types, cache=Cache(tmp_path))(total)(np.zeros(1, types[1].element), 1)
    assert len(made) == 2


class Span(NamedTuple):
    start: int
    end: int


class TurnedSpan(NamedTuple):
    end: int
    start: int


def length_of(start, end):
    span = Span(start, end)
    return span.end - span.start


def test_the_order_of_the_fields_of_a_tuple_makes_it_anew(tmp_path, made, monkeypatch):
    types = (np.int64, np.int64, np.int64)
    assert compiled(*types, cache=Cache(tmp_path))(length_of)(3, 10) == 7
    monkeypatch.setattr(sys.modules[__name__], "Span", TurnedSpan)
    assert compiled(*types, cache=Cache(tmp_path))(length_of)(3, 10) == -7
    assert len(made) == 2


def test_damaged_code_is_made_anew(tmp_path, made):
    called(compiled(*TOTAL, cache=Cache(tmp_path))(total))
    (entry,) = (path for path in tmp_path.rglob("*") if path.is_file())
    entry.write_bytes(entry.read_bytes()[:-1])
    assert compiled(*TOTAL, cache=Cache(tmp_path))(total)(np.array([1]), 1) == 4
    assert len(made) == 2


RECORD = np.dtype([("count", np.int64), ("small", np.int32, 3)])


def test_records_tables_and_flags_are_arguments(tmp_path):
    def fill(records, table, share, is_odd, bit):
        records[0].count = table.shape[1]
        records[1].small[2] = np.int32(7 if is_odd else 8)
        table[1, 2] = share * 4 + bit

    kinds = (array(RECORD), array(np.float64, 2), np.float64, np.bool_, np.int32)
    loop = compiled(None, *kinds, cache=Cache(tmp_path))(fill)
    records, table = np.zeros(2, RECORD), np.zeros((2, 5))
    assert loop(records, table, 0.25, True, 9) is None
    assert records["count"].tolist() == [5, 0]
    assert records["small"].tolist() == [[0, 0, 0], [0, 0, 7]]
    assert table[1, 2] == 10
    assert table.sum() == 10


@pytest.mark.parametrize(
    "wrong",
    [np.zeros(4, np.int32), np.zeros((2, 2), np.int64), np.zeros(8, np.int64)[::2]],
    ids=["element", "dimensions", "strides"],
)
def test_an_array_of_another_kind_is_refused(tmp_path, wrong):
    """Wrong if machine code reads what is not there."""
    loop = compiled(*TOTAL, cache=Cache(tmp_path))(total)
    with pytest.raises(TypeError, match="array"):
        loop(wrong, 1)
    with pytest.raises(ValueError, match="shorter"):
        loop(np.zeros(4, np.int64))


def test_an_error_inside_is_an_error(tmp_path):
    def share(number):
        return 10 // number

    loop = compiled(np.int64, np.int64, cache=Cache(tmp_path))(share)
    assert loop(5) == 2
    with pytest.raises(ToolError, match="share"):
        loop(0)


def test_loading_what_is_kept_needs_no_compiler():
    code = (
        "import sys; from kernelcast.profiling import counting, splitting, walking;"
        "counting.count_records._load();"
        "print('numba' in sys.modules)"
    )
    answers = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=compilation_environment(),
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert answers[1] == "False", "the first process compiles what no other test has"


def compilation_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(compilation.__file__).rsplit("/kernelcast/", 1)[0]}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_who_waits_at_a_terminal_is_told_why(tmp_path, monkeypatch, capsys, is_terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    for _ in range(2):
        called(compiled(*TOTAL, cache=Cache(tmp_path))(total))
    told = capsys.readouterr().err
    assert told.count("compiling total, which takes seconds") == int(is_terminal)


def equal_to(numbers, at, wanted):
    """Which of the eight numbers from a place on are the one that is wanted."""
    fetch_ahead(numbers, at + 8)  # beyond the end, too
    return matches(numbers, at, wanted)


@pytest.mark.parametrize("kind", [np.uint16, np.uint32, np.int64])
def test_eight_elements_are_compared_at_once(tmp_path, kind):
    loop = compiled(np.int64, array(kind), np.int64, np.int64, cache=Cache(tmp_path))(equal_to)
    numbers = np.random.default_rng(1).integers(0, 3, 20).astype(kind)
    for at in range(len(numbers) - 7):
        for wanted in range(4):
            expected = sum(int(numbers[at + lane] == wanted) << lane for lane in range(8))
            assert loop(numbers, at, wanted) == expected
