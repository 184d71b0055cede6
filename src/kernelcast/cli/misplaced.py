"""What stands behind a program but was meant for kernelcast."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from kernelcast.cli.options import Output
from kernelcast.errors import CompileError
from kernelcast.frontends.source.callers import has_main, sources_beside

_UNDEFINED = "undefined reference"
"""What a linker says of a function that none of its sources has."""
_SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")


@contextmanager
def options_come_first(ctx: click.Context, call: Sequence[str], output: Output) -> Iterator[None]:
    """Around what runs a program; `call` is the program and its own arguments.

    A long option of the command among them gets a remark. Where the program cannot be compiled, the
    error says which argument was likely meant for the compiler: an option, or another source.
    """
    program, *arguments = call
    options = {name for parameter in ctx.command.params for name in parameter.opts}
    long_ones = (a.split("=")[0] for a in arguments if a.startswith("--"))
    if meant := next((name for name in long_ones if name in options), None):
        output.remark(f"{meant} behind {program} is the program's own; ours come before it")
    try:
        yield
    except CompileError as error:
        given = [a for a in arguments if a.endswith(_SOURCES) and Path(a).is_file()]
        hint = _of_options(program, arguments, options) or _of_sources(program, given) or error.hint
        if not hint and _UNDEFINED in error.what:
            hint = _of_sources(program, _beside(program))
        raise error.with_hint(hint) from error


def _of_options(program: str, arguments: Sequence[str], options: set[str]) -> str:
    for argument in arguments:
        is_joined = argument[:2] in options and not argument.startswith("--")
        if argument.split("=")[0] in options or is_joined:
            return f"put {argument} before {program}: what follows a program is its own"
    return ""


def _of_sources(program: str, sources: Sequence[str]) -> str:
    if not sources:
        return ""
    which = f"{sources[0]} is" if len(sources) == 1 else "these sources are"
    meant = " ".join(f"--nvcc {shlex.quote(source)}" for source in sources)
    return f"if {which} part of the program, put {meant} before {program}"


def _beside(program: str) -> list[str]:
    """The sources in a program's folder that begin no program of their own."""
    folder, beside = Path(program).parent, sources_beside(Path(program))
    return [str(folder / name) for name, text in beside.items() if not has_main(text)]
