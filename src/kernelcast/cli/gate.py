"""Bounds on forecasts for CI: exit status 1 where one is broken."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    caches_option,
    gathered,
    gpu_options,
    launch_options,
    model_options,
    output_options,
    sampling_options,
    source_options,
)
from kernelcast.files import input_file

if TYPE_CHECKING:
    from kernelcast.gating.gate import Bounds
    from kernelcast.reporting.documents.gate import GateDocument

_EXIT = {"holds": 0, "broken": 1, "cannot tell": 3}
_SYSTEMS = ("auto", "github", "azure", "teamcity", "none")


@dataclass(frozen=True, slots=True)
class Reports:
    """Forms of the answer for CI systems."""

    junit: str | None
    sarif: str | None
    code_quality: str | None
    annotations: str

    def write(self, document: GateDocument) -> None:
        """The files asked for, and on standard error the lines that a CI system looks for."""
        from kernelcast.files import write_whole
        from kernelcast.reporting.ci.annotations import BY_ENVIRONMENT, annotation_lines
        from kernelcast.reporting.ci.code_quality import code_quality
        from kernelcast.reporting.ci.junit import junit
        from kernelcast.reporting.ci.sarif import sarif

        if self.junit is not None:
            write_whole(Path(self.junit), junit(document))
        if self.sarif is not None:
            write_whole(Path(self.sarif), sarif(document))
        if self.code_quality is not None:
            write_whole(Path(self.code_quality), code_quality(document))
        found = [name for variable, name in BY_ENVIRONMENT.items() if os.environ.get(variable)]
        systems = found if self.annotations == "auto" else [self.annotations]
        for system in systems:
            if system != "none":
                sys.stderr.writelines(f"{line}\n" for line in annotation_lines(document, system))


def _complete(_ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Shell completion of the last word of a condition, and of files."""
    from kernelcast.gating.quantities import QUANTITIES

    written, _, last = typed.rpartition(" ")
    head = f"{written} " if written else ""
    names = [CompletionItem(head + q.name) for q in QUANTITIES if q.name.startswith(last)]
    return names or [CompletionItem(typed, type="file")]


@click.command("gate")
@click.argument("arguments", metavar="[CONDITION] FILE...", nargs=-1, shell_complete=_complete)
@click.option("--names", "wants_names", is_flag=True, help="What a condition may name.")
@click.option(
    "--baseline",
    metavar="FORECAST",
    type=click.Path(),
    help="No launch may be slower than in FORECAST, which predict --json wrote.",
)
@click.option(
    "--tolerance",
    metavar="SHARE",
    default="0%",
    show_default=True,
    help="With --baseline: how much slower a launch may be.",
)
@gathered(
    "reports",
    Reports,
    click.option("--junit", metavar="FILE", type=click.Path(), help="Write JUnit XML, too."),
    click.option("--sarif", metavar="FILE", type=click.Path(), help="Write SARIF, too."),
    click.option(
        "--code-quality",
        metavar="FILE",
        type=click.Path(),
        help="Write a Code Quality report of GitLab, too.",
    ),
    click.option(
        "--annotations",
        type=click.Choice(_SYSTEMS),
        default="auto",
        show_default=True,
        help="Print remarks for a CI system; auto finds out which one runs this.",
    ),
)
@gpu_options()
@model_options()
@launch_options
@source_options
@sampling_options
@caches_option
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    arguments: tuple[str, ...],
    wants_names: bool,
    baseline: str | None,
    tolerance: str,
    reports: Reports,
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    caches: str | None,
    output: Output,
) -> None:
    """Guard kernels: exit 1 where a forecast breaks a bound, 3 where that cannot be told.

    \b
    kernelcast gate 'time < 2 ms and bank_conflicts == 0' FILE...
    kernelcast gate FILE... --baseline forecast.json --tolerance 5%
    kernelcast gate --names

    The first argument is the condition unless a file of that name exists. A bound that lies between
    the least and the greatest value of what it is about cannot be told.
    """
    from kernelcast.cli.many_files import FilesAsked, explained_files
    from kernelcast.gating.gate import gate_document, names_document

    if wants_names:
        output.show(names_document())
        return
    bounds, files = _asked(arguments, baseline, tolerance)
    asked = FilesAsked(gpus, models, source, launch, sampling, caches, output)
    explained = explained_files([input_file(file) for file in files], asked)
    document = gate_document(dict(zip(files, explained, strict=True)), bounds)
    reports.write(document)
    output.show(document)
    ctx.exit(_EXIT[document.status])


def _asked(
    arguments: tuple[str, ...], baseline: str | None, tolerance: str
) -> tuple[Bounds, tuple[str, ...]]:
    """The bounds and the files; what is wrong with the bounds is said before anything is run."""
    from kernelcast.gating.baseline import read_baseline
    from kernelcast.gating.gate import Bounds, check_condition, read_tolerance

    first, *rest = arguments or ("",)
    is_file = first == "-" or Path(first).exists()
    condition = None if is_file and first else first or None
    files = tuple(arguments if condition is None else rest)
    if condition is None and baseline is None:
        raise click.UsageError("a condition or --baseline expected")
    if not files:
        raise click.UsageError(f"{condition!r} is no file, so it is the condition: FILE expected")
    if condition is not None:
        check_condition(condition)
    kept = None if baseline is None else read_baseline(Path(baseline))
    return Bounds(condition, kept, baseline or "", read_tolerance(tolerance), Path.cwd()), files
