"""The performance models: what each holds and leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kernelcast.cli.options import Output, known_models, output_options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Shell completion of a model's name."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(n) for n in known_models() if n.startswith(typed) and n != "all"]


@click.command("models")
@click.argument("name", default="", shell_complete=complete)
@output_options
def command(name: str, output: Output) -> None:
    """List the performance models, or show one: its source, parameters and gaps."""
    from kernelcast.models import default_model_name, load_model, model_names
    from kernelcast.reporting.models import model_dict, render_model, render_models

    if name:
        model = load_model(name)
        output.show(render_model(model), model_dict(model))
        return
    models = [load_model(n) for n in model_names()]
    data: dict[str, Any] = {
        "default": default_model_name(),
        "models": [model_dict(m) for m in models],
    }
    output.show(render_models(models, default_model_name()), data)
