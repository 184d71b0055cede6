"""An interrupt that comes inside a callback of a library reaches the program all the same."""

import ctypes
import signal
import sys
import time

import pytest

from kernelcast.cli.interrupts import interrupts_kept


def test_an_interrupt_inside_a_callback_is_not_lost():
    inside = []

    def called_back():
        inside.append(True)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), interrupts_kept():
        ctypes.CFUNCTYPE(None)(called_back)()
        time.sleep(10)
    assert inside


def test_other_errors_inside_a_callback_are_reported_as_ever(monkeypatch):
    def called_back():
        raise ZeroDivisionError

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: reported.append(error.exc_type))
    with interrupts_kept():
        ctypes.CFUNCTYPE(None)(called_back)()
    assert reported == [ZeroDivisionError]
