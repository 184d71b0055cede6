"""The launches that a source file makes, as a workload to complete."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, file_argument, output_options


@click.command("launches")
@file_argument
@click.option("-D", "defines", metavar="NAME[=VALUE]", multiple=True, help="Define a macro.")
@click.option(
    "-I", "include_dirs", metavar="DIR", multiple=True, help="Search DIR for included files."
)
@output_options
def command(
    file: str, defines: tuple[str, ...], include_dirs: tuple[str, ...], output: Output
) -> None:
    """Print the launches of FILE, CUDA C++, as a workload.

    \b
    kernelcast launches app.cu > app.toml    then write numbers where "?" stands
    kernelcast predict app.toml

    Constants are computed; what the source leaves open, such as numbers that a program is called
    with, is a name with "?" for its value, which --arg NAME=VALUE of other commands gives, too.
    """
    from kernelcast import api
    from kernelcast.reporting.documents.launches import launches_document

    output.show(launches_document(file, api.launches(file, defines, include_dirs)))
