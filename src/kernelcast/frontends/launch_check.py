"""Whether a launch fits its kernel, and its arguments in the kernel's order."""

from __future__ import annotations

from dataclasses import replace

from kernelcast.errors import LaunchError
from kernelcast.ir import Kernel, Launch


def check_launch(kernel: Kernel, launch: Launch) -> Launch:
    """The launch with its arguments in the order of the kernel's parameters.

    Arguments that bear exactly the parameters' names may come in any order; else they are taken
    as they stand. Whether each fits its parameter is checked when the memory is laid out. Raises
    LaunchError.
    """
    most = kernel.resources.max_threads_per_block
    if most is not None and launch.threads_per_block > most:
        raise LaunchError(
            f"{launch.threads_per_block} threads per block, but the kernel was compiled for "
            f"at most {most}",
            where=kernel.shown,
            hint="make the block smaller or change __launch_bounds__",
        )
    labels = [parameter.shown for parameter in kernel.parameters]
    if set(labels) != set(launch.args):
        return launch
    return replace(launch, args={label: launch.args[label] for label in labels})
