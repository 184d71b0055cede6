"""The JSON Schema of `predict --json` and of other commands that publish one."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, output_options


@click.command("schema")
@click.argument("name", metavar="[NAME]", default="predict")
@output_options
def command(name: str, output: Output) -> None:
    """Print the JSON Schema that a command's --json follows, `predict` where none is named.

    \b
    kernelcast schema                     predict --json
    kernelcast schema occupancy-curve     occupancy-curve FILE --json
    kernelcast schema occupancy-cusp      occupancy-curve --cusp --json
    kernelcast schema explore             explore --json
    kernelcast schema dvfs                dvfs --json
    kernelcast schema what-if             what-if --json
    kernelcast schema offload             offload --json
    kernelcast schema advise              advise --json
    kernelcast schema gate                gate --json
    kernelcast schema run                 run PROGRAM --json
    kernelcast schema check               check PROGRAM|FILE --json
    """
    import json

    from kernelcast.errors import NotFoundError
    from kernelcast.reporting.documents.advise import advise_schema
    from kernelcast.reporting.documents.check import check_schema
    from kernelcast.reporting.documents.dvfs import dvfs_schema
    from kernelcast.reporting.documents.explore import explore_schema
    from kernelcast.reporting.documents.gate import gate_schema
    from kernelcast.reporting.documents.occupancy_curve import curve_schema
    from kernelcast.reporting.documents.occupancy_cusp import cusp_schema
    from kernelcast.reporting.documents.offload import offload_schema
    from kernelcast.reporting.documents.predict import predict_schema
    from kernelcast.reporting.documents.run import run_schema
    from kernelcast.reporting.documents.what_if import what_if_schema

    schemas = {
        "predict": predict_schema,
        "occupancy-curve": curve_schema,
        "occupancy-cusp": cusp_schema,
        "explore": explore_schema,
        "dvfs": dvfs_schema,
        "what-if": what_if_schema,
        "offload": offload_schema,
        "advise": advise_schema,
        "gate": gate_schema,
        "run": run_schema,
        "check": check_schema,
    }
    if name not in schemas:
        raise NotFoundError("schema", name, schemas)
    # A schema is JSON in every form.
    click.echo(json.dumps(schemas[name](), indent=2))
