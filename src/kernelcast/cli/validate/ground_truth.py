"""The kernels with known results: forecasts beside the times that were measured."""

from __future__ import annotations

import click

from kernelcast.cli.options import (
    GpuFlags,
    ModelFlags,
    Output,
    gpu_options,
    model_options,
    output_options,
)


@click.command("ground-truth")
@click.argument("file", metavar="RAW.json", type=click.Path())
@gpu_options(required=True, one=True)
@model_options()
@click.option("--only", metavar="KERNEL", multiple=True, help="Predict this kernel. Repeatable.")
@click.option(
    "--l2",
    type=click.Choice(["cold", "warm"]),
    default="cold",
    show_default=True,
    help="What the L2 cache held when the launch was timed: nothing of it, or its arrays.",
)
@output_options
def command(
    file: str, gpus: GpuFlags, models: ModelFlags, only: tuple[str, ...], l2: str, output: Output
) -> None:
    """Predicted beside measured times of the kernels with known results.

    RAW.json is what `kernelcast measure --ground-truth` wrote, on the GPU called NAME.
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.measuring.ground_truth_raw import read_ground_truth
    from kernelcast.reporting.documents.ground_truth import ground_truth_document
    from kernelcast.validation.accuracy import require_scipy
    from kernelcast.validation.ground_truth import kernel_scores, timed_launch
    from kernelcast.validation.judging import judge, nothing_compared, of_kernels

    require_scipy()
    found = read_ground_truth(file)
    chosen = of_kernels(found.measured, only, file)
    chip = gpus.machine()
    with progress_bar("predicting", output.quiet) as progress:
        judged = judge(
            [timed_launch(one, chip, is_warm=l2 == "warm") for one in chosen],
            chip,
            models.models(),
            skips_models=models.is_all,
            progress=progress,
        )
    scores = {model: kernel_scores(own) for model, own in judged.compared.items() if own}
    missing = judged.missing
    if not scores:
        raise nothing_compared(file, missing)
    if not only:
        missing = (*found.missing, *missing)
    output.show(ground_truth_document(scores, found.device, chip.name, chip.title, l2, missing))
