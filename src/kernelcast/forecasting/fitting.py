"""Whether a launch fits a chip."""

from __future__ import annotations

from dataclasses import replace

from kernelcast.errors import LaunchError
from kernelcast.execution.symbols import unset_variables
from kernelcast.ir import Kernel, Launch
from kernelcast.machines.launch_limits import check_launch
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch


def fitted(kernel: Kernel, launch: Launch, chip: Machine) -> Kernel:
    """The kernel, with what to warn of when it is launched so on a chip.

    A launch that does not fit an SM is a LaunchError. One that the chip would refuse for the extent
    of its grid is predicted all the same, with a warning: old chips take only small grids.
    """
    occupancy_of_launch(chip, kernel.resources, launch)
    for name in unset_variables(kernel, launch):
        kernel = warned(
            kernel, f"{name} is read and holds zeros: give its value with --symbol '{name}=...'"
        )
    try:
        check_launch(chip, launch)
    except LaunchError as error:
        return warned(kernel, error.what)
    return kernel


def warned(kernel: Kernel, warning: str) -> Kernel:
    """The kernel with one more warning."""
    return replace(kernel, warnings=(*kernel.warnings, warning))
