"""What stands behind a program but was meant for kernelcast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from kernelcast.cli.options import Output
from kernelcast.errors import CompileError

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
        hints = (_hint(argument, program, options) for argument in arguments)
        if hint := next(filter(None, hints), None):
            raise error.with_hint(hint) from error
        raise


def _hint(argument: str, program: str, options: set[str]) -> str | None:
    is_joined = argument[:2] in options and not argument.startswith("--")
    if argument.split("=")[0] in options or is_joined:
        return f"put {argument} before {program}: what follows a program is its own"
    if argument.endswith(_SOURCES) and Path(argument).is_file():
        return f"if {argument} is part of the program, put --nvcc {argument} before {program}"
    return None
