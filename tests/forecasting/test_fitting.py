"""How a kernel fits a launch and a chip."""

from __future__ import annotations

import pytest

from kernelcast.errors import LaunchError
from kernelcast.forecasting.fitting import fitted
from kernelcast.ir import Kernel, Launch
from kernelcast.machines.loader import load_machine


def test_clusters_are_the_kernels_own() -> None:
    chip, kernel = (
        load_machine("h100-sxm"),
        Kernel("k", "sass", "sm_90", (), (), (), cluster=(2, 1, 1)),
    )
    with pytest.raises(LaunchError, match="kernel k: the launch asks for clusters; declare them"):
        fitted(kernel, Launch(4, 32, cluster=4), chip)
