"""Results are kept whole: after a kill, beside another process, on a full disk."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.exploration.conftest import SHARED, space
from tests.exploration.stub_models import Slow, Stub

from kernelcast.errors import InputError
from kernelcast.exploration.explore import explore
from kernelcast.exploration.results_file import ResultsFile
from kernelcast.exploration.sweep import Program, sweep_of

WIDE = space("sm.count=1:80:1", "dram.bandwidth=1e12:1.6e13:1e12")
"""1280 configurations, 5 chunks."""


def rows(file: Path) -> list[tuple[int, int, float]]:
    with sqlite3.connect(file) as connection:
        found = connection.execute("SELECT row, configuration, time_s FROM results").fetchall()
    connection.close()
    return found


def assert_complete(file: Path, program: Program) -> None:
    found = rows(file)
    expected = explore(WIDE, [program], [Stub()]).times_s
    assert len(found) == len({key[:2] for key in found}) == expected.size
    assert all(expected[row, configuration] == time_s for row, configuration, time_s in found)


def test_what_is_there_is_not_computed_again(program, tmp_path):
    file = tmp_path / "results.db"
    first = explore(WIDE, [program()], [Stub()], results=file)
    again = explore(WIDE, [program()], [Stub()], results=file)
    assert (first.computed, again.computed) == (1280, 0)
    assert np.array_equal(first.times_s, again.times_s)
    assert_complete(file, program())


def test_a_sweep_that_was_interrupted_goes_on(program, tmp_path):
    file = tmp_path / "results.db"
    done = []

    def interrupt(share: float) -> None:
        done.append(share)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(WIDE, [program()], [Stub()], results=file, progress=interrupt)
    assert len(rows(file)) == 512
    assert explore(WIDE, [program()], [Stub()], results=file).computed == 1280 - 512
    assert_complete(file, program())


def explore_slowly(program: Program, file: Path) -> None:
    explore(WIDE, [program], [Slow()], results=file)


def spawn(program: Program, file: Path) -> multiprocessing.process.BaseProcess:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=explore_slowly, args=(program, file))
    process.start()
    return process


def wait_for_rows(file: Path) -> None:
    for _ in range(600):
        if file.exists():
            try:
                if rows(file):
                    return
            except sqlite3.Error:
                pass
        time.sleep(0.05)
    pytest.fail("nothing was computed in 30 s")


def test_a_process_that_is_killed_leaves_whole_chunks(program, tmp_path):
    file = tmp_path / "results.db"
    process = spawn(program(), file)
    wait_for_rows(file)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    held = len(rows(file))
    assert 0 < held < 1280
    assert held % 256 == 0
    found = explore(WIDE, [program()], [Slow()], results=file)
    assert found.computed == 1280 - held
    assert_complete(file, program())


def test_two_processes_on_one_file_lose_and_double_nothing(program, tmp_path):
    file = tmp_path / "results.db"
    processes = [spawn(program(), file) for _ in range(2)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert_complete(file, program())


def test_a_chunk_that_another_process_kept_meanwhile_is_dropped(program, tmp_path):
    sweep = sweep_of(WIDE, [program()], [Stub()])
    file = tmp_path / "results.db"
    with ResultsFile(file, sweep) as one, ResultsFile(file, sweep) as other:
        times = sweep.compute(sweep.chunks[0])
        assert not one.has(sweep.chunks[0])
        other.keep(times)
        one.keep(times)
        assert one.has(sweep.chunks[0])
        assert one.predictions() == 256


def test_a_full_disk_loses_nothing_and_says_how_to_go_on(program, tmp_path):
    sweep = sweep_of(WIDE, [program()], [Stub()])
    file = tmp_path / "results.db"
    with ResultsFile(file, sweep) as results:
        results.keep(sweep.compute(sweep.chunks[0]))
        pages = results._file.execute("PRAGMA page_count").fetchone()[0]
        results._file.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(InputError, match=r"is full; .* the same command again to go on"):
            for chunk in sweep.chunks[1:]:
                results.keep(sweep.compute(chunk))
        assert results.predictions() % 256 == 0
    assert explore(WIDE, [program()], [Stub()], results=file).computed <= 1024
    assert_complete(file, program())


def with_more_traffic(program: Program) -> Program:
    (case,) = program.cases
    profile = replace(case.profile, footprints=(*case.profile.footprints, SHARED))
    return Program(program.name, (replace(case, profile=profile),))


def test_another_sweep_is_refused(program, tmp_path):
    file = tmp_path / "results.db"
    explore(WIDE, [program()], [Stub()], results=file)
    for others in (
        (space("sm.count=1:80:1"), [program()], [Stub()]),
        (WIDE, [program("other")], [Stub()]),
        (WIDE, [program(repeats=(2,))], [Stub()]),
        (WIDE, [program()], [Stub(factor=2.0)]),
        (WIDE, [with_more_traffic(program())], [Stub()]),
    ):
        with pytest.raises(InputError, match="holds the results of another sweep"):
            explore(*others, results=file)
    assert_complete(file, program())


def test_a_file_of_something_else_is_refused_and_left_alone(program, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no database, but long enough to be looked at " * 20)
    database = tmp_path / "other.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE notes (note TEXT)")
    connection.close()
    for file, message in (
        (text, "no file of results"),
        (database, "no file of results"),
        (tmp_path / "no" / "folder.db", "unable to open"),
    ):
        before = file.read_bytes() if file.exists() else None
        with pytest.raises(InputError, match=message) as caught:
            explore(WIDE, [program()], [Stub()], results=file)
        assert caught.value.where == str(file)
        if file is text:
            assert file.read_bytes() == before


def test_the_file_can_be_read_by_column(program, tmp_path):
    file = tmp_path / "results.db"
    explore(
        space("sm.count=20,100", "dram.bandwidth=1e12,5e12"), [program()], [Stub()], results=file
    )
    with sqlite3.connect(file) as connection:
        found = connection.execute(
            'SELECT program, kernel, model, "sm.count", "dram.bandwidth", time_s, refusal '
            'FROM predictions ORDER BY "sm.count", "dram.bandwidth"'
        ).fetchall()
    connection.close()
    assert [row[:5] for row in found] == [
        ("program", "synthetic", "stub", sms, bandwidth)
        for sms in (20, 100)
        for bandwidth in (1e12, 5e12)
    ]
    assert found[0][5] > 0
    assert found[2][5:] == (None, "more than 90 SMs")
