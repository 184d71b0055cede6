"""Kernels whose machine code nobody can read are loaded as PTX."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import kernelcast as kc
from kernelcast.errors import UnsupportedError
from kernelcast.forecasting.build import Build
from kernelcast.frontends import machine_kernel

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy.cu"


@pytest.fixture
def nothing_is_read(monkeypatch):
    """As with a compiler that makes code of Pascal, which no tool here takes apart."""
    monkeypatch.setattr(machine_kernel, "_OLDEST", 1000)


@pytest.mark.usefixtures("nothing_is_read")
def test_ptx_stands_for_machine_code_that_is_not_read():
    for kernel in (kc.load(SAXPY), kc.load_source(SAXPY.read_text())):
        assert kernel.isa == "ptx"
        assert "PTX was executed, not the machine code" in kernel.warnings[-1]


@pytest.mark.usefixtures("nothing_is_read")
def test_machine_code_that_was_asked_for_is_not_replaced():
    with pytest.raises(UnsupportedError, match="is not read"):
        kc.load(SAXPY, build=replace(Build(), isa="sass"))
