"""From the options of a command to cases and forecasts; commands share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
)
from kernelcast.errors import MissingNumberError

if TYPE_CHECKING:
    from kernelcast.api import Case, Forecast


def study(
    file: str,
    gpus: GpuFlags,
    source: SourceFlags,
    launch: LaunchOptions,
    sampling: SamplingFlags,
    output: Output,
) -> tuple[Case, ...]:
    """Cases of all launches that the file or the flags ask for, on all GPUs asked for."""
    from kernelcast import api
    from kernelcast.cli.progress import progress_bar

    machines = gpus.machines()
    work = api.workload(file, launch.flags(source.kernel))
    with progress_bar("executing", output.quiet) as progress:
        return api.cases(
            work,
            machines,
            build=source.build(),
            sampling=sampling.sampling(),
            progress=progress,
        )


def forecasts(cases: Sequence[Case], models: ModelFlags, output: Output) -> list[Forecast]:
    """What the models say of the cases.

    Where all models are asked for, one that needs a number that a machine lacks is left out with a
    remark; else that is the error it is.
    """
    from kernelcast import api
    from kernelcast.models.terms.parameters import model_label

    chosen = models.models()
    found: list[Forecast] = []
    missing: MissingNumberError | None = None
    for case in cases:
        for model in chosen:
            try:
                found.append(api.predict(case, model))
            except MissingNumberError as error:
                if not models.is_all:
                    raise
                missing = error
                output.remark(f"{model_label(model)} left out: {error}")
    if missing and not found:
        raise missing
    return found
