"""What the numbers of a machine say of its pipes."""

from __future__ import annotations

import pytest

from kernelcast.ir import OpClass
from kernelcast.machines.classes import class_number, shares_fp64
from kernelcast.machines.loader import apply_overrides, load_machine


@pytest.mark.parametrize(
    ("gpu", "is_shared"),
    [
        ("gtx-1080", True),
        ("rtx-3080", True),
        ("rtx-4090", True),
        ("b300", True),
        ("p100-sxm2", False),
        ("v100-sxm2", False),
        ("h100-sxm", False),
    ],
)
def test_schedulers_share_double_precision_where_it_is_for_compatibility(
    gpu: str, is_shared: bool
) -> None:
    assert shares_fp64(load_machine(gpu)) is is_shared


def test_a_rate_of_conversions_of_their_own_does_not_move_them() -> None:
    slower = apply_overrides(load_machine("rtx-3080"), ["throughput.convert64=1.0"])
    assert shares_fp64(slower)


def test_kernels_reach_a_share_of_double_precision() -> None:
    chip = load_machine("rtx-3080")
    share = chip.number("throughput.fp64_share")
    assert 0.8 < share < 1
    faster = apply_overrides(chip, ["throughput.fp64=4"])
    assert class_number(chip, "throughput", OpClass.FP64) == 2 * share
    assert class_number(faster, "throughput", OpClass.FP64) == 4 * share
