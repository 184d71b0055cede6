"""Whether a launch fits a chip."""

from __future__ import annotations

from dataclasses import replace

from kernelcast.errors import LaunchError
from kernelcast.execution.symbols import unset_variables
from kernelcast.ir import Kernel, Launch, arrays_in
from kernelcast.machines.launch_limits import check_launch
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch


def fitted(kernel: Kernel, launch: Launch, chip: Machine, *, was_traced: bool = False) -> Kernel:
    """The kernel, with what to warn of when it is launched so on a chip.

    Where it `was_traced` before, its variables had the values that counted. A launch that does not
    fit an SM is a LaunchError. One that the chip would refuse for the extent of its grid is
    predicted all the same, with a warning: old chips take only small grids.
    """
    if launch.cluster not in (None, kernel.cluster):
        raise LaunchError(
            "the launch asks for clusters",
            where=f"kernel {kernel.shown}",
            hint="declare them at the kernel: __cluster_dims__",
        )
    occupancy_of_launch(chip, kernel.resources, launch)
    if warning := _over_capacity(launch, chip):
        kernel = warned(kernel, warning)
    for name in () if was_traced else unset_variables(kernel, launch):
        kernel = warned(
            kernel, f"{name} is read and holds zeros: give its value with --symbol '{name}=...'"
        )
    try:
        check_launch(chip, launch)
    except LaunchError as error:
        return warned(kernel, error.what)
    return kernel


def _over_capacity(launch: Launch, chip: Machine) -> str:
    """What to say where a launch's arrays need more memory than the chip has; empty where not."""
    capacity = chip.get("dram.size")
    given = {**launch.args, **launch.symbols}
    arrays = {n: a for label, value in given.items() for n, a in arrays_in(label, value)}
    needed = sum(array.size_bytes for array in arrays.values())
    if capacity is None or needed <= capacity:
        return ""
    return (
        f"the arrays of the launch take {needed / 1e9:.3g} GB, more than the "
        f"{capacity / 1e9:.3g} GB of {chip.name}"
    )


def warned(kernel: Kernel, warning: str) -> Kernel:
    """The kernel with one more warning."""
    return replace(kernel, warnings=(*kernel.warnings, warning))
