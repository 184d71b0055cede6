"""Programs that are started for what they print, and processes that work for this one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from multiprocessing import parent_process
from threading import Thread


def captured(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What a program printed and how it ended; parameters and errors are those of `subprocess.run`.

    It is read as UTF-8 whatever the locale is: libraries of compilers set that of this process to
    one that knows ASCII alone, and other compilers quote with what ASCII lacks.
    """
    return subprocess.run(
        command,
        env=env,
        timeout=timeout,
        check=check,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )


def become_worker(*, ends_on_interrupt: bool = False) -> None:
    """Let this process end with the one that started it to work, however that ends.

    Interrupts are for that one, too, unless they are to end the worker without a word.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL if ends_on_interrupt else signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        # Nobody is there who could be told, and other threads may wait for ever.
        os._exit(1)
