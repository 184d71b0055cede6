"""Results of a sweep in an SQLite file: nothing twice, nothing lost, whoever stops when.

A chunk is written in one transaction, with a row in `chunks` that no other can be. So a file holds
whole chunks at every moment, a sweep that was stopped goes on with those that are not there, and of
two processes that computed the same one only the first is kept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from types import TracebackType

import numpy as np

from kernelcast.errors import InputError, KernelcastError
from kernelcast.exploration.sweep import Chunk, ChunkTimes, DesignSweep, SweepRow
from kernelcast.profiling.profile import Floats

_FORMAT = "kernelcast/explore-results/1"
_PATIENCE_S = 60.0
"""How long a process waits for another that is writing."""

_TABLES = """
CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE axes (axis INTEGER PRIMARY KEY, path TEXT NOT NULL, unit TEXT NOT NULL);
CREATE TABLE axis_values (
    axis INTEGER, place INTEGER, value REAL NOT NULL, PRIMARY KEY (axis, place)
) WITHOUT ROWID;
CREATE TABLE launches (
    row INTEGER PRIMARY KEY, program TEXT NOT NULL, kernel TEXT NOT NULL, launch TEXT NOT NULL,
    repeat INTEGER NOT NULL, model TEXT NOT NULL
);
CREATE TABLE chunks (row INTEGER, start INTEGER, PRIMARY KEY (row, start)) WITHOUT ROWID;
CREATE TABLE results (
    row INTEGER, configuration INTEGER, time_s REAL, bottleneck TEXT NOT NULL,
    refusal TEXT NOT NULL, PRIMARY KEY (row, configuration)
) WITHOUT ROWID;
"""


_TIME = np.dtype([("configuration", np.int64), ("time_s", np.float64)])


class ResultsFile:
    """The results of one sweep; in memory alone where there is no path.

    Raises InputError where the file cannot be read or written, or holds the results of another
    sweep. Use it in a `with` statement.
    """

    def __init__(self, path: Path | None, sweep: DesignSweep) -> None:
        self._path = path
        self._sweep = sweep
        with self._refusals():
            self._file = sqlite3.connect(
                path or ":memory:", timeout=_PATIENCE_S, isolation_level=None
            )
            try:
                self._prepare()
            except BaseException:
                self._file.close()
                raise

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    def _prepare(self) -> None:
        # A write-ahead log keeps commits cheap and whole; readers and one writer get on.
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        with self._transaction():
            if not self._file.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                self._describe()
                return
        try:
            known = dict(self._file.execute("SELECT name, value FROM study"))
        except sqlite3.OperationalError:
            known = {}
        if known.get("format") != _FORMAT:
            raise self._error("is no file of results of this version")
        if known["fingerprint"] != _fingerprint(self._sweep):
            raise self._error("holds the results of another sweep, of other code or other numbers")

    def _error(self, what: str) -> InputError:
        return InputError(what, where=str(self._path), hint="name another file with --results")

    def _describe(self) -> None:
        space, rows = self._sweep.space, self._sweep.rows
        for statement in filter(str.strip, _TABLES.split(";")):
            self._file.execute(statement)
        about = {
            "format": _FORMAT,
            "fingerprint": _fingerprint(self._sweep),
            "kernelcast": version("kernelcast"),
            "gpu": space.machine.name,
        }
        self._file.executemany("INSERT INTO study VALUES (?, ?)", about.items())
        self._file.executemany(
            "INSERT INTO axes VALUES (?, ?, ?)",
            [(at, axis.path, axis.unit) for at, axis in enumerate(space.axes)],
        )
        self._file.executemany(
            "INSERT INTO axis_values VALUES (?, ?, ?)",
            [
                (at, place, value)
                for at, axis in enumerate(space.axes)
                for place, value in enumerate(axis.values)
            ],
        )
        self._file.executemany(
            "INSERT INTO launches VALUES (?, ?, ?, ?, ?, ?)",
            [(at, *_about(row)) for at, row in enumerate(rows)],
        )
        self._file.execute(_view(self._sweep))

    def has(self, chunk: Chunk) -> bool:
        """Whether a chunk is there, from whichever process."""
        asked = "SELECT 1 FROM chunks WHERE row = ? AND start = ?"
        with self._refusals():
            return bool(self._file.execute(asked, (chunk.row, chunk.start)).fetchone())

    def keep(self, times: ChunkTimes) -> None:
        """Write a chunk, unless it is there."""
        chunk = times.chunk
        with self._refusals(), self._transaction():
            new = self._file.execute(
                "INSERT OR IGNORE INTO chunks VALUES (?, ?)", (chunk.row, chunk.start)
            )
            if new.rowcount:
                self._file.executemany(
                    "INSERT INTO results VALUES (?, ?, ?, ?, ?)", _records(times)
                )

    def predictions(self) -> int:
        """How many predictions are there."""
        with self._refusals():
            (count,) = self._file.execute("SELECT count(*) FROM results").fetchone()
        return int(count)

    def times_s(self) -> Floats:
        """All times, a row for each of the sweep's; NaN where a launch cannot run."""
        times = np.full((len(self._sweep.rows), len(self._sweep.space)), np.nan)
        asked = "SELECT configuration, time_s FROM results WHERE row = ? AND time_s IS NOT NULL"
        with self._refusals():
            for row in range(len(times)):
                found = np.fromiter(self._file.execute(asked, (row,)), _TIME)
                times[row, found["configuration"]] = found["time_s"]
        return times

    def refusals(self) -> tuple[tuple[str, int], ...]:
        """Why launches cannot run, and in how many predictions, the most frequent first."""
        asked = (
            "SELECT refusal, count(*) AS times FROM results WHERE refusal <> '' "
            "GROUP BY refusal ORDER BY times DESC, refusal"
        )
        with self._refusals():
            return tuple(self._file.execute(asked).fetchall())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # A full disk has rolled back already.
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """What SQLite refuses, as an InputError."""
        try:
            yield
        except sqlite3.Error as error:
            # Only what SQLite itself refuses has a code.
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                raise self._error("is no file of results") from error
            raise InputError(
                f"results cannot be kept: {error}; what was written before is whole",
                where=str(self._path or "memory"),
                hint="make room or name another place, and run the same command again to go on",
            ) from error


