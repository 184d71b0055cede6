"""The script that lets a shell complete commands, options, GPUs, models and kernels."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, output_options
from kernelcast.errors import NotFoundError

_SHELLS = ("bash", "zsh", "fish")


def _complete(_ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    return [shell for shell in _SHELLS if shell.startswith(typed)]


@click.command("completion")
@click.argument("shell", metavar="bash|zsh|fish", shell_complete=_complete)
@output_options
def command(shell: str, output: Output) -> None:
    """Print the script by which SHELL completes what is typed behind kernelcast.

    \b
    bash   echo 'eval "$(kernelcast completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(kernelcast completion zsh)"' >> ~/.zshrc
    fish   kernelcast completion fish > ~/.config/fish/completions/kernelcast.fish

    Commands, options, GPUs, models with their parameters, kernels of the file already typed, and
    names of conditions are completed.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from kernelcast.cli.main import COMPLETION_VARIABLE, PROGRAM, cli
    from kernelcast.reporting.documents.completion import CompletionDocument

    found = get_completion_class(shell)
    if shell not in _SHELLS or found is None:
        raise NotFoundError("shell", shell, _SHELLS)
    script = ShellComplete.source(found(cli, {}, PROGRAM, COMPLETION_VARIABLE))
    output.show(CompletionDocument("kernelcast/completion/1", shell, script))
