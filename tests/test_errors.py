"""Errors come back whole from another process."""

from __future__ import annotations

import pickle

import pytest

from kernelcast.errors import (
    CompileError,
    KernelcastError,
    MissingNumberError,
    NotFoundError,
    ParseError,
)

RAISED = (
    ParseError("no number", where="a.cu:3", hint="write one"),
    NotFoundError("GPU", "h100", ["h100-sxm", "t4"]),
    MissingNumberError("t4", "dram.bandwidth", "the roofline"),
    CompileError("refused", where="a.cu", log="line 1: what is this?"),
)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error: KernelcastError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert again.args == error.args
