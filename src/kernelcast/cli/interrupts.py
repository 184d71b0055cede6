"""Ctrl-C is not lost where it comes while a library calls back into Python."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SENT_AGAIN_S = 0.01


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Send an interrupt again that came where Python cannot hand on exceptions.

    Compilers call back into Python, by ctypes, with what they have compiled. An exception raised
    there, KeyboardInterrupt too, is reported to `sys.unraisablehook` and then forgotten.
    """
    before = sys.unraisablehook

    def report(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        again = threading.Timer(_SENT_AGAIN_S, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = report
    try:
        yield
    finally:
        sys.unraisablehook = before