def _fingerprint(sweep: DesignSweep) -> str:
    """What two sweeps must share to be one: code, counts, models, numbers and this version."""
    machine = sweep.space.machine
    told = {
        "kernelcast": version("kernelcast"),
        "gpu": machine.name,
        "numbers": {path: repr(q.value) for path, q in sorted(machine.quantities.items())},
        "axes": [(axis.path, axis.values) for axis in sweep.space.axes],
        "rows": [(*_about(row), _counted(row)) for row in sweep.rows],
    }
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _about(row: SweepRow) -> tuple[str, str, str, int, str]:
    launch = row.case.launch
    return row.program, row.kernel, str(launch), launch.repeat, row.model_label


def _counted(row: SweepRow) -> str:
    """What the launch was seen to do, and what it moves on the machine as it is."""
    profile = row.case.profile
    counts = np.concatenate([profile.instruction_warps, profile.instruction_threads])
    accesses = repr([(a.instruction, a.requests, a.sectors, a.passes) for a in profile.accesses])
    return sha256(counts.tobytes() + f"{accesses} {_moved(row)}".encode()).hexdigest()


def _moved(row: SweepRow) -> str:
    try:
        return repr(row.case.traffic)
    except KernelcastError:
        return "unknown: numbers that are swept are not there yet"


def _records(times: ChunkTimes) -> Iterator[tuple[int, int, float | None, str, str]]:
    chunk = times.chunk
    numbers = range(chunk.start, chunk.stop)
    for at, time, bottleneck, refusal in zip(
        numbers, times.times_s.tolist(), times.bottlenecks, times.refusals, strict=True
    ):
        # SQLite keeps NaN as NULL.
        yield chunk.row, at, time, bottleneck, refusal


def _view(sweep: DesignSweep) -> str:
    """Every prediction with the numbers of its configuration, for whoever opens the file."""
    columns = []
    stride = len(sweep.space)
    for at, axis in enumerate(sweep.space.axes):
        stride //= len(axis.values)
        place = f"configuration / {stride} % {len(axis.values)}"
        columns.append(
            f"(SELECT value FROM axis_values WHERE axis = {at} AND place = {place}) "
            f'AS "{axis.path}"'
        )
    return (
        "CREATE VIEW predictions AS SELECT program, kernel, launch, repeat, model, "
        f"{', '.join(columns)}, time_s, bottleneck, refusal "
        "FROM results JOIN launches USING (row)"
    )
