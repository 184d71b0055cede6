"""The command line: finds sub-commands by file, turns every error into one line."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from collections.abc import Sequence

import click

from kernelcast.cli.groups import CommandsByFile
from kernelcast.cli.interrupts import interrupts_kept
from kernelcast.errors import (
    CompileError,
    KernelcastError,
    ParseError,
    ToolError,
    UnsupportedError,
)
from kernelcast.version import VERSION

PROGRAM = "kernelcast"
COMPLETION_VARIABLE = "_KERNELCAST_COMPLETE"

_NEW_OBJECTS = 50_000
"""How many objects a command makes before Python looks for circles among them: by default it
looks so often that it takes a twentieth of a forecast, and finds none."""

_EXIT_DONE = 0
_EXIT_BAD_INPUT = 2
_EXIT_INTERRUPTED = 130


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        click.echo(f"{PROGRAM} {VERSION}")
        ctx.exit()


@click.group(
    cls=CommandsByFile,
    package="kernelcast.cli",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A forecast for GPU kernels: how long, on which chip, and what binds it, without a GPU.

    \b
    kernelcast demo                          a first look
    kernelcast predict FILE --gpu h100-sxm   how long FILE's launches take
    kernelcast COMMAND --help                all options of a command
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _one_line(text: str) -> str:
    """All of a message on one line, without control characters."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(printable.split())


def _usage_message(error: click.ClickException) -> str:
    """What click found wrong, and where to read on."""
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None or message.endswith("?"):
        return message
    return f"{message}; see {context.command_path} --help"


def _message(error: KernelcastError, command: str) -> str:
    """What is wrong, where, and what to do; a general step where the error knows none."""
    if error.hint:
        return str(error)
    if isinstance(error, CompileError):
        from kernelcast.toolchain.diagnostics import macros_to_give

        if step := macros_to_give(error.log):
            return f"{error}; {step}"
    steps: tuple[tuple[type[KernelcastError], str], ...] = (
        (CompileError, "correct the source; --debug shows all that the compiler said"),
        (ParseError, "correct the text there"),
        (UnsupportedError, "use a kernel without it"),
        (ToolError, f"see {PROGRAM} doctor"),
        (KernelcastError, f"see {PROGRAM} {command} --help"),
    )
    return f"{error}; {next(step for kind, step in steps if isinstance(error, kind))}"


def _complain(text: str) -> int:
    """Write one line to standard error; the exit status of bad input."""
    click.echo(_one_line(text), err=True)
    return _EXIT_BAD_INPUT


def _run(arguments: Sequence[str]) -> int:
    """Run one command line; its exit status. Every error but the last two kinds passes through."""
    try:
        with cli.make_context(PROGRAM, list(arguments)) as ctx:
            cli.invoke(ctx)
            sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python must not flush into the pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _EXIT_DONE


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: exit status 0 done, 1 a bound is broken, 2 bad input, 130 interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    gc.set_threshold(_NEW_OBJECTS)
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, PROGRAM, COMPLETION_VARIABLE, instruction)
    try:
        with interrupts_kept():
            return _run(arguments)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return _EXIT_INTERRUPTED
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
            if isinstance(error, CompileError):
                click.echo(error.log, err=True)
        if isinstance(error, click.ClickException):
            return _complain(f"error: {_usage_message(error)}")
        if isinstance(error, KernelcastError):
            known = cli.list_commands(click.Context(cli))
            command = next((a for a in arguments if a in known), "COMMAND")
            return _complain(f"error: {_message(error, command)}")
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO):
            # Python must not try to write the rest when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _complain(f"error: the output cannot be written: {error.strerror}")
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return _complain(
                "error: not enough memory; use smaller arrays or --sample fewer blocks"
            )
        return _complain(
            f"internal error: {type(error).__name__}: {error}; run again with --debug and report it"
        )


if __name__ == "__main__":
    sys.exit(main())
