"""Programs of our own, compiled once for all tests that run them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernelcast.devices.libraries import compiler, libraries
from kernelcast.errors import ToolError
from kernelcast.toolchain.nvcc import compile_program, find_host_compiler, find_nvcc

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Ended:
    """How a program ended: what it printed, what was said on standard error, and its profile."""

    status: int
    printed: str
    said: str
    profile: dict[str, Any]


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Callable[..., Path]:
    """A program by the name of its source, compiled for some compute capabilities."""
    for tool in (compiler, find_nvcc, find_host_compiler):
        try:
            tool()
        except ToolError as error:
            pytest.skip(str(error))
    made: dict[tuple[object, ...], Path] = {}

    def build(name: str, *capabilities: tuple[int, int]) -> Path:
        key = name, capabilities or ((8, 0),)
        if key not in made:
            data = compile_program(PROGRAMS / f"{name}.cu", key[1], libraries())
            made[key] = tmp_path_factory.mktemp("programs") / name
            made[key].write_bytes(data)
            made[key].chmod(0o700)
        return made[key]

    return build


@pytest.fixture
def ended(capfd) -> Callable[..., Ended]:
    """Run a command line of `kernelcast run` in this process, as a user would."""
    from kernelcast.cli.main import main

    def run(*arguments: object) -> Ended:
        status = main(["run", "--json", *map(str, arguments)])
        out, err = capfd.readouterr()
        lines = err.splitlines(keepends=True)
        printed = "".join(line for line in lines if not line.startswith("kernelcast: "))
        said = "".join(line for line in lines if line.startswith("kernelcast: "))
        return Ended(status, printed, said, json.loads(out) if out else {})

    return run
