"""Processes that measure: one makes entry after entry, until one of them fails.

So a benchmark that hangs, crashes or spoils the GPU's context costs its own entry, and the start of
a process, which takes a second or more where the driver is slow, is paid once and not for each.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any

from .gpu_driver import GpuError

EXIT_FAILED = 2
STOPPING = (signal.SIGTERM, signal.SIGINT)

_LEAVING_S, _DYING_S = 10.0, 30.0
"""How long a process may take to leave by itself, and once it has been killed."""

Entry = dict[str, Any]


def answer(opened: Callable[[], Callable[[str], Entry]]) -> int:
    """What such a process does: an entry in a line for every name in a line; the exit status.

    `opened` gives what makes the entries. The process ends with the first that cannot be made, and
    says why in one line.
    """
    _take_signals()
    try:
        entry = opened()
        for line in sys.stdin:
            print(json.dumps(entry(line.strip()), allow_nan=False), flush=True)
    except (GpuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_FAILED
    return 0


class Workers:
    """Processes by one command, one at a time; each makes entries until one of them fails.

    Without `is_lasting` each makes one.
    """

    def __init__(self, command: Sequence[str], *, is_lasting: bool = True) -> None:
        self._command = command
        self._is_lasting = is_lasting
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end(at_once=kind is not None)

    @property
    def count(self) -> int:
        """Processes that are there now."""
        return int(self._process is not None)

    def entry(self, name: str, timeout_s: float) -> Entry:
        """One entry; why there is none, where it fails."""
        found = self._asked(self._process or self._started(), name, timeout_s)
        is_done = found.get("status") == "done"
        if not (is_done and self._is_lasting):
            self._end(at_once=not is_done)
        return found

    def _started(self) -> subprocess.Popen[bytes]:
        """A process in a group of its own, so that it ends together with what it has started.

        Signals are held, so that none comes before somebody is there to end it.
        """
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed when it ends
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        _hold_signals()
        try:
            self._process = process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        finally:
            _take_signals()
        reader = threading.Thread(target=_read, args=(process.stdout, self._lines), daemon=True)
        reader.start()
        return process

    def _asked(self, process: subprocess.Popen[bytes], name: str, timeout_s: float) -> Entry:
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it may have ended, as what it wrote will tell
            process.stdin.write(f"{name}\n".encode())
            process.stdin.flush()
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            return _failure(f"hangs: no result after {timeout_s:g} s")
        if not line:
            return self._ended(process)
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if isinstance(entry, dict) and "status" in entry:
            return entry
        return _failure("failed: the process wrote no result")

    def _ended(self, process: subprocess.Popen[bytes]) -> Entry:
        """Why a process has ended without a result."""
        try:
            status = process.wait(_LEAVING_S)
        except subprocess.TimeoutExpired:
            return _failure("failed: the process wrote no result")
        self._errors.seek(0)
        told = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        if status < 0 or (status and not told):
            return _failure(f"crashed: the process ended with status {status}")
        if not status:
            return _failure("failed: the process wrote no result")
        why = told[-1]
        return _failure(why.removeprefix("error: ") if "error: " in why[:7] else f"failed: {why}")

    def _end(self, *, at_once: bool) -> None:
        """End the process and its group, where there is one; it may leave by itself first."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # what it was asked last may never reach it
            process.stdin.close()
        if at_once or not _has_left(process, _LEAVING_S):
            _kill(process)
            _has_left(process, _DYING_S)
        self._errors.close()


def _read(output: IO[bytes], into: queue.SimpleQueue[bytes]) -> None:
    """Every line of a process, and nothing for its end."""
    with output:
        for line in output:
            into.put(line)
    into.put(b"")


def _has_left(process: subprocess.Popen[bytes], within_s: float) -> bool:
    """Whether a process ends in time; one that the driver does not let go must not stop us."""
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _hold_signals() -> None:
    if os.name == "posix":
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)


def _take_signals() -> None:
    if os.name == "posix":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


def _failure(why: str) -> Entry:
    return {"status": "failed", "date": now(), "error": why, "samples": []}


def now() -> str:
    """The time, in UTC."""
    found = datetime.datetime.now(datetime.timezone.utc)  # noqa: UP017, for Python 3.10
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")
