"""The performance models: what each holds and leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import Output, known_models, output_options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Shell completion of a model's name."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(n) for n in known_models() if n.startswith(typed) and n != "all"]


@click.command("models")
@click.argument("name", default="", shell_complete=_complete)
@output_options
def command(name: str, output: Output) -> None:
    """List the performance models, or show one: its source, parameters and gaps."""
    from kernelcast.models import default_model_name, load_model, model_names
    from kernelcast.reporting.documents.model import model_document
    from kernelcast.reporting.documents.models import models_document

    if name:
        output.show(model_document(load_model(name)))
        return
    models = [load_model(n) for n in model_names()]
    output.show(models_document(models, default_model_name()))
