"""The pack's commands: python3 pack.pyz measure | ground-truth | profile.

What is measured runs in processes of its own, which are this program again; after one that fails
the next has a new one. What is in the output file already is not measured again.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import ground_truth, measure, profile
from .archive import Archive
from .gpu_driver import GpuError
from .runner import MeasuringTask, add_common_options, run
from .worker import EXIT_FAILED, answer


@dataclass(frozen=True)
class _Command:
    """A command: its help, the file that it writes unless another is named, what it measures."""

    help: str
    out: str
    program: Callable[[Archive, argparse.Namespace], MeasuringTask]
    add_options: Callable[[argparse.ArgumentParser], None] = lambda parser: None


_COMMANDS = {
    "measure": _Command(
        "run the microbenchmarks", "raw.json", measure.program, measure.add_options
    ),
    "ground-truth": _Command(
        "time the kernels with known results", "ground-truth.json", ground_truth.program
    ),
    "profile": _Command(
        "have NVIDIA's profiler count what they do",
        "profiles.json",
        profile.program,
        profile.add_options,
    ),
}


def main() -> int:
    """Entry point of the pack; the exit status."""
    options = _parser().parse_args()
    try:
        archive = Archive(Path(sys.argv[0]))
        if options.command == profile.LAUNCH:
            return profile.launch(archive, options)
        return _measure(archive, options)
    except (GpuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_FAILED


def _measure(archive: Archive, options: argparse.Namespace) -> int:
    if not options.child:
        archive.check()
    program = _COMMANDS[options.command].program(archive, options)
    if options.child:
        return answer(program.entries)
    for name in options.only or ():
        if name not in program.known:
            print(f"error: --only {name}: not known; {_nearest(name, program)}", file=sys.stderr)
            return EXIT_FAILED
    return run(program, options, [sys.executable, str(archive.path), options.command])


def _nearest(name: str, program: MeasuringTask) -> str:
    near = difflib.get_close_matches(name, program.known)
    return f"did you mean {' or '.join(near)}?" if near else f"such as {program.known[0]}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measures a GPU.")
    names = "{" + ",".join(_COMMANDS) + "}"
    parsers = parser.add_subparsers(dest="command", metavar=names, required=True)
    for name, command in _COMMANDS.items():
        one = parsers.add_parser(name, help=command.help, description=command.help)
        add_common_options(one, command.out)
        command.add_options(one)
    profile.add_launch_options(parsers.add_parser(profile.LAUNCH))
    return parser
