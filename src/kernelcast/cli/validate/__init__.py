"""Errors of the models against the papers and against measurements."""

from __future__ import annotations

import click

from kernelcast.cli.groups import CommandsByFile


@click.group("validate", cls=CommandsByFile, package=__name__, kind="set")
def command() -> None:
    """Check the models; exit status 1 where a stated bound is broken."""
