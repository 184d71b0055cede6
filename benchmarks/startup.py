"""How long a first answer takes: help, loading machine files, a pytest session with the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measured import Measured, median_seconds


def measure() -> Iterator[Measured]:
    program = str(Path(sys.executable).parent / "kernelcast")

    def ask_for_help() -> None:
        subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL)

    yield Measured("kernelcast --help", 1e3 * median_seconds(ask_for_help, 9), "ms", 150, True)

    yield from _plugin()

    from kernelcast.machines.loader import load_machine, machine_names

    slowest = max(median_seconds(partial(load_machine, n), 9) for n in machine_names())
    yield Measured("load a machine file, the slowest", 1e3 * slowest, "ms", 5, True)


def _plugin() -> Iterator[Measured]:
    """What the plugin adds to a session of pytest with one test that does not use it."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "test_nothing.py").write_text("def test_nothing(): pass\n")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

        def session(*options: str) -> None:
            subprocess.run(
                [*command, *options],
                cwd=directory,
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )

        without = median_seconds(session, 9)
        with_it = median_seconds(partial(session, "-p", "kernelcast.pytest_plugin"), 9)
    yield Measured("the pytest plugin, where unused", 1e3 * (with_it - without), "ms", 50, True)
