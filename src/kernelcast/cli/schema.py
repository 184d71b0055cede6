"""The JSON Schema of `predict --json`."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, output_options


@click.command("schema")
@output_options
def command(output: Output) -> None:
    """Print the JSON Schema that `predict --json` follows."""
    import json

    from kernelcast.reporting.document import predict_schema

    schema = predict_schema()
    output.show(json.dumps(schema, indent=2), schema)
